// Package hpccg is a conjugate gradient solver in the shape of HPCCG: kernels
// in this file, sections in cg.go.
package hpccg

//go:generate go tool intragen

// waxpby computes w = alpha*x + beta*y.
//
//intra:task in(alpha, x, beta, y) out(w) elementwise(x, y, w)
func waxpby(alpha float64, x []float64, beta float64, y, w []float64) {
	for i := range w {
		w[i] = float64(alpha*x[i]) + float64(beta*y[i])
	}
}

// ddot computes the dot product of x and y.
//
//intra:task in(x, y) reduce(+: sum)
func ddot(x, y []float64) (sum float64) {
	for i, v := range x {
		sum += float64(v * y[i])
	}
	return sum
}

// Matrix holds rows of a sparse matrix.
type Matrix struct {
	Vals [][]float64
	Cols [][]int32
}

// sparsemv computes rows lo... of A*x into y.
//
//intra:task in(A, lo, x) out(y)
func sparsemv(A *Matrix, lo int, x, y []float64) {
	for i := range y {
		cols := A.Cols[lo+i]
		s := 0.0
		for j, v := range A.Vals[lo+i] {
			s += float64(v * x[cols[j]])
		}
		y[i] = s
	}
}
