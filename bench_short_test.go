package intra_test

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/internal/job"
	intraruntime "github.com/intrahpc/intra/runtime"
)

// BenchmarkShort measures the processor time of a replica for a section whose tasks do almost
// nothing. It runs on one replica, on two with -sched replicate, and on two that decide by
// themselves not to share the tasks.
func BenchmarkShort(b *testing.B) {
	for _, tasks := range []int{0, 2, 16} {
		for _, w := range []way{{"r1", 1, ""}, {"r2", 2, "replicate"}, {"default", 2, ""}} {
			b.Run(fmt.Sprintf("%d/hand/%s", tasks, w.name), func(b *testing.B) {
				short(b, tasks, w, func(p *intra.Process, a float64, x, y []float64, tasks int) error {
					s := p.Section()
					for lo, hi := range intra.Blocks(len(y), tasks) {
						x, y := x[lo:hi], y[lo:hi]
						s.Launch(taskAxpy, func() { axpy(a, x, y) }, intra.InVar("a", &a), intra.In("x", x), intra.InOut("y", y))
					}
					return s.End()
				})
			})
			b.Run(fmt.Sprintf("%d/generated/%s", tasks, w.name), func(b *testing.B) {
				short(b, tasks, w, func(p *intra.Process, a float64, x, y []float64, tasks int) error {
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

// way is how the replicas of a rank run short sections.
type way struct {
	name     string
	replicas int
	sched    string
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
		slot.Regions = []intra.Region{
			intra.InVar("a", &args.a),
			intra.In("x", x),
			intra.InOut("y", y),
		}
		slot.Body = func() { axpy(args.a, args.x, args.y) }
	}
	args.a, args.x, args.y = a, x, y
	intraruntime.Set(&slot.Regions[1], x)
	intraruntime.Set(&slot.Regions[2], y)
	s.LaunchKept(taskAxpy, slot.Body, slot.Regions)
}

// TestShortSectionsAllocateNothing: launchers, regions and partial results reuse the memory
// of earlier sections. Only the start and the timers of the process allocate and, with the
// default schedule, the trials of sharing. So the least of several measurements counts. The
// comparison of replicas is off, because the memory that it allocates depends on the time.
func TestShortSectionsAllocateNothing(t *testing.T) {
	for _, tt := range []way{{"alone", 1, ""}, {"replicate", 2, "replicate"}, {"by default", 2, ""}} {
		t.Run(tt.name, func(t *testing.T) {
			ctx := job.WithLocal(t.Context(), &job.Local{Sched: tt.sched, Diverge: job.DivergeOff})
			var began sync.WaitGroup
			began.Add(tt.replicas)
			const sections = 500
			least := uint64(math.MaxUint64)
			err := intra.Run(ctx, intra.Spec{Replicas: tt.replicas}, func(p *intra.Process) error {
				x, y := make([]float64, 64), make([]float64, 64)
				run := func() error {
					for range sections {
						s := p.Section(intraruntime.At("short.go:1"))
						for k := range 16 {
							launchAxpy(s, 0.5, x[4*k:4*k+4], y[4*k:4*k+4])
						}
						if err := s.End(); err != nil {
							return err
						}
					}
					return nil
				}
				if err := run(); err != nil {
					return err
				}
				began.Done()
				began.Wait()
				for range 5 {
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					if err := run(); err != nil {
						return err
					}
					if runtime.ReadMemStats(&after); p.Replica() == 0 {
						least = min(least, after.Mallocs-before.Mallocs)
					}
				}
				return nil
			})
			require.NoError(t, err)
			require.Less(t, least, uint64(3*sections/4)) // pools forget under the race detector
		})
	}
}

func axpy(a float64, x, y []float64) {
	for i := range y {
		y[i] += a * x[i]
	}
}

func short(b *testing.B, tasks int, w way, section func(p *intra.Process, a float64, x, y []float64, tasks int) error) {
	ctx := job.WithLocal(b.Context(), &job.Local{Sched: w.sched})
	b.ReportAllocs()
	before := processorTime(b)
	err := intra.Run(ctx, intra.Spec{Replicas: w.replicas}, func(p *intra.Process) error {
		x, y := make([]float64, 4*tasks), make([]float64, 4*tasks)
		for range b.N {
			if err := section(p, 1e-9, x, y, max(tasks, 1)); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(b, err)
	b.ReportMetric(float64(processorTime(b)-before)/float64(w.replicas*b.N), "cpu-ns/replica")
}
