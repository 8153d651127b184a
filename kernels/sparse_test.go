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

// row is a row of a matrix in the form of the oracle.
type row struct {
	col []int
	val []float64
}

// oracleMul multiplies row by row, entry by entry.
func oracleMul[T kernels.Float](rows []row, x []T) []T {
	y := make([]T, len(rows))
	for i, r := range rows {
		var sum T
		for k, c := range r.col {
			p := T(T(r.val[k]) * x[c])
			sum = T(sum + p)
		}
		if sum != sum {
			sum = canonicalNaN[T]()
		}
		y[i] = sum
	}
	return y
}

func canonicalNaN[T kernels.Float]() T {
	var v T
	switch p := any(&v).(type) {
	case *float64:
		*p = math.Float64frombits(0xfff8000000000000)
	case *float32:
		*p = math.Float32frombits(0xffc00000)
	}
	return v
}

func bits[T kernels.Float](s []T) []uint64 {
	b := make([]uint64, len(s))
	for i, v := range s {
		switch v := any(v).(type) {
		case float64:
			b[i] = math.Float64bits(v)
		case float32:
			b[i] = uint64(math.Float32bits(v))
		}
	}
	return b
}

func rowsOf(a *matrix.CSR) []row {
	n, _ := a.Dims()
	rows := make([]row, n)
	for i := range rows {
		col, val := a.Row(i)
		for k := range col {
			rows[i].col = append(rows[i].col, int(col[k]))
			rows[i].val = append(rows[i].val, val[k])
		}
	}
	return rows
}

// randomize gives every entry another value, with specials also NaNs and the like. The
// chosen format must not depend on the values.
func randomize(rows []row, specials bool) []row {
	r := rand.New(rand.NewPCG(7, uint64(len(rows))))
	for i := range rows {
		for k := range rows[i].val {
			v := r.NormFloat64()
			if specials {
				switch r.IntN(60) {
				case 0:
					v = math.Inf(1)
				case 1:
					v = math.NaN()
				case 2:
					v = math.Copysign(0, -1)
				case 3:
					v = 5e-324
				}
			}
			rows[i].val[k] = v
		}
	}
	return rows
}

func newCSR[T kernels.Float, I kernels.Index](t testing.TB, cols int, rows []row) *kernels.CSR[T, I] {
	ptr := []int64{0}
	var col []I
	var val []T
	for _, r := range rows {
		for k := range r.col {
			col, val = append(col, I(r.col[k])), append(val, T(r.val[k]))
		}
		ptr = append(ptr, int64(len(col)))
	}
	a, err := kernels.NewCSR(cols, ptr, col, val)
	require.NoError(t, err)
	return a
}

func newSliced[T kernels.Float](t testing.TB, cols int, rows []row) *kernels.Sliced[T] {
	b := kernels.NewBuilder[T](cols, len(rows), 0)
	for _, r := range rows {
		var col []int32
		var val []T
		for k := range r.col {
			col, val = append(col, int32(r.col[k])), append(val, T(r.val[k]))
		}
		require.NoError(t, b.Row(col, val))
	}
	return b.Matrix()
}

var cases = []struct {
	name string
	cols int
	rows []row
}{
	{"stencil", 9 * 8 * 7, rowsOf(matrix.Stencil27(9, 8, 7))},
	{"stencil 16", 16 * 5 * 4, rowsOf(matrix.Stencil27(16, 5, 4))},
	{"stencil thin", 1 * 1 * 30, rowsOf(matrix.Stencil27(1, 1, 30))},
	{"banded full", 300, rowsOf(matrix.Banded(300, 5, 1, 1))},
	{"banded", 301, rowsOf(matrix.Banded(301, 6, 0.8, 2))},
	{"banded sparse", 302, rowsOf(matrix.Banded(302, 40, 0.1, 3))},
	{"random", 200, rowsOf(matrix.Random(333, 200, 9, 4))},
	{"random long rows", 900, rowsOf(matrix.Random(41, 900, 77, 4))},
	{"power law", 400, rowsOf(matrix.PowerLaw(400, 400, 12, 5))},
	{"irregular", 150, rowsOf(matrix.Irregular(255, 150, 10, 6))},
	{"mixed", 600, slices.Concat(
		rowsOf(matrix.Banded(100, 4, 1, 7)), rowsOf(matrix.Random(37, 600, 8, 8)),
		rowsOf(matrix.Irregular(50, 600, 9, 9)), rowsOf(matrix.Banded(60, 3, 1, 10)))},
	{"empty rows only", 10, make([]row, 35)},
	{"no rows", 10, nil},
	{"one row", 10, rowsOf(matrix.Random(1, 10, 4, 11))},
	{"seven rows", 10, rowsOf(matrix.Banded(7, 2, 1, 12))},
}

func TestProducts(t *testing.T) {
	for _, c := range cases {
		for _, specials := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s specials=%v", c.name, specials), func(t *testing.T) {
				rows := make([]row, len(c.rows))
				for i, r := range c.rows {
					rows[i] = row{r.col, slices.Clone(r.val)}
				}
				randomize(rows, specials)
				testProducts[float64](t, c.cols, rows, specials)
				testProducts[float32](t, c.cols, rows, specials)
			})
		}
	}
}

func testProducts[T kernels.Float](t *testing.T, cols int, rows []row, specials bool) {
	r := rand.New(rand.NewPCG(8, uint64(len(rows))))
	x := make([]T, cols+3)
	for i := range x {
		x[i] = T(r.NormFloat64())
		if specials && r.IntN(20) == 0 {
			x[i] = T(math.Inf(r.IntN(3) - 1))
		}
	}
	x[cols], x[cols+1], x[cols+2] = T(math.NaN()), T(math.NaN()), T(math.NaN()) // beyond the matrix
	want := oracleMul(rows, x)

	a32, a64 := newCSR[T, int32](t, cols, rows), newCSR[T, int64](t, cols, rows)
	matrices := []kernels.Matrix[T]{a32, a64, newSliced[T](t, cols, rows), kernels.Choose(a32), kernels.Choose(a64)}
	nnz := 0
	for _, r := range rows {
		nnz += len(r.col)
	}
	for _, p := range simd.Paths() {
		for _, m := range matrices {
			gotRows, gotCols := m.Dims()
			require.Equal(t, []int{len(rows), cols, nnz}, []int{gotRows, gotCols, m.NNZ()})
			checkRange(t, p, m, x, want, 0, len(rows))
			for range 40 {
				lo := r.IntN(len(rows) + 1)
				checkRange(t, p, m, x, want, lo, lo+r.IntN(len(rows)-lo+1))
			}
		}
	}
}

// First and Last enclose the columns of all rows, at most with those of the rows in the same
// 64.
func TestFirstAndLastColumn(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 4))
	rows := make([]row, 1000)
	for i := range rows {
		for range r.IntN(4) * r.IntN(2) {
			rows[i].col, rows[i].val = append(rows[i].col, i/2+r.IntN(200)), append(rows[i].val, 1)
		}
	}
	for i := 300; i < 400; i++ {
		rows[i] = row{}
	}
	ends := func(lo, hi int) (first, last int) {
		for _, r := range rows[lo:hi] {
			for _, c := range r.col {
				if last == 0 {
					first = c
				}
				first, last = min(first, c), max(last, c+1)
			}
		}
		return first, last
	}
	for _, m := range []kernels.Matrix[float64]{newCSR[float64, int32](t, 700, rows), newCSR[float64, int64](t, 700, rows), newSliced[float64](t, 700, rows)} {
		for range 200 {
			lo := r.IntN(len(rows) + 1)
			n := r.IntN(len(rows) - lo + 1)
			first, last := 0, 0
			if n > 0 {
				first, last = ends(lo/64*64, min((lo+n+63)/64*64, len(rows)))
			}
			require.Equal(t, []int{first, last}, []int{m.First(lo, n), m.Last(lo, n)}, "%s, rows %d to %d", m.Format(), lo, lo+n)
		}
		require.Zero(t, m.Last(320, 64))
		require.PanicsWithValue(t, "kernels: rows 990 to 1001 of a matrix of 1000 rows", func() { m.First(990, 11) })
		require.Zero(t, testing.AllocsPerRun(10, func() { m.Last(0, len(rows)) }))
	}
}

// checkRange multiplies rows lo to hi, and checks the result and the memory around it.
func checkRange[T kernels.Float](t *testing.T, p *simd.Path, m kernels.Matrix[T], x, want []T, lo, hi int) {
	const guard = 16
	y := slices.Repeat([]T{T(math.Pi)}, guard+hi-lo+guard)
	expect := slices.Clone(y)
	copy(expect[guard:], want[lo:hi])
	kernels.MulRowsOn(p, m, lo, x, y[guard:guard+hi-lo:guard+hi-lo])
	if !slices.Equal(bits(expect), bits(y)) {
		require.Equal(t, expect, y, "%s, %s, rows %d to %d", p.Name, m.Format(), lo, hi)
		require.Equal(t, bits(expect), bits(y), "%s, %s, rows %d to %d", p.Name, m.Format(), lo, hi)
	}
}

// The product with the inner product has the bits of the product alone. Its inner product is the
// sum, in order, of the inner products of each 4096 rows, on every path.
func TestMulRowsDot(t *testing.T) {
	a := matrix.Stencil27(25, 20, 20)
	rows, cols := a.Dims()
	entries := randomize(rowsOf(a), false)
	csr, sliced := newCSR[float64, int32](t, cols, entries), newSliced[float64](t, cols, entries)
	x := normal(cols+40, 3)
	for _, c := range [][2]int{{0, rows}, {8, 5000}, {3, 4099}, {3, 4100}, {77, 77}, {rows, rows}, {9999, rows}} {
		lo, hi := c[0], c[1]
		want, sum := make([]float64, hi-lo), 0.0
		csr.MulRows(lo, x, want)
		for from := lo; from < hi; from += 4096 {
			to := min(from+4096, hi)
			sum += oracleDot(x[from:to], want[from-lo:to-lo])
		}
		for _, p := range simd.Paths() {
			for _, m := range []kernels.Matrix[float64]{csr, sliced} {
				y := make([]float64, hi-lo)
				got := kernels.MulRowsDotOn(p, m, lo, x, x[lo:hi], y)
				require.Equal(t, bits(want), bits(y), "%s, %s, rows %d to %d", p.Name, m.Format(), lo, hi)
				require.Equal(t, bits([]float64{sum}), bits([]float64{got}), "%s, %s, rows %d to %d", p.Name, m.Format(), lo, hi)
			}
		}
	}

	y := make([]float64, rows)
	require.Equal(t, kernels.MulRowsDotOn(simd.Active(), csr, 0, x, x[:rows], y), kernels.MulRowsDot(csr, 0, x, x[:rows], y))
	x[4] = math.NaN()
	require.Equal(t, bits([]float64{canonicalNaN[float64]()}), bits([]float64{kernels.MulRowsDot(csr, 0, x, x[:rows], y)}))
	tall := newCSR[float64, int32](t, 3, make([]row, 10))
	require.Zero(t, kernels.MulRowsDot(tall, 1, normal(3, 1), x[:2], y[:2]))
	require.PanicsWithValue(t, "kernels: inner product of 3 rows with 2 elements", func() { kernels.MulRowsDot(tall, 1, normal(3, 1), x[:2], y[:3]) })
	require.Zero(t, testing.AllocsPerRun(10, func() { kernels.MulRowsDot(sliced, 0, x, x[:rows], y) }))
}

// oracleDot adds 32 partial sums, each in order, by halves.
func oracleDot(x, y []float64) float64 {
	lanes := make([]float64, 32)
	for i := range x {
		p := float64(x[i] * y[i])
		lanes[i%32] += p
	}
	for len(lanes) > 1 {
		half := len(lanes) / 2
		for i := range half {
			lanes[i] += lanes[half+i]
		}
		lanes = lanes[:half]
	}
	return lanes[0]
}

func TestFormats(t *testing.T) {
	slice := func(a *matrix.CSR) kernels.Matrix[float64] { return kernels.Choose(a) }
	stencil := matrix.Stencil27(16, 16, 16)
	for _, c := range []struct {
		name, want string
		m          kernels.Matrix[float64]
	}{
		{"stencil", "slices of 8 rows: 100% by diagonal, 0% by column, 0% as rows", slice(stencil)},
		{"random", "slices of 8 rows: 0% by diagonal, 100% by column, 0% as rows", slice(matrix.Random(800, 5000, 20, 1))},
		{"irregular", "CSR, 32-bit columns", slice(matrix.Irregular(800, 300, 2, 1))},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, c.m.Format()) })
	}
	// Diagonals take less memory than CSR for a stencil.
	require.Less(t, float64(slice(stencil).Bytes()), 0.85*float64(stencil.Bytes()))
	require.Equal(t, int64(8*4097+12*stencil.NNZ()), stencil.Bytes())
}

func TestMatrixErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		cols int
		ptr  []int64
		col  []int32
		val  []float64
		err  string
	}{
		{"lengths", 3, []int64{0, 1}, []int32{1}, nil, "kernels: matrix of 1 columns and 0 values"},
		{"no pointers", 3, nil, nil, nil, "kernels: row pointers must go from 0 to 0"},
		{"start", 3, []int64{1, 1}, []int32{1}, []float64{1}, "kernels: row pointers must go from 0 to 1"},
		{"end", 3, []int64{0, 2}, []int32{1}, []float64{1}, "kernels: row pointers must go from 0 to 1"},
		{"order", 3, []int64{0, 2, 1, 2}, []int32{1, 2}, []float64{1, 2}, "kernels: row 1 ends before it starts"},
		{"column", 3, []int64{0, 2}, []int32{1, 3}, []float64{1, 2}, "kernels: entry 1 lies in column 3 of 3"},
		{"negative column", 3, []int64{0, 1}, []int32{-1}, []float64{1}, "kernels: entry 0 lies in column -1 of 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := kernels.NewCSR(c.cols, c.ptr, c.col, c.val)
			require.EqualError(t, err, c.err)
		})
	}
	b := kernels.NewBuilder[float64](5, 0, 0)
	require.NoError(t, b.Row([]int32{4}, []float64{1}))
	require.EqualError(t, b.Row([]int32{5}, []float64{1}), "kernels: row 1 has an entry in column 5 of 5")
	require.EqualError(t, b.Row([]int32{1}, nil), "kernels: row 1 has 1 columns and 0 values")

	a := matrix.Stencil27(4, 4, 4)
	y := make([]float64, 64)
	for _, m := range []kernels.Matrix[float64]{a, kernels.Choose(a)} {
		require.PanicsWithValue(t, "kernels: rows 1 to 65 of a matrix of 64 rows", func() { m.MulRows(1, y, y) })
		require.PanicsWithValue(t, "kernels: rows -1 to 0 of a matrix of 64 rows", func() { m.MulRows(-1, y, y[:1]) })
		require.PanicsWithValue(t, "kernels: vector of 63 elements for a matrix of 64 columns", func() { m.MulRows(0, y[:63], y) })
	}
}

// FuzzSliced makes a matrix of the bytes and compares its products.
func FuzzSliced(f *testing.F) {
	f.Add([]byte("\x03\x01\x02\x03\x03\x02\x03\x04\x03\x03\x04\x05\x03\x04\x05\x06\x03\x05\x06\x07\x03\x06\x07\x08\x03\x07\x08\x09\x03\x08\x09\x0a"))
	f.Add([]byte("\x00\x05\x01\x01\x30\x02\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		const cols = 64
		var rows []row
		for len(data) > 0 && len(rows) < 200 {
			n := min(int(data[0]%32), len(data)-1)
			var r row
			for k, b := range data[1 : 1+n] {
				r.col = append(r.col, int(b%cols))
				r.val = append(r.val, float64(int(b)-100)*1.1+float64(k))
			}
			rows, data = append(rows, r), data[1+n:]
		}
		testProducts[float64](t, cols, rows, len(data)%2 == 1)
	})
}

// Slices that equal the previous one, or nearly, are stored correctly. In each series of
// rows, an entry sometimes moves, appears or disappears.
func TestRepeatedSlices(t *testing.T) {
	const slices, width = 40, 600
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 8))
		var rows []row
		for range simd.SliceRows {
			var first row
			for c := range 9 {
				if r.IntN(4) > 0 || seed%4 == 0 {
					first.col, first.val = append(first.col, 13*c+len(rows)), append(first.val, 1)
				}
			}
			rows = append(rows, first)
		}
		for len(rows) < slices*simd.SliceRows+int(seed%3) {
			before := rows[len(rows)-simd.SliceRows]
			var next row
			for _, c := range before.col {
				switch r.IntN(150) {
				case 0: // an entry disappears
				case 1:
					c++
					fallthrough
				default:
					next.col = append(next.col, min(c+simd.SliceRows, width-1))
				}
			}
			if r.IntN(100) == 0 {
				next.col = append(next.col, width-1)
			}
			next.val = make([]float64, len(next.col))
			rows = append(rows, next)
		}
		testProducts[float64](t, width, randomize(rows, false), false)
	}
}
