package infer // want package:"effects"

//intra:task // want `alpha of kernel waxpby is in no clause; by its body the kernel needs in\(alpha, x, beta, y\) out\(w\)` `x of kernel waxpby is in no clause` `beta of kernel waxpby is in no clause` `y of kernel waxpby is in no clause` `w of kernel waxpby is in no clause`
func waxpby(alpha float64, x []float64, beta float64, y, w []float64) {
	for i := range w {
		w[i] = float64(alpha*x[i]) + float64(beta*y[i])
	}
}

//intra:task in(x) // want `y of kernel axpy is in no clause` `a of kernel axpy is in no clause`
func axpy(a float64, x, y []float64) {
	for i := range y {
		y[i] += float64(a * x[i])
	}
}

type grid struct {
	next *grid
	z    []float64
	n    int
}

//intra:task // want `g of kernel relax is in no clause; by its body the kernel needs in\(g\) inout\(g.z\)`
func (g *grid) relax() {
	for i := range g.n {
		g.z[i] *= 0.5
	}
}

//intra:task in(x, y) // want `sum of kernel ddot is in no clause; by its body the kernel needs out\(sum\); a partial result of a sum is reduce\(\+: sum\)`
func ddot(x, y []float64) (sum float64) {
	for i := range x {
		sum += x[i] * y[i]
	}
	return
}

//intra:task in(a, x)
func scale(a float64, x []float64) {
	for i := range x {
		x[i] *= a // want `task scale writes x, but x is in in; want inout\(x\)`
	}
}

//intra:task in(a, x) out(y) // twice
func times(a float64, x, y []float64) {
	for i, v := range x {
		y[i] += a * v // want `task times reads y before it is written, but y is in out; want inout\(y\)`
	}
}
