package main

import (
	"iter"

	"github.com/intrahpc/intra"
)

// leastRows is the minimum number of rows of a vector or matrix for which a task is
// worthwhile.
const leastRows = 256

// cut divides rows into at most most tasks, at multiples of 8.
func cut(rows, most int) iter.Seq2[int, int] {
	return func(yield func(lo, hi int) bool) {
		for lo, hi := range intra.Blocks((rows+7)/8, max(1, min(most, rows/leastRows))) {
			if !yield(8*lo, min(8*hi, rows)) {
				return
			}
		}
	}
}
