package file_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/file"
)

// BenchmarkWriteAtAll writes 256 MB from two ranks, beside two goroutines that write the
// same bytes to one os.File each, without fsync in both cases.
func BenchmarkWriteAtAll(b *testing.B) {
	const part = 128 << 20
	data := make([]byte, part)
	for i := range data {
		data[i] = byte(i)
	}
	b.Run("os.File", func(b *testing.B) {
		name := filepath.Join(b.TempDir(), "plain")
		b.SetBytes(2 * part)
		for b.Loop() {
			require.NoError(b, os.WriteFile(name, nil, 0o666))
			var ranks sync.WaitGroup
			for r := range 2 {
				ranks.Go(func() {
					f, err := os.OpenFile(name, os.O_WRONLY, 0)
					if err == nil {
						_, err = f.WriteAt(data, int64(r*part))
						_ = f.Close() // every byte was written
					}
					if err != nil {
						b.Error(err)
					}
				})
			}
			ranks.Wait()
		}
	})
	for _, replicas := range []int{1, 2} {
		b.Run(fmt.Sprint("replicas=", replicas), func(b *testing.B) {
			dir, n, total := b.TempDir(), b.N, time.Duration(0)
			b.ResetTimer()
			require.NoError(b, intra.Run(b.Context(), intra.Spec{Ranks: 2, Replicas: replicas}, func(p *intra.Process) error {
				for range n {
					f, err := file.Create(p, p.World(), filepath.Join(dir, "field"))
					if err != nil {
						return err
					}
					from := time.Now()
					if err := f.WriteAtAll(data, int64(p.Rank()*part)); err != nil {
						return err
					}
					if p.Rank() == 0 && p.Replica() == 0 {
						total += time.Since(from)
					}
					if err := f.Close(); err != nil {
						return err
					}
				}
				return nil
			}))
			b.ReportMetric(2*part*float64(n)/1e6/total.Seconds(), "MB/s-write")
		})
	}
}
