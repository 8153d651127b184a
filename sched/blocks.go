package sched

import "iter"

// Blocks divides 0..n into min(n, parts) non-empty blocks [lo, hi). The first n mod parts are
// one longer than the others. parts must be at least 1.
func Blocks(n, parts int) iter.Seq2[int, int] {
	return func(yield func(lo, hi int) bool) {
		if n <= 0 {
			return
		}
		k := min(n, parts)
		q, m, lo := n/k, n%k, 0
		for i := range k {
			hi := lo + q
			if i < m {
				hi++
			}
			if !yield(lo, hi) {
				return
			}
			lo = hi
		}
	}
}
