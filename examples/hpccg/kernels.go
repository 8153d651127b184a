package main

import "github.com/intrahpc/intra/kernels"

// arithmetic selects how the kernels add. All replicas of a job use the same arithmetic.
type arithmetic int

const (
	simd       arithmetic = iota // package kernels: fixed lanes, one result on every CPU
	sequential                   // plain loops in order, as in the original
)

// waxpby computes w = alpha·x + beta·y.
//
//intra:task in(how, alpha, x, beta, y) out(w) elementwise(x, y, w)
func waxpby(how arithmetic, alpha float64, x []float64, beta float64, y, w []float64) {
	if how == simd {
		kernels.Waxpby(alpha, x, beta, y, w)
		return
	}
	for i := range w {
		w[i] = float64(alpha*x[i]) + float64(beta*y[i])
	}
}

// ddot returns the inner product of x and y.
//
//intra:task in(how, x, y) reduce(+: sum)
func ddot(how arithmetic, x, y []float64) (sum float64) {
	if how == simd {
		return kernels.Dot(x, y)
	}
	for i := range x {
		sum += float64(x[i] * y[i])
	}
	return sum
}

// waxpbyDot computes w = alpha·x + beta·y and returns the inner product of w
// with itself.
//
//intra:task in(how, alpha, x, beta, y) out(w) reduce(+: sum)
func waxpbyDot(how arithmetic, alpha float64, x []float64, beta float64, y, w []float64) (sum float64) {
	if how == simd {
		return kernels.WaxpbyDot(alpha, x, beta, y, w)
	}
	for i := range w {
		v := float64(alpha*x[i]) + float64(beta*y[i])
		w[i] = v
		sum += float64(v * v)
	}
	return sum
}

// sparsemv computes rows lo to lo+len(y) of y = A·x.
//
//intra:task in(a, lo, x[a.First(lo, len(y)):a.Last(lo, len(y))]) out(y)
func sparsemv(a kernels.Matrix[float64], lo int, x, y []float64) {
	a.MulRows(lo, x, y)
}

// sparsemvDot computes rows lo to lo+len(y) of y = A·x and returns the inner product of y
// and the elements of x on the diagonal. That of row 0 is element first of x.
//
//intra:task in(how, a, lo, first, x[a.First(lo, len(y)):a.Last(lo, len(y))]) out(y) reduce(+: sum)
func sparsemvDot(how arithmetic, a kernels.Matrix[float64], lo, first int, x, y []float64) (sum float64) {
	diagonal := x[first+lo : first+lo+len(y)]
	if how == simd {
		return kernels.MulRowsDot(a, lo, x, diagonal, y)
	}
	a.MulRows(lo, x, y)
	return ddot(how, diagonal, y)
}
