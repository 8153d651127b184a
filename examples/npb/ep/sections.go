//go:build !intra

package main

import "github.com/intrahpc/intra"

//go:generate go tool intragen

// tally processes the batches of one round.
func (b *benchmark) tally(first, end int) {
	//intra:section on(b.P)
	for lo, hi := range intra.Blocks(end-first, b.Set.Tasks) {
		tally(first+lo, first+hi, &b.sums, &b.counts)
	}
}
