//go:build !intra

package main

import "github.com/intrahpc/intra"

//go:generate go tool intragen

// search returns the pivot of column k.
func (f *factors) search(k int) (best pivot) {
	//intra:section on(f.p)
	for lo, hi := range intra.Blocks(f.n-k, f.tasks) {
		best = larger(best, search(f.a, f.n, k, k+lo, k+hi))
	}
	return best
}

// eliminate eliminates column k from the rows below row k.
func (f *factors) eliminate(k int) {
	top, below := f.row(k), f.a[(k+1)*f.n:]
	//intra:section on(f.p)
	for lo, hi := range intra.Blocks(f.n-k-1, f.tasks) {
		eliminate(top, below[lo*f.n:hi*f.n], f.n, k)
	}
}
