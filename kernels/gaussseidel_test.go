package kernels_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/kernels"
	"github.com/intrahpc/intra/kernels/internal/simd"
	"github.com/intrahpc/intra/kernels/matrix"
)

// oracleSolve computes Solve row by row, as the documentation of GaussSeidel defines it.
func oracleSolve[T kernels.Float](rows []row, lo, hi int, x []T) {
	diagonal := func(i int) T { return T(rows[i].val[slices.Index(rows[i].col, i)]) }
	subtract := func(i int, v T, in func(col int) bool) T {
		for _, far := range []bool{true, false} {
			for k, c := range rows[i].col {
				if c < lo || c >= hi || !in(c) || (c-i >= 8 || i-c >= 8) != far {
					continue
				}
				scaled := T(T(rows[i].val[k]) / diagonal(i))
				p := T(scaled * x[c-lo])
				v = T(v - p)
			}
		}
		if v != v {
			v = canonicalNaN[T]()
		}
		return v
	}
	for i := lo; i < hi; i++ {
		x[i-lo] = subtract(i, x[i-lo]/diagonal(i), func(c int) bool { return c < i })
	}
	for i := hi - 1; i >= lo; i-- {
		x[i-lo] = subtract(i, x[i-lo], func(c int) bool { return c > i })
	}
}

// withDiagonal returns the first rows of a matrix with one entry on the diagonal in each.
// That entry replaces an entry of the row, or is added to the row.
func withDiagonal(cols int, rows []row) []row {
	rows = slices.Clone(rows[:min(len(rows), cols)])
	for i, r := range rows {
		var to row
		for k, c := range r.col {
			if c != i {
				to.col, to.val = append(to.col, c), append(to.val, r.val[k])
			}
		}
		at, _ := slices.BinarySearch(to.col, i)
		to.col, to.val = slices.Insert(to.col, at, i), slices.Insert(to.val, at, 3+float64(i%5))
		rows[i] = to
	}
	return rows
}

func TestGaussSeidel(t *testing.T) {
	for _, c := range cases {
		for _, specials := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s specials=%v", c.name, specials), func(t *testing.T) {
				var rows []row
				for _, r := range c.rows {
					rows = append(rows, row{r.col, slices.Clone(r.val)})
				}
				rows = withDiagonal(c.cols, randomize(rows, specials))
				testGaussSeidel[float64](t, c.cols, rows, specials)
				testGaussSeidel[float32](t, c.cols, rows, specials)
			})
		}
	}
}

func testGaussSeidel[T kernels.Float](t *testing.T, cols int, rows []row, specials bool) {
	r := rand.New(rand.NewPCG(20, uint64(len(rows))))
	a, n := newSliced[T](t, cols, rows), len(rows)
	for _, bounds := range [][]int{{0, n}, {0, n / 16 * 8, n}, {0, n / 3, n / 3, n / 2, n}, {0, n / 24 * 8, n / 16 * 8, n / 16 * 8, n}} {
		g, err := kernels.NewGaussSeidel(a, bounds...)
		require.NoError(t, err)
		x := make([]T, n)
		for i := range x {
			x[i] = T(r.NormFloat64())
			if specials && r.IntN(50) == 0 {
				x[i] = []T{T(math.Inf(1)), T(math.NaN()), T(math.Copysign(0, -1))}[r.IntN(3)]
			}
		}
		want := slices.Clone(x)
		for b := range bounds[1:] {
			oracleSolve(rows, bounds[b], bounds[b+1], want[bounds[b]:bounds[b+1]])
		}
		for _, p := range simd.Paths() {
			all := slices.Clone(x)
			kernels.SolveOn(p, g, 0, all)
			requireBits(t, want, all, "%s, blocks at %v, %s", p.Name, bounds, g.Format())
			// One block at a time, between inaccessible pages.
			for b := range bounds[1:] {
				const guard = 16
				lo, hi := bounds[b], bounds[b+1]
				y := slices.Repeat([]T{T(math.Pi)}, guard+hi-lo+guard)
				expect := slices.Clone(y)
				copy(y[guard:], x[lo:hi])
				copy(expect[guard:], want[lo:hi])
				kernels.SolveOn(p, g, lo, y[guard:guard+hi-lo:guard+hi-lo])
				requireBits(t, expect, y, "%s, block %d to %d, %s", p.Name, lo, hi, g.Format())
			}
		}
	}
}

func requireBits[T kernels.Float](t *testing.T, want, got []T, message string, args ...any) {
	t.Helper()
	if !slices.Equal(bits(want), bits(got)) {
		require.Equal(t, want, got, fmt.Sprintf(message, args...))
		require.Equal(t, bits(want), bits(got), fmt.Sprintf(message, args...))
	}
}

// Solve is the inverse of (D+L)·D⁻¹·(D+U).
func TestGaussSeidelInverts(t *testing.T) {
	a := rowsOf(matrix.Stencil27(16, 6, 5))
	n := len(a)
	g, err := kernels.NewGaussSeidel(newSliced[float64](t, n, a), 0, n)
	require.NoError(t, err)
	require.Equal(t, "1 blocks, 100% of the slices by diagonal", g.Format())
	x := make([]float64, n)
	for i := range x {
		x[i] = 1 + float64(i%7)
	}
	product := func(x []float64, in func(i, c int) bool) []float64 {
		y := make([]float64, n)
		for i, r := range a {
			for k, c := range r.col {
				if in(i, c) {
					y[i] += r.val[k] * x[c]
				}
			}
		}
		return y
	}
	y := product(x, func(i, c int) bool { return c >= i })
	for i := range y {
		y[i] /= product(slices.Repeat([]float64{1}, n), func(i, c int) bool { return c == i })[i]
	}
	y = product(y, func(i, c int) bool { return c <= i })
	g.Solve(0, y)
	require.InDeltaSlice(t, x, y, 1e-12)
}

func TestGaussSeidelErrors(t *testing.T) {
	stencil := newSliced[float64](t, 64, rowsOf(matrix.Stencil27(4, 4, 4)))
	for _, bounds := range [][]int{nil, {0}, {0, 32}, {1, 64}, {0, 40, 30, 64}} {
		_, err := kernels.NewGaussSeidel(stencil, bounds...)
		require.EqualError(t, err, fmt.Sprintf("kernels: blocks at %v of a matrix of 64 rows and 64 columns", bounds))
	}
	for _, c := range []struct {
		err string
		row row
	}{
		{"kernels: row 1 has no entry on the diagonal", row{[]int{0}, []float64{1}}},
		{"kernels: row 1 has no single entry on the diagonal that is not 0", row{[]int{1}, []float64{0}}},
		{"kernels: row 1 has no single entry on the diagonal that is not 0", row{[]int{1, 1}, []float64{2, 2}}},
	} {
		_, err := kernels.NewGaussSeidel(newSliced[float64](t, 2, []row{{[]int{0}, []float64{1}}, c.row}), 0, 2)
		require.EqualError(t, err, c.err)
	}
	g, err := kernels.NewGaussSeidel(stencil, 0, 16, 64)
	require.NoError(t, err)
	for _, r := range [][2]int{{0, 8}, {8, 16}, {-1, 15}, {16, 65}} {
		require.PanicsWithValue(t, fmt.Sprintf("kernels: rows %d to %d are not whole blocks", r[0], r[1]),
			func() { g.Solve(r[0], make([]float64, r[1]-r[0])) })
	}
}
