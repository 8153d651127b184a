package kernels_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/kernels"
	"github.com/intrahpc/intra/kernels/internal/simd"
)

func normal(n int, seed uint64) []float64 {
	r := rand.New(rand.NewPCG(seed, 9))
	s := make([]float64, n)
	for i := range s {
		s[i] = r.NormFloat64()
	}
	return s
}

// TestWaxpbyCases: the special cases for factors of 1 have the same bits.
func TestWaxpbyCases(t *testing.T) {
	x, y := normal(301, 1), normal(301, 2)
	x[7], y[9], x[11], y[11] = math.Inf(1), math.Inf(-1), math.NaN(), math.Copysign(0, -1)
	for _, f := range [][2]float64{{1, 1}, {1, -0.3}, {0.7, 1}, {0.7, -0.3}, {0, 0}, {math.Inf(1), 1}} {
		alpha, beta := f[0], f[1]
		want := make([]float64, len(x))
		for i := range want {
			want[i] = float64(alpha*x[i]) + float64(beta*y[i])
			if want[i] != want[i] {
				want[i] = canonicalNaN[float64]()
			}
		}
		w := make([]float64, len(x))
		check := func(name string, got []float64) {
			require.Equal(t, bits(want), bits(got), "%s %v %v", name, alpha, beta)
			clear(got)
		}
		kernels.Waxpby(alpha, x, beta, y, w)
		check("Waxpby", w)
		d := kernels.WaxpbyDot(alpha, x, beta, y, w)
		require.Equal(t, bits([]float64{kernels.Dot(want, want)}), bits([]float64{d}))
		check("WaxpbyDot", w)
		if alpha == 1 {
			copy(w, x)
			kernels.Axpy(beta, y, w)
			check("Axpy", w)
		}
	}
}

// TestWaxpbyLong tests lengths on both sides of the change to non-temporal stores.
func TestWaxpbyLong(t *testing.T) {
	n := int(simd.StreamBytes/4) + 3
	x, y := make([]float32, n), make([]float32, n)
	for i := range x {
		x[i], y[i] = float32(i%1000), float32(i%77)
	}
	w, short := make([]float32, n), make([]float32, n)
	kernels.Waxpby(3, x, 0.1, y, w)
	for lo, hi := range kernels.BlocksAligned(n, 5) {
		kernels.Waxpby(3, x[lo:hi], 0.1, y[lo:hi], short[lo:hi])
	}
	require.True(t, slices.Equal(w, short))
	kernels.Waxpby(3, x, 0.1, y, x)
	require.True(t, slices.Equal(w, x))
}

func TestSmallResults(t *testing.T) {
	require.Equal(t, 5.0, kernels.Norm2([]float64{3, -4}))
	require.Equal(t, float32(5), kernels.Norm2([]float32{3, -4}))
	require.Equal(t, 6.0, kernels.Sum([]float64{1, 2, 3}))
	require.Equal(t, 0.0, kernels.Dot[float64](nil, nil))
	w := make([]float64, 2)
	kernels.Scale(3, []float64{1, 2}, w)
	require.Equal(t, []float64{3, 6}, w)
	kernels.CopyNT([]float64{8, 9}, w)
	require.Equal(t, []float64{8, 9}, w)
	kernels.CopyNTPart([]float64{6, 7}, w)
	require.Equal(t, []float64{6, 7}, w)
	require.PanicsWithValue(t, "kernels: slices of 1 and 2 elements", func() { kernels.Dot(w, w[:1]) })
	require.Len(t, kernels.Alloc[float64](1<<20+5), 1<<20+5)
	require.Empty(t, kernels.Alloc[int32](0))
}

func TestNoAllocation(t *testing.T) {
	x, y, w, partial := normal(9000, 1), normal(9000, 2), normal(9000, 3), make([]float64, 3)
	require.Zero(t, testing.AllocsPerRun(10, func() {
		kernels.Waxpby(2, x, 3, y, w)
		kernels.DotBlocks(x, y, partial)
		partial[0] = kernels.Dot(x, y) + kernels.SumTree(partial)
	}))
}

// TestBlocksOverTasks: the blocked sum does not depend on the number of tasks.
func TestBlocksOverTasks(t *testing.T) {
	for _, n := range []int{0, 1, 4095, 4096, 4097, 100_000, 64 * 4096, 300_001} {
		x, y := normal(n, 4), normal(n, 5)
		var want []uint64
		for _, tasks := range []int{1, 2, 3, 8, 13, 64} {
			dots := make([]float64, kernels.NumBlocks(n))
			for lo, hi := range kernels.BlocksAligned(n, tasks) {
				kernels.DotBlocks(x[lo:hi], y[lo:hi], dots[lo/kernels.BlockLen:lo/kernels.BlockLen+kernels.NumBlocks(hi-lo)])
			}
			got := bits([]float64{kernels.SumTree(dots)})
			if want == nil {
				want = got
			}
			require.Equal(t, want, got, "n=%d tasks=%d", n, tasks)
			require.Equal(t, bits(oracleTree(x, y)), got)
		}
	}
}

// oracleTree computes the blocked dot product in another way: it pads the partial results
// to a power of two and adds pairs of neighbours.
func oracleTree(x, y []float64) []float64 {
	var level []float64
	for xb := range slices.Chunk(x, 4096) {
		level = append(level, kernels.Dot(xb, y[:len(xb)]))
		y = y[len(xb):]
	}
	if len(level) == 0 {
		return []float64{0}
	}
	for len(level) > 1 {
		var next []float64
		for pair := range slices.Chunk(level, 2) {
			if len(pair) == 2 {
				next = append(next, pair[0]+pair[1])
			} else {
				next = append(next, pair[0])
			}
		}
		level = next
	}
	return level
}

func TestBlocksAligned(t *testing.T) {
	for _, c := range []struct {
		n, parts int
		want     [][2]int
	}{
		{0, 3, nil},
		{1, 3, [][2]int{{0, 1}}},
		{4097, 1, [][2]int{{0, 4097}}},
		{4097, 5, [][2]int{{0, 4096}, {4096, 4097}}},
		{5 * 4096, 2, [][2]int{{0, 3 * 4096}, {3 * 4096, 5 * 4096}}},
		{5*4096 - 7, 3, [][2]int{{0, 2 * 4096}, {2 * 4096, 4 * 4096}, {4 * 4096, 5*4096 - 7}}},
	} {
		var got [][2]int
		for lo, hi := range kernels.BlocksAligned(c.n, c.parts) {
			got = append(got, [2]int{lo, hi})
		}
		require.Equal(t, c.want, got, "%d in %d", c.n, c.parts)
	}
	require.PanicsWithValue(t, "kernels: BlocksAligned into 0 parts", func() { kernels.BlocksAligned(1, 0) })
}
