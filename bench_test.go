package intra_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/kernels"
	intraruntime "github.com/intrahpc/intra/runtime"
)

// BenchmarkSection measures a whole section of 16 tasks on two replicas in this
// process: shared and, for comparison, replicated. The names of its cases give the
// bytes that the tasks write.
func BenchmarkSection(b *testing.B) {
	for _, bytes := range []int{128, 64 << 10, 4 << 20} {
		for _, link := range []string{"shm", "unix"} {
			for _, policy := range []string{"static", "adaptive", "replicate"} {
				b.Run(fmt.Sprintf("%dB/%s/%s", bytes, link, policy), func(b *testing.B) {
					b.SetBytes(int64(bytes))
					b.ReportAllocs()
					ctx := job.WithLocal(b.Context(), &job.Local{Sched: policy, Share: true})
					before := processorTime(b)
					err := intra.Run(ctx, intra.Spec{Replicas: 2, Link: link}, func(p *intra.Process) error {
						w, x := make([]float64, bytes/8), make([]float64, bytes/8)
						for range b.N {
							s := p.Section(intraruntime.At("bench.go:1"))
							for lo, hi := range intra.Blocks(len(w), p.Tasks()) {
								w, x := w[lo:hi], x[lo:hi]
								s.Launch(taskWaxpby, func() { waxpby(2, x, 3, x, w) }, intra.In("x", x), intra.Out("w", w))
							}
							if err := s.End(); err != nil {
								return err
							}
						}
						return nil
					})
					require.NoError(b, err)
					b.ReportMetric(float64(processorTime(b)-before)/float64(2*b.N), "cpu-ns/replica")
				})
			}
		}
	}
}

// processorTime returns the processor time of this process. Unlike the elapsed time, it
// hardly depends on the load of the machine.
func processorTime(b *testing.B) time.Duration {
	var u unix.Rusage
	require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkWaxpby measures a kernel whose updates are as long as its inputs: the worst
// case for sharing. Two replicas work on vectors that exceed every cache. The native
// run does half of the work, the share of each core without replication.
func BenchmarkWaxpby(b *testing.B) {
	const n, sets = 2 << 20, 4
	launch := map[string]func(s *intra.Section, x, y, w []float64){
		"shared": func(s *intra.Section, x, y, w []float64) {
			s.Launch(taskWaxpby, func() { kernels.Waxpby(2, x, 3, y, w) }, intra.In("x", x), intra.In("y", y), intra.Out("w", w))
		},
		"native": nil,
	}
	launch["replicated"] = launch["shared"]
	for _, ring := range []int{2 << 20, 4 << 20, 8 << 20} {
		for _, way := range []string{"native", "replicated", "shared"} {
			b.Run(fmt.Sprintf("ring=%dMiB/%s", ring>>20, way), func(b *testing.B) {
				local := &job.Local{Sched: "static", Share: true, Capacity: ring}
				if way == "replicated" {
					local.Sched = "replicate"
				}
				var ready sync.WaitGroup
				ready.Add(2)
				err := intra.Run(job.WithLocal(b.Context(), local), intra.Spec{Replicas: 2, Link: "shm"}, func(p *intra.Process) error {
					var v [sets][3][]float64
					for i := range v {
						for k := range v[i] {
							v[i][k] = kernels.Alloc[float64](n)
							for j := range v[i][k] {
								v[i][k][j] = float64(j + k)
							}
						}
					}
					ready.Done()
					ready.Wait()
					if p.Replica() == 0 {
						b.ResetTimer()
					}
					for k := range b.N {
						x, y, w := v[k%sets][0], v[k%sets][1], v[k%sets][2]
						if launch[way] == nil {
							for lo, hi := range intra.Blocks(n/2, p.Tasks()/2) {
								kernels.Waxpby(2, x[lo:hi], 3, y[lo:hi], w[lo:hi])
							}
							if err := p.World().Barrier(); err != nil {
								return err
							}
							continue
						}
						s := p.Section(intraruntime.At("bench.go:1"))
						for lo, hi := range intra.Blocks(n, p.Tasks()) {
							launch[way](s, x[lo:hi], y[lo:hi], w[lo:hi])
						}
						if err := s.End(); err != nil {
							return err
						}
					}
					return nil
				})
				require.NoError(b, err)
			})
		}
	}
}
