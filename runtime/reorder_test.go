package runtime_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/internal/replica/reduce"
	"github.com/intrahpc/intra/runtime"
)

// backwards returns the numbers below n in descending order.
func backwards(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = n - 1 - i
	}
	return all
}

// folded folds parts into v by Reduce, in the order of the parts and in the reverse order.
func folded[T any](v T, op func(a, b T) T, parts ...T) (inOrder, otherwise T) {
	run := func(fold func(*reduce.Results)) T {
		s, into := (*intra.Process)(nil).Section(), v
		for _, part := range parts {
			cell, _ := intra.Reduce(s, "v", &into, op)
			*cell = part
		}
		fold(s.Results().(*reduce.Results))
		return into
	}
	return run((*reduce.Results).Fold), run(func(r *reduce.Results) { r.FoldIn(backwards) })
}

// TestFoldOtherwise: only sums and products are folded in another order. The result of a
// function may depend on the order.
func TestFoldOtherwise(t *testing.T) {
	type length float64
	add := func(a, b float64) float64 { return a + b }
	a, b := folded(0, add, 1, 1e16, -1e16)
	require.Equal(t, []float64{0, 1}, []float64{a, b})
	a, b = folded(1, func(a, b float64) float64 { return a * b }, 1e-200, 1e-200, 1e200)
	require.Zero(t, a)
	require.InEpsilon(t, 1e-200, b, 1e-12)
	c, d := folded(0, func(a, b length) length { return a + b }, 1, 1e16, -1e16)
	require.Equal(t, []length{0, 1}, []length{c, d})
	e, f := folded(0, func(a, b float32) float32 { return a + b }, 1, 1e8, -1e8)
	require.Equal(t, []float32{0, 1}, []float32{e, f})
	g, h := folded(0, func(a, b complex128) complex128 { return a + b }, 1i, 1e16, 1e16i, -1e16, -1e16i)
	require.Equal(t, []complex128{0, 1i}, []complex128{g, h})

	for name, op := range map[string]func(a, b float64) float64{
		"the last":  func(_, b float64) float64 { return b },
		"a mixture": func(a, b float64) float64 { return 0.75*a + 0.25*b },
		"minus":     func(a, b float64) float64 { return a - b },
		"a mean":    func(a, b float64) float64 { return (a + b) / 2 },
	} {
		a, b := folded(5, op, 1, 2, 3, 4)
		require.Equal(t, a, b, name)
	}
	i, j := folded("", func(a, b string) string { return a + b }, "x", "y")
	require.Equal(t, i, j)
}

// TestFoldSlicesOtherwise: values that are folded into one variable keep their order
// relative to each other.
func TestFoldSlicesOtherwise(t *testing.T) {
	sums, counts, last := []float64{0, 0}, []int{0}, []float64{0}
	s := (*intra.Process)(nil).Section()
	for i, x := range []float64{1, 1e16, -1e16} {
		p, _ := runtime.ReduceSlice(s, "sums", sums, runtime.OpAdd[float64]())
		copy(p.Slice(), []float64{x, float64(i)})
		n, _ := runtime.ReduceSlice(s, "counts", counts, runtime.OpAdd[int]())
		n.Slice()[0] = i
		l, _ := runtime.ReduceSlice(s, "last", last, runtime.OpFunc(func(_, b float64) float64 { return b }))
		l.Slice()[0] = x
	}
	asked := 0
	s.Results().(*reduce.Results).FoldIn(func(n int) []int { asked++; return backwards(n) })
	require.Equal(t, []float64{1, 3}, sums)
	require.Equal(t, []int{3}, counts)
	require.Equal(t, []float64{-1e16}, last)
	require.Equal(t, 1, asked, "only sums that round")
}

// TestFoldMixtures: a variable that is both added to and multiplied keeps its order. A
// variable that is only added to, in several ways, does not.
func TestFoldMixtures(t *testing.T) {
	v := 1.0
	s := (*intra.Process)(nil).Section()
	into := func(x float64, op func(a, b float64) float64) {
		cell, _ := intra.Reduce(s, "v", &v, op)
		*cell = x
	}
	add := func(a, b float64) float64 { return a + b }
	p, _ := runtime.ReduceVar(s, "v", &v, runtime.OpMul[float64]())
	*p.Var() = 3
	into(5, add)
	s.Results().(*reduce.Results).FoldIn(backwards)
	require.Equal(t, 8.0, v)

	s, v = (*intra.Process)(nil).Section(), 0
	into(1, add)
	p, _ = runtime.ReduceVar(s, "v", &v, runtime.OpAdd[float64]())
	*p.Var() = 1e16
	into(-1e16, add)
	s.Results().(*reduce.Results).FoldIn(backwards)
	require.Equal(t, 1.0, v)
}
