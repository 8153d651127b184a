package checkpoint_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/checkpoint"
)

// BenchmarkState measures the delay of the program at a safe point: the time to read the
// state and find its changes, and to copy all of it. It also measures work that runs in
// parallel to the program: writing a file to disk.
func BenchmarkState(b *testing.B) {
	x := make([]float64, 64<<20/8)
	for i := range x {
		x[i] = float64(i)
	}
	var s checkpoint.State
	require.NoError(b, s.Add("x", &x))
	im, err := s.Image()
	require.NoError(b, err)
	run := func(name string, f func(i int)) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(im.Bytes()))
			for i := range b.N {
				f(i)
			}
		})
	}
	var sent checkpoint.Sent
	for range sent.Changed(im) {
	}
	run("changed", func(int) {
		for k := range sent.Changed(im) {
			b.Fatal("a chunk has changed", k)
		}
	})
	copied := im.Clone(nil)
	run("copy", func(int) { copied = im.Clone(copied) })
	job := checkpoint.Job{Ranks: 1}
	dir := filepath.Join(b.TempDir(), "job")
	number := uint64(0)
	run("write", func(int) {
		number++
		f, err := checkpoint.Write(b.Context(), dir, checkpoint.Header{Job: job, Set: number}, nil, copied)
		require.NoError(b, err)
		require.NoError(b, (&checkpoint.Set{Job: job, Number: number, Files: []checkpoint.File{f}}).Complete(dir))
	})
	run("read", func(int) {
		set, _, err := checkpoint.Latest(dir, job)
		require.NoError(b, err)
		_, _, err = checkpoint.Read(dir, set, 0)
		require.NoError(b, err)
	})
}
