package checked_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/internal/job"
)

var counted = intra.Register("counted")

// Each replica runs each task once, and one of the live replicas runs it twice more. The
// first replica runs the first task once more still.
func TestRunsAreSplit(t *testing.T) {
	const tasks = 6
	for _, tt := range []struct {
		name     string
		replicas int
		kills    []string
		runs     int64 // number of bodies run in the last section, on all replicas
	}{
		{"one replica", 1, nil, 3*tasks + 1},
		{"two replicas", 2, nil, (2+2)*tasks + 1},
		{"three replicas", 3, nil, (3+2)*tasks + 1},
		{"two of three", 3, []string{"0.0@section:0"}, (2+2)*tasks + 1},
		{"one of three", 3, []string{"0.0@section:0", "0.1@section:1"}, 3*tasks + 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			local := new(job.Local)
			for _, s := range tt.kills {
				k, err := job.ParseKill(s)
				require.NoError(t, err)
				local.Kills = append(local.Kills, k)
			}
			var runs atomic.Int64
			require.NoError(t, intra.Run(job.WithLocal(t.Context(), local), intra.Spec{Replicas: tt.replicas, Check: true}, func(p *intra.Process) error {
				x := make([]float64, tasks)
				for section := range 5 {
					s := p.Section()
					for i := range x {
						s.Launch(counted, func() {
							if section == 4 {
								runs.Add(1)
							}
							x[i] = float64(i)
						}, intra.Out("x", x[i:i+1]))
					}
					if err := s.End(); err != nil {
						return err
					}
				}
				return nil
			}))
			require.Equal(t, tt.runs, runs.Load())
		})
	}
}
