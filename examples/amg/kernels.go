package main

import (
	"slices"

	"github.com/intrahpc/intra/kernels"
)

// waxpby computes w = alpha·x + beta·y.
//
//intra:task in(alpha, x, beta, y) out(w)
func waxpby(alpha float64, x []float64, beta float64, y, w []float64) {
	kernels.Waxpby(alpha, x, beta, y, w)
}

// dot returns the inner product of x and y.
//
//intra:task in(x, y) reduce(+: sum)
func dot(x, y []float64) (sum float64) { return kernels.Dot(x, y) }

// multiply computes the rows lo to lo+len(y) of y = A·x.
//
//intra:task in(a, lo, x) out(y)
func multiply(a kernels.Matrix[float64], lo int, x, y []float64) { a.MulRows(lo, x, y) }

// scale computes d = f·D⁻¹·r.
//
//intra:task in(f, inverse, r) out(d)
func scale(f float64, inverse, r, d []float64) {
	for i, v := range r {
		d[i] = f * v * inverse[i]
	}
}

// residual computes rows of y = r - A·x, beginning with row lo.
//
//intra:task in(a, lo, x, r) out(y)
func residual(a kernels.Matrix[float64], lo int, x, r, y []float64) {
	a.MulRows(lo, x, y)
	kernels.Waxpby(1, r, -1, y, y)
}

// direction computes rows of d = f·D⁻¹·(r - A·x), beginning with row lo.
//
//intra:task in(a, lo, f, inverse, x, r) out(d)
func direction(a kernels.Matrix[float64], lo int, f float64, inverse, x, r, d []float64) {
	a.MulRows(lo, x, d)
	for i, v := range d {
		d[i] = f * (r[i] - v) * inverse[i]
	}
}

// correct computes rows of next = x + alpha·d - beta·D⁻¹·A·d, beginning with row lo. If x is empty
// it counts as 0.
//
//intra:task in(a, lo, alpha, beta, inverse, d, x) out(next)
func correct(a kernels.Matrix[float64], lo int, alpha, beta float64, inverse, d, x, next []float64) {
	a.MulRows(lo, d, next)
	for i, v := range next {
		next[i] = float64(alpha*d[lo+i]) - float64(beta*v*inverse[i])
	}
	if len(x) > 0 {
		kernels.Waxpby(1, x, 1, next, next)
	}
}

// interpolate computes rows of next = x + P·coarse, beginning with row lo.
//
//intra:task in(p, lo, coarse, x) out(next)
func interpolate(p kernels.Matrix[float64], lo int, coarse, x, next []float64) {
	p.MulRows(lo, coarse, next)
	kernels.Waxpby(1, x, 1, next, next)
}

// countEntries counts the entries of rows of a·b, beginning with row lo.
//
//intra:task in(a, b, lo) scratch(seen) out(count)
func countEntries(a, b *sparse, lo int, seen, count []int32) {
	clear(seen)
	for i := range count {
		n, mark := int32(0), int32(i+1)
		col, _ := a.row(lo + i)
		for _, j := range col {
			more, _ := b.row(int(j))
			for _, c := range more {
				if seen[c] != mark {
					seen[c] = mark
					n++
				}
			}
		}
		count[i] = n
	}
}

// fillEntries computes rows of a·b, beginning with row lo. ptr holds where each row begins.
//
//intra:task in(a, b, lo, ptr) scratch(seen, sums) out(col, val)
func fillEntries(a, b *sparse, lo int, ptr []int64, seen []int32, sums []float64, col []int32, val []float64) {
	clear(seen)
	for i := range len(ptr) - 1 {
		first, end := ptr[i]-ptr[0], ptr[i+1]-ptr[0]
		columns, values := a.row(lo + i)
		combine(columns, values, b, int32(i+1), seen, sums, col[first:end], val[first:end])
	}
}

// fillSmoothed computes rows of (I - omega·D⁻¹·F)·t, beginning with row lo. ptr holds where each
// row begins.
//
//intra:task in(a, near, omega, t, lo, ptr) scratch(seen, sums) out(col, val)
func fillSmoothed(a *sparse, near []float64, omega float64, t *sparse, lo int, ptr []int64, seen []int32, sums []float64, col []int32, val []float64) {
	clear(seen)
	var values []float64
	for i := range len(ptr) - 1 {
		first, end := ptr[i]-ptr[0], ptr[i+1]-ptr[0]
		columns, _ := a.row(lo + i)
		values = slices.Grow(values[:0], len(columns))[:len(columns)]
		damped(a, lo+i, near, omega, values)
		combine(columns, values, t, int32(i+1), seen, sums, col[first:end], val[first:end])
	}
}

// combine computes a row of a product: the sum of the given rows of b, each multiplied by
// its value, with columns in ascending order. No earlier row may have left mark in seen.
func combine(columns []int32, values []float64, b *sparse, mark int32, seen []int32, sums []float64, col []int32, val []float64) {
	at := 0
	for k, j := range columns {
		more, by := b.row(int(j))
		for m, c := range more {
			if seen[c] != mark {
				seen[c], sums[c] = mark, 0
				col[at] = c
				at++
			}
			sums[c] += float64(values[k] * by[m])
		}
	}
	slices.Sort(col)
	for k, c := range col {
		val[k] = sums[c]
	}
}
