package ions

//go:generate go tool intragen

import "github.com/intrahpc/intra"

// Phase is what changes of ions, an array for each coordinate.
//
//intra:state
type Phase struct {
	Psi    []float64 // poloidal flux: half the square of the radius
	Theta  []float64 // poloidal angle, 0 ≤ θ < 2π
	Zeta   []float64 // toroidal angle, 0 ≤ ζ < 2π
	Rho    []float64 // parallel velocity over the field
	Weight []float64
}

// Ions are those of one rank.
//
//intra:state skip(Old)
type Ions struct {
	Now Phase
	Old Phase     // at the beginning of the step
	Mu  []float64 // root of the magnetic moment: does not change
}

// Len returns the number of ions.
func (z *Ions) Len() int { return len(z.Mu) }

// arrays returns all arrays of coordinates, those of Now first.
func (z *Ions) arrays() [11]*[]float64 {
	return [11]*[]float64{
		&z.Now.Psi, &z.Now.Theta, &z.Now.Zeta, &z.Now.Rho, &z.Now.Weight, &z.Mu,
		&z.Old.Psi, &z.Old.Theta, &z.Old.Zeta, &z.Old.Rho, &z.Old.Weight,
	}
}

// New makes n ions, all zero.
func New(n int) *Ions {
	z := &Ions{}
	z.resize(n)
	return z
}

// resize changes the number of ions; those that stay keep their values.
func (z *Ions) resize(n int) {
	for _, a := range z.arrays() {
		*a = resized(*a, n)
	}
}

// resized leaves room to grow: the number of ions of a wedge goes up and down
// by little.
func resized[T any](s []T, n int) []T {
	if n <= cap(s) {
		return s[:n]
	}
	larger := intra.Alloc[T](n + n/32 + 64)[:n]
	copy(larger, s)
	return larger
}

// Begin starts a step: the current state becomes the old one. The previous old state is
// lost, and need not exist.
func (z *Ions) Begin() {
	z.resize(z.Len())
	z.Now, z.Old = z.Old, z.Now
}
