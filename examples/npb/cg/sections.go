//go:build !intra

package main

import "github.com/intrahpc/intra"

//go:generate go tool intragen

// multiplyBlock sets w to the product of the rank's block with x. Tasks begin at multiples
// of 8 rows, because the kernel processes 8 rows at a time.
func (b *benchmark) multiplyBlock(x []float64) {
	//intra:section on(b.P)
	for lo, hi := range intra.Blocks((len(b.w)+7)/8, b.Set.Tasks) {
		lo, hi := 8*lo, min(8*hi, len(b.w))
		multiply(b.matrix, lo, x, b.w[lo:hi])
	}
}
