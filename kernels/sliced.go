package kernels

import (
	"fmt"
	"sort"

	"github.com/intrahpc/intra/kernels/internal/simd"
)

// Sliced is a matrix in slices of 8 rows, each in the most suitable form. It can hold every
// matrix whose columns fit int32. It takes at most a few bytes per row more than CSR. A
// Builder makes it.
type Sliced[T Float] struct {
	rows, cols, nnz int
	reach           reach

	runs []run   // consecutive slices of one kind
	at   []int64 // per slice: its first value in diag or even
	aux  []int32 // per slice: its pattern in the form for simd, or its number of columns in even

	// Stored by diagonals: the entries (i, j) with the same j-i. A pattern lists the
	// diagonals of a slice and the rows that have them; slices share patterns. A row
	// without the diagonal has a 0 there, which is never multiplied.
	ptr, off []int32
	mask     []uint8
	diag     []T

	// Stored by columns: the k-th entries of the 8 rows are side by side.
	evenCol []int32
	even    []T

	// Stored as rows: the remaining entries of slices whose rows differ in length.
	restPtr []int64
	restCol []int32
	rest    []T
}

type kind uint8

const (
	byDiagonal kind = iota
	byColumn        // all entries are in even
	ragged          // in even up to the length of the shortest row, the others in rest
	asRows          // all entries are in rest
)

type run struct {
	first int // first slice of the run
	kind  kind
	rest  int // position in restPtr of its first row, if it has entries in rest
}

// Dims returns the numbers of rows and columns.
func (a *Sliced[T]) Dims() (rows, cols int) { return a.rows, a.cols }

// NNZ returns the number of entries, without padding.
func (a *Sliced[T]) NNZ() int { return a.nnz }

// First returns the lowest column with an entry in rows lo to lo+n; see [Matrix].
func (a *Sliced[T]) First(lo, n int) int { return a.reach.of(a.rows, lo, n).first }

// Last returns one more than the highest column with an entry in rows lo to lo+n; see
// [Matrix].
func (a *Sliced[T]) Last(lo, n int) int { return a.reach.of(a.rows, lo, n).end }

// Bytes returns the memory that the matrix occupies.
func (a *Sliced[T]) Bytes() int64 {
	return bytesOf(a.runs) + bytesOf(a.at) + bytesOf(a.aux) +
		bytesOf(a.ptr) + bytesOf(a.off) + bytesOf(a.mask) + bytesOf(a.diag) +
		bytesOf(a.evenCol) + bytesOf(a.even) +
		bytesOf(a.restPtr) + bytesOf(a.restCol) + bytesOf(a.rest)
}

// Format describes which share of the stored values is in each form.
func (a *Sliced[T]) Format() string {
	d, e, r := float64(len(a.diag)), float64(len(a.even)), float64(len(a.rest))
	all := max(d+e+r, 1)
	return fmt.Sprintf("slices of 8 rows: %.0f%% by diagonal, %.0f%% by column, %.0f%% as rows",
		100*d/all, 100*e/all, 100*r/all)
}

// MulRows sets y to the rows lo to lo+len(y) of the product with x. It is fastest if the
// range starts and ends at multiples of 8.
func (a *Sliced[T]) MulRows(lo int, x, y []T) { a.mulRows(active[T](), lo, x, y) }

func (a *Sliced[T]) mulRows(k *simd.Ops[T], lo int, x, y []T) {
	checkProduct(a.rows, a.cols, lo, len(x), len(y))
	hi := lo + len(y)
	const S = simd.SliceRows
	first, end := (lo+S-1)/S, hi/S // whole slices
	if first > end {
		first = end
	}
	// Rows of slices that are only partly in the range, and of a last slice with fewer than
	// 8 rows.
	for i := lo; i < min(first*S, hi); i++ {
		y[i-lo] = a.row(i, x)
	}
	for i := max(end*S, lo); i < hi; i++ {
		y[i-lo] = a.row(i, x)
	}
	if first == end {
		return
	}
	for r := a.runOf(first); first < end; r++ {
		stop := end
		if r+1 < len(a.runs) {
			stop = min(end, a.runs[r+1].first)
		}
		a.mulRun(k, a.runs[r], first, stop, x, y[first*S-lo:stop*S-lo])
		first = stop
	}
}

// mulRun multiplies the slices first to stop, all of which are in r.
func (a *Sliced[T]) mulRun(k *simd.Ops[T], r run, first, stop int, x, y []T) {
	const S = simd.SliceRows
	at, aux := a.at[first], a.aux[first:stop]
	rest := func() []int64 {
		row := r.rest + (first-r.first)*S
		return a.restPtr[row : row+len(y)+1]
	}
	switch r.kind {
	case byDiagonal:
		k.Diag(aux, a.ptr, a.off, a.mask, a.diag[at:], x, first*S, y)
	case byColumn:
		k.Sell(aux, a.evenCol[at:], a.even[at:], x, y)
	case ragged:
		k.Sell(aux, a.evenCol[at:], a.even[at:], x, y)
		k.CSRAdd32(rest(), a.restCol, a.rest, x, y)
	case asRows:
		k.CSR32(rest(), a.restCol, a.rest, x, y)
	}
}

// runOf returns the number of the run that contains slice s.
func (a *Sliced[T]) runOf(s int) int {
	return sort.Search(len(a.runs), func(r int) bool { return a.runs[r].first > s }) - 1
}

// row returns row i of the product.
func (a *Sliced[T]) row(i int, x []T) T {
	var sum T
	a.entries(i, func(col int, val T) { sum += T(val * x[col]) })
	return canonical(sum)
}

// entries calls f for the entries of row i, in stored order.
func (a *Sliced[T]) entries(i int, f func(col int, val T)) {
	const S = simd.SliceRows
	s, lane := i/S, i%S
	r := a.runs[a.runOf(s)]
	at, aux := int(a.at[s])+lane, int(a.aux[s])
	if r.kind == byDiagonal {
		if aux < 0 {
			aux = ^aux
		}
		for d := a.ptr[aux]; d < a.ptr[aux+1]; d++ {
			if a.mask[d]>>lane&1 != 0 {
				f(i+int(a.off[d]), a.diag[at])
			}
			at += S
		}
		return
	}
	for range aux {
		f(int(a.evenCol[at]), a.even[at])
		at += S
	}
	if r.kind == ragged || r.kind == asRows {
		row := r.rest + i - r.first*S
		for e := a.restPtr[row]; e < a.restPtr[row+1]; e++ {
			f(int(a.restCol[e]), a.rest[e])
		}
	}
}

func canonical[T Float](v T) T { return simd.Canonical(v) }
