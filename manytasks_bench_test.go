package intra_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/internal/job"
	intraruntime "github.com/intrahpc/intra/runtime"
)

// BenchmarkManyTasks measures a section of many tasks of about 1 µs on two replicas,
// relative to a rank without replicas. The result is the median over pairs of sections that
// run one after the other.
func BenchmarkManyTasks(b *testing.B) {
	for _, tasks := range []int{1000, 10_000, 100_000} {
		for _, link := range []string{"shm", "unix", "tcp"} {
			for _, policy := range []string{"static", "adaptive", "replicate"} {
				b.Run(fmt.Sprintf("%d/%s/%s", tasks, link, policy), func(b *testing.B) {
					var ratios, processor []float64
					for range b.N {
						alone, aloneUsed := manyTasks(b, tasks, intra.Spec{Replicas: 1}, "")
						shared, sharedUsed := manyTasks(b, tasks, intra.Spec{Replicas: 2, Link: link}, policy)
						ratios = append(ratios, float64(shared)/float64(alone))
						processor = append(processor, float64(sharedUsed)/2/float64(aloneUsed))
					}
					slices.Sort(ratios)
					slices.Sort(processor)
					b.ReportMetric(ratios[len(ratios)/2], "of-alone")
					b.ReportMetric(processor[len(processor)/2], "cpu/replica-of-alone")
				})
			}
		}
	}
}

// manyTasks returns the time of a section on the slower replica, and the processor time of
// all replicas. Before that it runs another section, which allocates the memory of the tasks.
func manyTasks(b *testing.B, tasks int, spec intra.Spec, policy string) (took, used time.Duration) {
	const sections = 4
	times := make([]time.Duration, spec.Replicas)
	ctx := job.WithLocal(b.Context(), &job.Local{Sched: policy, Share: true})
	var before time.Duration
	err := intra.Run(ctx, spec, func(p *intra.Process) error {
		w, x := make([]float64, tasks), make([]float64, tasks)
		var from time.Time
		for n := range sections {
			if n == 1 {
				if from = time.Now(); p.Replica() == 0 {
					before = processorTime(b)
				}
			}
			s := p.Section(intraruntime.At("bench.go:1"))
			for i := range w {
				w, x := w[i:i+1], x[i:i+1]
				s.Launch(taskBusy, func() { busy(x, w) }, intra.In("x", x), intra.Out("w", w))
			}
			if err := s.End(); err != nil {
				return err
			}
		}
		times[p.Replica()] = time.Since(from)
		return nil
	})
	require.NoError(b, err)
	return slices.Max(times), processorTime(b) - before
}

var taskBusy = intra.Register("test.busy")

// busy runs for about 1 µs.
func busy(x, w []float64) {
	s := x[0]
	for i := range 350 {
		s = s*0.999 + float64(i)
	}
	w[0] = s
}
