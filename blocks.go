package intra

import (
	"fmt"
	"iter"

	"github.com/intrahpc/intra/sched"
)

// Blocks cuts 0..n into min(n, parts) non-empty blocks [lo, hi); the first
// n mod parts are one longer than the others. It panics if parts < 1.
func Blocks(n, parts int) iter.Seq2[int, int] {
	if parts < 1 {
		panic(partsError(parts))
	}
	return sched.Blocks(n, parts)
}

// partsError is the panic of Blocks. It is made without a call, so that the compiler inlines
// Blocks: a loop over blocks then allocates nothing.
type partsError int

func (e partsError) Error() string {
	return fmt.Sprintf("intra.Blocks: %d parts, want at least 1", int(e))
}

// BlocksOf cuts 0..n into blocks [lo, hi) of size elements; the last may be
// shorter. It panics if size < 1.
func BlocksOf(n, size int) iter.Seq2[int, int] {
	if size < 1 {
		panic(sizeError(size))
	}
	return func(yield func(lo, hi int) bool) {
		for lo := 0; lo < n; lo += size {
			if !yield(lo, min(lo+size, n)) {
				return
			}
		}
	}
}

// sizeError is the panic of BlocksOf, like partsError.
type sizeError int

func (e sizeError) Error() string {
	return fmt.Sprintf("intra.BlocksOf: blocks of %d elements, want at least 1", int(e))
}

// Range is the half-open interval from Lo to Hi.
type Range struct{ Lo, Hi int }

// Len returns the number of elements.
func (r Range) Len() int { return r.Hi - r.Lo }

// Blocks2D cuts a matrix into rowParts times colParts blocks of rows and columns, row
// by row. It divides each dimension as Blocks does.
//
//	for r, c := range intra.Blocks2D(rows, cols, 4, 4) {
//		relax(u, v, cols, r.Lo, r.Hi, c.Lo, c.Hi)
//	}
func Blocks2D(rows, cols, rowParts, colParts int) iter.Seq2[Range, Range] {
	return product(Blocks(rows, rowParts), Blocks(cols, colParts))
}

// Tiles cuts a matrix into blocks of height rows and width columns, row by row. The last
// block of a row or column may be smaller.
func Tiles(rows, cols, height, width int) iter.Seq2[Range, Range] {
	return product(BlocksOf(rows, height), BlocksOf(cols, width))
}

func product(rows, cols iter.Seq2[int, int]) iter.Seq2[Range, Range] {
	return func(yield func(rows, cols Range) bool) {
		for top, bottom := range rows {
			for left, right := range cols {
				if !yield(Range{top, bottom}, Range{left, right}) {
					return
				}
			}
		}
	}
}
