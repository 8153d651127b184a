package intra_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/internal/job"
	intraruntime "github.com/intrahpc/intra/runtime"
)

// BenchmarkShort is a section whose tasks do almost nothing, on one replica and on two that
// share nothing: the processor time of a replica.
func BenchmarkShort(b *testing.B) {
	for _, tasks := range []int{0, 2, 16} {
		for _, replicas := range []int{1, 2} {
			b.Run(fmt.Sprintf("%d/hand/r%d", tasks, replicas), func(b *testing.B) {
				short(b, tasks, replicas, func(p *intra.Process, a float64, x, y []float64, tasks int) error {
					s := p.Section()
					for lo, hi := range intra.Blocks(len(y), tasks) {
						x, y := x[lo:hi], y[lo:hi]
						s.Launch(taskAxpy, func() { axpy(a, x, y) }, intra.InVar("a", &a), intra.In("x", x), intra.InOut("y", y))
					}
					return s.End()
				})
			})
			b.Run(fmt.Sprintf("%d/generated/r%d", tasks, replicas), func(b *testing.B) {
				short(b, tasks, replicas, func(p *intra.Process, a float64, x, y []float64, tasks int) error {
					s := p.Section(intraruntime.At("bench.go:1"))
					for lo, hi := range intra.Blocks(len(y), tasks) {
						launchAxpy(s, a, x[lo:hi], y[lo:hi])
					}
					return s.End()
				})
			})
		}
	}
}

var taskAxpy = intra.Register("test.axpy")

func launchAxpy(s *intra.Section, a float64, x, y []float64) {
	s.Launch(taskAxpy, func() { axpy(a, x, y) },
		intra.InVar("a", &a),
		intra.In("x", x),
		intra.InOut("y", y),
	)
}

func axpy(a float64, x, y []float64) {
	for i := range y {
		y[i] += a * x[i]
	}
}

func short(b *testing.B, tasks, replicas int, section func(p *intra.Process, a float64, x, y []float64, tasks int) error) {
	ctx := job.WithLocal(b.Context(), &job.Local{Sched: "replicate"})
	b.ReportAllocs()
	before := processorTime(b)
	err := intra.Run(ctx, intra.Spec{Replicas: replicas}, func(p *intra.Process) error {
		x, y := make([]float64, 4*tasks), make([]float64, 4*tasks)
		for range b.N {
			if err := section(p, 1e-9, x, y, max(tasks, 1)); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(b, err)
	b.ReportMetric(float64(processorTime(b)-before)/float64(replicas*b.N), "cpu-ns/replica")
}
