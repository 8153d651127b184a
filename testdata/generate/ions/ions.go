// Package ions has kernels that sections of other packages launch.
package ions

//go:generate go tool intragen

// Ions is a structure of arrays.
type Ions struct {
	Psi, V []float64
}

// New returns n ions.
func New(n int) *Ions {
	ions := &Ions{make([]float64, n), make([]float64, n)}
	for i := range n {
		ions.Psi[i], ions.V[i] = float64(i), 1/float64(i+1)
	}
	return ions
}

// Push moves the ions lo..hi.
//
//intra:task in(ions, dt, lo, hi) inout(ions.Psi[lo:hi])
func (ions *Ions) Push(dt float64, lo, hi int) {
	for i := lo; i < hi; i++ {
		ions.Psi[i] += float64(ions.V[i] * dt)
	}
}

// Energy is half the sum of squares.
//
//intra:task in(v) reduce(+: e)
func Energy(v []float64) (e float64) {
	for _, x := range v {
		e += float64(0.5 * x * x)
	}
	return e
}
