package kernels

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/intrahpc/intra/kernels/internal/simd"
)

// Builder makes a Sliced matrix row by row, without a second copy of the matrix.
type Builder[T Float] struct {
	a        *Sliced[T]
	nnzHint  int
	patterns map[string]int32
	key      []byte

	// State of the current slice.
	n   int
	col [simd.SliceRows][]int32
	val [simd.SliceRows][]T
	off []int32
	msk []uint8

	// State of the previous slice, if it is stored by diagonals: its columns, and its
	// pattern.
	again  bool
	before [simd.SliceRows][]int32
	same   int32
}

// NewBuilder starts a matrix of cols columns. rows and nnz are the expected numbers of rows
// and entries, which only serve to allocate memory once.
func NewBuilder[T Float](cols, rows, nnz int) *Builder[T] {
	slices := max(rows, 0)/simd.SliceRows + 1
	return &Builder[T]{
		a: &Sliced[T]{
			cols: cols, ptr: []int32{0}, restPtr: []int64{0},
			at: make([]int64, 0, slices), aux: make([]int32, 0, slices),
		},
		nnzHint:  nnz,
		patterns: map[string]int32{},
	}
}

// Row appends a row with the given columns and values. Columns count from 0, in any order;
// the same column may occur twice. The slices are copied.
func (b *Builder[T]) Row(col []int32, val []T) error {
	row := b.a.rows
	if len(col) != len(val) {
		return fmt.Errorf("kernels: row %d has %d columns and %d values", row, len(col), len(val))
	}
	for _, c := range col {
		if c < 0 || int(c) >= b.a.cols {
			return fmt.Errorf("kernels: row %d has an entry in column %d of %d", row, c, b.a.cols)
		}
	}
	b.add(append(b.col[b.n][:0], col...), append(b.val[b.n][:0], val...))
	return nil
}

// add appends a row whose columns were checked, and keeps the slices. For one builder the
// caller may use either add or Row, not both.
func (b *Builder[T]) add(col []int32, val []T) {
	b.col[b.n], b.val[b.n] = col, val
	b.a.reach.add(b.a.rows, columnsOf(col))
	b.n++
	b.a.rows++
	b.a.nnz += len(col)
	if b.n == simd.SliceRows {
		b.flush()
	}
}

// Matrix returns the matrix of all rows so far. The builder must not be used afterwards.
func (b *Builder[T]) Matrix() *Sliced[T] {
	if b.n > 0 {
		b.flush()
	}
	a := b.a
	b.a = nil
	return a
}

// flush appends the current slice.
func (b *Builder[T]) flush() {
	nnz, short := 0, len(b.col[0])
	for l := range b.n {
		nnz += len(b.col[l])
		short = min(short, len(b.col[l]))
	}
	if b.n < simd.SliceRows {
		short = 0 // a last slice of fewer rows is always multiplied row by row
	}
	repeats := b.repeats(b.col[:b.n])
	b.again = repeats || b.diagonals(b.col[:b.n], maxDiagonals(nnz))
	switch {
	case b.again:
		if !repeats {
			b.same = b.pattern()
		}
		b.addDiagonals()
	case short*simd.SliceRows == nnz:
		b.addColumns(byColumn, short)
	case short < 4: // two passes are not worthwhile
		b.addSlice(asRows, len(b.a.even), 0)
		b.addRest(0)
	default:
		b.addColumns(ragged, short)
		b.addRest(short)
	}
	b.again = b.again && b.n == simd.SliceRows
	b.n = 0
	b.col, b.before = b.before, b.col
	for l := range b.col {
		b.col[l], b.val[l] = b.col[l][:0], b.val[l][:0]
	}
}

// repeats reports whether a slice with these columns, the current one or the next, is the previous
// slice shifted by 8 columns, and the previous slice is stored by diagonals. Matrices of grids
// have long series of such slices.
func (b *Builder[T]) repeats(col [][]int32) bool {
	if !b.again || len(col) != simd.SliceRows {
		return false
	}
	for l, c := range col {
		before := b.before[l]
		if len(c) != len(before) {
			return false
		}
		for k, at := range c {
			if at != before[k]+simd.SliceRows {
				return false
			}
		}
	}
	return true
}

// maxDiagonals returns the maximum number of diagonals at which a slice with nnz entries is
// stored by diagonals. If fewer than 5 of 8 stored values are entries, reading the zeros
// costs more than the columns and the single loads that diagonals save.
func maxDiagonals(nnz int) int { return nnz / 5 }

// diagonals determines the diagonals of the current slice, or of the next one with these
// columns, in off and msk. It reports whether the slice can be stored by diagonals: it must
// have at most limit diagonals, and ascending columns.
func (b *Builder[T]) diagonals(col [][]int32, limit int) bool {
	row := b.a.rows - b.n
	for _, c := range col {
		for k := 1; k < len(c); k++ {
			if c[k] <= c[k-1] {
				return false
			}
		}
	}
	b.off, b.msk = b.off[:0], b.msk[:0]
	var pos [simd.SliceRows]int
	for {
		d := math.MaxInt
		var m uint8
		for l, c := range col {
			if pos[l] == len(c) {
				continue
			}
			switch at := int(c[pos[l]]) - row - l; {
			case at < d:
				d, m = at, 1<<l
			case at == d:
				m |= 1 << l
			}
		}
		if m == 0 {
			return true
		}
		if len(b.off) == limit || d != int(int32(d)) {
			return false
		}
		for l := range col {
			pos[l] += int(m >> l & 1)
		}
		b.off, b.msk = append(b.off, int32(d)), append(b.msk, m)
	}
}

// addDiagonals stores the current slice by diagonals, with the pattern same.
func (b *Builder[T]) addDiagonals() {
	a := b.a
	p, full := b.same, b.same < 0
	if full {
		p = ^p
	}
	first, end := a.ptr[p], a.ptr[p+1]
	b.addSlice(byDiagonal, len(a.diag), b.same)
	a.diag = grow(a.diag, int(end-first)*simd.SliceRows, b.nnzHint+b.nnzHint/32)
	v := a.diag[a.at[len(a.at)-1]:]
	if full {
		for l, val := range b.val {
			for d, x := range val {
				v[d*simd.SliceRows+l] = x
			}
		}
		return
	}
	var pos [simd.SliceRows]int
	for d, m := range a.mask[first:end] {
		for l := range simd.SliceRows {
			if m>>l&1 != 0 {
				v[d*simd.SliceRows+l] = b.val[l][pos[l]]
				pos[l]++
			}
		}
	}
}

// pattern returns the number of the pattern in off and msk. If every row has every
// diagonal, it returns the complement of the number.
func (b *Builder[T]) pattern() int32 {
	b.key = b.key[:0]
	full := uint8(0xff)
	for d, o := range b.off {
		b.key = binary.LittleEndian.AppendUint32(b.key, uint32(o))
		b.key = append(b.key, b.msk[d])
		full &= b.msk[d]
	}
	if p, ok := b.patterns[string(b.key)]; ok {
		return p
	}
	a := b.a
	p := int32(len(a.ptr) - 1)
	if full == 0xff {
		p = ^p
	}
	b.patterns[string(b.key)] = p
	a.off, a.mask = append(a.off, b.off...), append(a.mask, b.msk...)
	a.ptr = append(a.ptr, int32(len(a.off)))
	return p
}

func (b *Builder[T]) addColumns(k kind, width int) {
	a := b.a
	at := len(a.even)
	b.addSlice(k, at, int32(width))
	a.even = grow(a.even, width*simd.SliceRows, b.nnzHint-len(a.diag))
	a.evenCol = grow(a.evenCol, width*simd.SliceRows, b.nnzHint-len(a.diag))
	for e := range width {
		for l := range simd.SliceRows {
			a.even[at], a.evenCol[at] = b.val[l][e], b.col[l][e]
			at++
		}
	}
}

func (b *Builder[T]) addRest(from int) {
	a := b.a
	for l := range b.n {
		n := len(b.col[l]) - from
		a.rest = grow(a.rest, n, 0)
		a.restCol = grow(a.restCol, n, 0)
		copy(a.rest[len(a.rest)-n:], b.val[l][from:])
		copy(a.restCol[len(a.restCol)-n:], b.col[l][from:])
		a.restPtr = append(a.restPtr, int64(len(a.rest)))
	}
}

// addSlice appends the data that slices of every kind have.
func (b *Builder[T]) addSlice(k kind, at int, aux int32) {
	a := b.a
	if n := len(a.runs); n == 0 || a.runs[n-1].kind != k {
		a.runs = append(a.runs, run{len(a.at), k, len(a.restPtr) - 1})
	}
	a.at, a.aux = append(a.at, int64(at)), append(a.aux, aux)
}

// grow appends n zeros to s. The first growth reserves room for hint elements.
func grow[E int32 | Float](s []E, n, hint int) []E {
	if len(s)+n > cap(s) {
		to := max(len(s)+n, 2*cap(s))
		if cap(s) == 0 {
			to = max(to, hint)
		}
		s = append(Alloc[E](to)[:0], s...)
	}
	return s[:len(s)+n]
}

// Slice returns the matrix in slices. It returns an error if a column does not fit int32.
func Slice[T Float, I Index](a *CSR[T, I]) (*Sliced[T], error) {
	rows, cols := a.Dims()
	b := NewBuilder[T](cols, rows, a.NNZ())
	if col, ok := any(a.col).([]int32); ok { // NewCSR has checked the columns, and they do not change
		for i := range rows {
			lo, hi := a.ptr[i], a.ptr[i+1]
			b.add(col[lo:hi:hi], a.val[lo:hi:hi])
		}
		return b.Matrix(), nil
	}
	var narrow []int32
	for i := range rows {
		col, val := a.Row(i)
		narrow = narrow[:0]
		for _, c := range col {
			if int64(c) > math.MaxInt32 {
				return nil, fmt.Errorf("kernels: row %d has an entry in column %d, too far for slices", i, c)
			}
			narrow = append(narrow, int32(c))
		}
		if err := b.Row(narrow, val); err != nil {
			return nil, err
		}
	}
	return b.Matrix(), nil
}

// Choose returns the matrix in the form with the fastest products. That is Sliced, or a
// itself if Sliced would store plain rows or is not possible.
func Choose[T Float, I Index](a *CSR[T, I]) Matrix[T] {
	s, err := Slice(a)
	if err != nil || len(s.rest) > s.nnz/2 {
		return a
	}
	return s
}
