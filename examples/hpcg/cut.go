package main

import (
	"iter"

	"github.com/intrahpc/intra"
)

// leastRows is the minimum number of rows of a vector or matrix for which a task is
// worthwhile.
const leastRows = 512

// parts returns the number of tasks into which rows are divided.
func parts(rows, most int) int { return max(1, min(most, rows/leastRows)) }

// cut divides the rows lo to hi-1 into tasks, at multiples of 8 counted from lo.
func cut(lo, hi, most int) iter.Seq2[int, int] {
	return func(yield func(lo, hi int) bool) {
		n := hi - lo
		for first, end := range intra.Blocks((n+7)/8, parts(n, most)) {
			if !yield(lo+8*first, lo+min(8*end, n)) {
				return
			}
		}
	}
}

// pairs yields each element with the next one.
func pairs(starts []int) iter.Seq2[int, int] {
	return func(yield func(lo, hi int) bool) {
		for i, hi := range starts[1:] {
			if !yield(starts[i], hi) {
				return
			}
		}
	}
}
