//go:build system

package systemtest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// Replicas store vectors into those of their peers. The vectors have the bits of a run
// without replicas, whichever processes die, join or roll back.
func TestDirect(t *testing.T) {
	args := strings.Fields("-nx 24 -ny 24 -nz 16 -iters 30 -json")
	want := intrarun(t, "-n 2 -r 1", args...).sum(t)
	run := func(t *testing.T, flags string) jobtest.Report {
		r := intrarun(t, "-direct "+flags, args...)
		got := r.sum(t)
		require.Equal(t, want, got, flags)
		require.Equal(t, []int{0, 1}, r.report.Direct, flags)
		return r.report
	}
	t.Run("kinds", func(t *testing.T) {
		stored := int64(0)
		for _, flags := range []string{"-n 2", "-n 2 -threads 2", "-degrees 2,3", "-n 2 -link unix"} {
			for _, k := range run(t, flags).TaskTypes {
				stored += k.Stored
			}
		}
		require.Positive(t, stored)
	})
	t.Run("kills", func(t *testing.T) {
		rng := rand.New(rand.NewPCG(24, 2015))
		fired := 0
		for range jobtest.Count(3, 24) {
			point := []string{"section", "task", "update"}[rng.IntN(3)]
			kill := func(rank, replica int) string {
				return fmt.Sprintf(" -kill %d.%d@%s:%d", rank, replica, point, rng.IntN(map[string]int{"section": 140, "task": 500, "update": 300}[point]))
			}
			flags := "-n 2" + kill(0, rng.IntN(2)) + kill(1, rng.IntN(2))
			if rng.IntN(3) == 0 {
				flags = "-degrees 2,3" + kill(0, rng.IntN(2)) + kill(1, 0) + kill(1, 1+rng.IntN(2))
			}
			for _, k := range run(t, flags).Kills {
				if k.Fired {
					fired++
				}
			}
		}
		require.Positive(t, fired)
	})
	// A joiner, and a process that rolls back, begin with other arrays.
	t.Run("recovery", func(t *testing.T) {
		for flags, ranks := range map[string]string{
			"-n 2 -replace -kill 0.1@section:40 -kill 1.0@section:60":  "-n 2 -r 1",
			"-degrees 2,1 -replace -backup 5 -kill 1.0@section:200":    "-n 2 -r 1",
			"-degrees 3,1,2 -spares 2 -backup 5 -kill 1.0@section:200": "-n 3 -r 1",
		} {
			r, again := lasting(t, "-direct "+flags, "-json", func(r *jobtest.Report) bool {
				stored := int64(0)
				for _, k := range r.TaskTypes {
					stored += k.Stored
				}
				return stored > 0 && len(r.Replacements)+len(r.Rollbacks) > 0
			})
			got := r.sum(t)
			want := again(ranks).sum(t)
			require.Equal(t, want, got, flags)
		}
	})
}
