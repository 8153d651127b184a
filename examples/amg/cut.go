package main

import (
	"iter"

	"github.com/intrahpc/intra"
)

// leastRows is how many rows of a vector or matrix are worth a task.
const leastRows = 256

// cut cuts rows into at most that many tasks, between multiples of 8.
func cut(rows, most int) iter.Seq2[int, int] {
	return func(yield func(lo, hi int) bool) {
		for lo, hi := range intra.Blocks((rows+7)/8, max(1, min(most, rows/leastRows))) {
			if !yield(8*lo, min(8*hi, rows)) {
				return
			}
		}
	}
}
