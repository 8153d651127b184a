package intra_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/internal/job"
	intraruntime "github.com/intrahpc/intra/runtime"
)

// BenchmarkShort measures the processor time of a replica for a section whose tasks do
// almost nothing. It runs on one replica, and on two that do not share the tasks.
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

// launchAxpy is like a launcher that intragen writes.
func launchAxpy(s *intra.Section, a float64, x, y []float64) {
	type arguments struct {
		a float64
		x []float64
		y []float64
	}
	slot := intraruntime.Slot[arguments](s, taskAxpy)
	args := &slot.Arguments
	if slot.Body == nil {
		slot.Body = func() { axpy(args.a, args.x, args.y) }
	}
	*args = arguments{a, x, y}
	s.Launch(taskAxpy, slot.Body,
		intra.InVar("a", &args.a),
		intra.In("x", x),
		intra.InOut("y", y),
	)
}

// TestShortSectionsAllocateNothing: launchers, regions and partial results reuse the memory
// of earlier sections. Only the start and the timers of the process allocate. The
// comparison of replicas is off, because the memory that it allocates depends on the time.
func TestShortSectionsAllocateNothing(t *testing.T) {
	for replicas := 1; replicas <= 2; replicas++ {
		t.Run(fmt.Sprint(replicas), func(t *testing.T) {
			ctx := job.WithLocal(t.Context(), &job.Local{Sched: "replicate", Diverge: job.DivergeOff})
			var began sync.WaitGroup
			began.Add(replicas)
			var before, after runtime.MemStats
			const sections = 10_000
			err := intra.Run(ctx, intra.Spec{Replicas: replicas}, func(p *intra.Process) error {
				x, y := make([]float64, 64), make([]float64, 64)
				section := func() error {
					s := p.Section(intraruntime.At("short.go:1"))
					for k := range 16 {
						launchAxpy(s, 0.5, x[4*k:4*k+4], y[4*k:4*k+4])
					}
					return s.End()
				}
				for range 100 {
					if err := section(); err != nil {
						return err
					}
				}
				began.Done()
				began.Wait()
				if p.Replica() == 0 {
					runtime.ReadMemStats(&before)
				}
				for range sections {
					if err := section(); err != nil {
						return err
					}
				}
				if p.Replica() == 0 {
					runtime.ReadMemStats(&after)
				}
				return nil
			})
			require.NoError(t, err)
			require.Less(t, after.Mallocs-before.Mallocs, uint64(sections/20))
		})
	}
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
