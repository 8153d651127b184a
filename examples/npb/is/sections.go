//go:build !intra

package main

import "github.com/intrahpc/intra"

//go:generate go tool intragen

// draw makes the rank's keys.
func (b *benchmark) draw() {
	first := b.P.Rank() * len(b.keys)
	//intra:section on(b.P)
	for lo, hi := range intra.Blocks(len(b.keys), b.Set.Tasks) {
		draw(first+lo, 1<<b.of.values, b.keys[lo:hi])
	}
}

// order puts the keys of each block in the order of their buckets.
func (b *benchmark) order() {
	buckets := 1 << b.of.buckets
	//intra:section on(b.P)
	for t, at := range b.blocks {
		order(b.keys[at[0]:at[1]], b.of.shift(), b.ordered[at[0]:at[1]], b.counts[t*buckets:(t+1)*buckets])
	}
}

// rankOwn computes the rank of each value in the rank's buckets.
func (b *benchmark) rankOwn() {
	lo, hi := b.own()
	shift := b.of.shift()
	starts := cut(b.totals[lo:hi], min(b.Set.Tasks, hi-lo))
	//intra:section on(b.P)
	for t, first := range starts[:len(starts)-1] {
		end := starts[t+1]
		rank(b.runs, b.bounds, hi-lo, first, end, (lo+first)<<shift, b.smaller(lo+first), b.ranks[first<<shift:end<<shift])
	}
}
