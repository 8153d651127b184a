package intra_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	intra "github.com/intrahpc/intra/runtime"
)

// BenchmarkSection is a whole section of 16 tasks on two replicas in this
// process, shared and, as its rival, replicated; the tasks write as many bytes
// as the name says.
func BenchmarkSection(b *testing.B) {
	for _, bytes := range []int{128, 64 << 10, 4 << 20} {
		for _, link := range []string{"shm", "unix"} {
			for _, policy := range []string{"static", "adaptive", "replicate"} {
				b.Run(fmt.Sprintf("%dB/%s/%s", bytes, link, policy), func(b *testing.B) {
					b.SetBytes(int64(bytes))
					b.ReportAllocs()
					ctx := job.WithLocal(b.Context(), &job.Local{Sched: policy, Share: true})
					err := intra.Run(ctx, intra.Spec{Replicas: 2, Link: link}, func(p *intra.Process) error {
						w, x := make([]float64, bytes/8), make([]float64, bytes/8)
						for range b.N {
							s := p.Section(intra.At("bench.go:1"))
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
				})
			}
		}
	}
}
