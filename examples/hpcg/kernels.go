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
//intra:task in(a, lo, x[a.First(lo, len(y)):a.Last(lo, len(y))]) out(y)
func multiply(a *kernels.Sliced[float64], lo int, x, y []float64) { a.MulRows(lo, x, y) }

// sweep sets x, the rows of a slab that begins with row lo, to the result of a sweep for A·x = r
// from the guess 0.
//
//intra:task in(g, lo, r) out(x)
func sweep(g *kernels.GaussSeidel[float64], lo int, r, x []float64) {
	copy(x, r)
	g.Solve(lo, x)
}

// sweepAgain sets next, the rows of a slab that begins with row lo, to the result of a sweep from
// the guess x.
//
//intra:task in(a, g, lo, r, x[a.First(lo, len(next)):a.Last(lo, len(next))]) out(next)
func sweepAgain(a *kernels.Sliced[float64], g *kernels.GaussSeidel[float64], lo int, r, x, next []float64) {
	a.MulRows(lo, x, next)
	kernels.Waxpby(1, r, -1, next, next)
	g.Solve(lo, next)
	kernels.Waxpby(1, x[lo:lo+len(next)], 1, next, next)
}

// relax sets next, rows of one colour beginning with row lo, to the solution of their equations for
// given x of all other colours.
//
//intra:task in(a, diag, lo, r, x) out(next)
func relax(a *kernels.Sliced[float64], diag []float64, lo int, r, x, next []float64) {
	a.MulRows(lo, x, next)
	for i, v := range next {
		next[i] = x[lo+i] + (r[i]-v)/diag[i]
	}
}

// restrict computes the right-hand side of rows of the coarser level, beginning with row lo. It is
// the residual r - A·x in the given rows of this level, which are the rows of a.
//
//intra:task in(a, lo, x[a.First(lo, len(coarse)):a.Last(lo, len(coarse))], r[least(rows):most(rows)+1], rows) out(coarse)
func restrict(a *kernels.Sliced[float64], lo int, x, r []float64, rows []int32, coarse []float64) {
	a.MulRows(lo, x, coarse)
	for i, row := range rows {
		coarse[i] = r[row] - coarse[i]
	}
}

// prolong adds the solution of the coarser level to x, which are rows beginning with row lo.
//
//intra:task in(solution[least(coarse):most(coarse)+1], coarse, fine, lo) inout(x)
func prolong(solution []float64, coarse, fine []int32, lo int, x []float64) {
	for i, row := range fine {
		x[int(row)-lo] += solution[coarse[i]]
	}
}

// least and most bound rows, of which there is at least one.
func least(rows []int32) int { return int(slices.Min(rows)) }
func most(rows []int32) int  { return int(slices.Max(rows)) }
