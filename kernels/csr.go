package kernels

import (
	"fmt"
	"unsafe"

	"github.com/intrahpc/intra/kernels/internal/simd"
)

// Index are the column types of a CSR matrix.
type Index interface{ int32 | int64 }

// Matrix is a sparse matrix ready for products.
type Matrix[T Float] interface {
	Dims() (rows, cols int)
	NNZ() int // stored entries
	// MulRows sets y to the rows lo to lo+len(y) of the product with x. x may
	// be longer than the matrix is wide.
	MulRows(lo int, x, y []T)
	// First returns the lowest column in which one of the rows lo to lo+n has an entry, and
	// Last one more than the highest: MulRows of these rows reads no other elements of x.
	// Both know columns for each 64 rows, so First may be lower and Last higher, by the
	// columns of the rows beside. Without entries both return 0. Both are
	// pure, so that a clause can use them, as in in(a, lo, x[a.First(lo, len(y)):a.Last(lo,
	// len(y))]). A type that embeds a Matrix and replaces them has to be pure, too.
	First(lo, n int) int
	Last(lo, n int) int
	// Bytes returns the memory that the matrix occupies, which a full product reads in
	// addition to x.
	Bytes() int64
	// Format returns a description of the form for people.
	Format() string

	mulRows(k *simd.Ops[T], lo int, x, y []T)
}

// CSR is a matrix of compressed sparse rows.
type CSR[T Float, I Index] struct {
	cols  int
	ptr   []int64
	col   []I
	val   []T
	reach reach
}

// NewCSR returns the matrix of len(ptr)-1 rows whose row i has the entries ptr[i] to
// ptr[i+1]-1 of col and val. Columns count from 0, in any order within a row; the same
// column may occur twice. The slices belong to the matrix from then on and must not change:
// NewCSR checks them, and the products do not check them again.
func NewCSR[T Float, I Index](cols int, ptr []int64, col []I, val []T) (*CSR[T, I], error) {
	if len(col) != len(val) {
		return nil, fmt.Errorf("kernels: matrix of %d columns and %d values", len(col), len(val))
	}
	if len(ptr) == 0 || ptr[0] != 0 || ptr[len(ptr)-1] != int64(len(col)) {
		return nil, fmt.Errorf("kernels: row pointers must go from 0 to %d", len(col))
	}
	for i, p := range ptr[1:] {
		if p < ptr[i] {
			return nil, fmt.Errorf("kernels: row %d ends before it starts", i)
		}
	}
	a := &CSR[T, I]{cols: cols, ptr: ptr, col: col, val: val}
	for k, c := range col {
		if int64(c) < 0 || int64(c) >= int64(cols) {
			return nil, fmt.Errorf("kernels: entry %d lies in column %d of %d", k, c, cols)
		}
	}
	for lo := 0; lo < len(ptr)-1; lo += reachRows {
		hi := min(lo+reachRows, len(ptr)-1)
		a.reach.add(lo, columnsOf(col[ptr[lo]:ptr[hi]]))
	}
	return a, nil
}

// Dims returns the numbers of rows and columns.
func (a *CSR[T, I]) Dims() (rows, cols int) { return len(a.ptr) - 1, a.cols }

// NNZ returns the number of stored entries.
func (a *CSR[T, I]) NNZ() int { return len(a.val) }

// First returns the lowest column with an entry in rows lo to lo+n; see [Matrix].
func (a *CSR[T, I]) First(lo, n int) int { return a.reach.of(len(a.ptr)-1, lo, n).first }

// Last returns one more than the highest column with an entry in rows lo to lo+n; see
// [Matrix].
func (a *CSR[T, I]) Last(lo, n int) int { return a.reach.of(len(a.ptr)-1, lo, n).end }

// Row returns the columns and values of row i. They must not be changed.
func (a *CSR[T, I]) Row(i int) ([]I, []T) {
	lo, hi := a.ptr[i], a.ptr[i+1]
	return a.col[lo:hi:hi], a.val[lo:hi:hi]
}

// Arrays returns the slices from which the matrix was made. They must not be changed.
func (a *CSR[T, I]) Arrays() (ptr []int64, col []I, val []T) { return a.ptr, a.col, a.val }

// Bytes returns the memory that the matrix occupies.
func (a *CSR[T, I]) Bytes() int64 { return bytesOf(a.ptr) + bytesOf(a.col) + bytesOf(a.val) }

// Format describes the matrix.
func (a *CSR[T, I]) Format() string {
	var i I
	return fmt.Sprintf("CSR, %d-bit columns", 8*unsafe.Sizeof(i))
}

// MulRows sets y to the rows lo to lo+len(y) of the product with x.
func (a *CSR[T, I]) MulRows(lo int, x, y []T) { a.mulRows(active[T](), lo, x, y) }

func (a *CSR[T, I]) mulRows(k *simd.Ops[T], lo int, x, y []T) {
	rows, cols := a.Dims()
	checkProduct(rows, cols, lo, len(x), len(y))
	ptr := a.ptr[lo : lo+len(y)+1]
	switch col := any(a.col).(type) {
	case []int32:
		k.CSR32(ptr, col, a.val, x, y)
	case []int64:
		k.CSR64(ptr, col, a.val, x, y)
	}
}

// MulRowsDot is like m.MulRows, but also returns the inner product of d and y, which it
// computes while y is in a cache. The inner product is the sum, in order, of Dot of each
// BlockLen elements. d has the length of y and may be a part of x. Neither may overlap y.
func MulRowsDot[T Float](m Matrix[T], lo int, x, d, y []T) T {
	return mulRowsDot(active[T](), m, lo, x, d, y)
}

func mulRowsDot[T Float](k *simd.Ops[T], m Matrix[T], lo int, x, d, y []T) (sum T) {
	rows, cols := m.Dims()
	checkProduct(rows, cols, lo, len(x), len(y))
	if len(d) != len(y) {
		panic(fmt.Sprintf("kernels: inner product of %d rows with %d elements", len(y), len(d)))
	}
	for from := 0; from < len(y); from += BlockLen {
		to := min(from+BlockLen, len(y))
		m.mulRows(k, lo+from, x, y[from:to])
		sum += k.Dot(d[from:to], y[from:to])
	}
	return canonical(sum)
}

func checkProduct(rows, cols, lo, x, y int) {
	if lo < 0 || y > rows-lo {
		panic(fmt.Sprintf("kernels: rows %d to %d of a matrix of %d rows", lo, lo+y, rows))
	}
	if x < cols {
		panic(fmt.Sprintf("kernels: vector of %d elements for a matrix of %d columns", x, cols))
	}
}

func bytesOf[E any](s []E) int64 {
	var e E
	return int64(len(s)) * int64(unsafe.Sizeof(e))
}
