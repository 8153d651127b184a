package main

import "math"

// pivot is a candidate for the pivot of a column. Without a row it is the zero value.
type pivot struct {
	row       int
	magnitude float64
}

// search finds the element with the largest magnitude of column k, in rows lo to hi. Among
// equal elements it finds the first.
//
//intra:task in(a, n, k, lo, hi) reduce(larger: best)
func search(a []float64, n, k, lo, hi int) (best pivot) {
	for i := lo; i < hi; i++ {
		best = larger(best, pivot{i, math.Abs(a[i*n+k])})
	}
	return best
}

// larger returns the candidate with the larger magnitude.
func larger(a, b pivot) pivot {
	if b.magnitude > a.magnitude {
		return b
	}
	return a
}

// eliminate makes column k of some rows zero by subtracting multiples of the pivot's row. The
// factors take the place of the zeros.
//
//intra:task in(top, n, k) inout(rows)
func eliminate(top, rows []float64, n, k int) {
	for ; len(rows) > 0; rows = rows[n:] {
		row := rows[:n]
		factor := row[k] / top[k]
		row[k] = factor
		right := row[k+1:]
		for j, t := range top[k+1 : n] {
			right[j] -= float64(factor * t)
		}
	}
}
