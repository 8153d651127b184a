package ions

//go:generate go tool intragen

import "github.com/intrahpc/intra"

// Phase holds the coordinates of ions that change, in an array for each coordinate.
//
//intra:state
type Phase struct {
	Psi    []float64 // poloidal flux: half the square of the radius
	Theta  []float64 // poloidal angle, 0 ≤ θ < 2π
	Zeta   []float64 // toroidal angle, 0 ≤ ζ < 2π
	Rho    []float64 // velocity parallel to the field, divided by the field
	Weight []float64
}

// Ions are the ions of one rank.
//
//intra:state skip(Old)
type Ions struct {
	Now Phase
	Old Phase     // coordinates at the beginning of the step
	Mu  []float64 // square root of the magnetic moment, which does not change
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

// Arrays returns the arrays of all coordinates.
func (z *Ions) Arrays() (all [][]float64) {
	for _, a := range z.arrays() {
		all = append(all, *a)
	}
	return all
}

// New makes n ions, all zero.
func New(n int) *Ions {
	z := &Ions{}
	z.resize(n)
	return z
}

// resize changes the number of ions. Ions that remain keep their values.
func (z *Ions) resize(n int) {
	for _, a := range z.arrays() {
		*a = resized(*a, n)
	}
}

// resized changes the length of a slice, and reserves some room because the number of ions
// of a wedge varies slightly.
func resized[T any](s []T, n int) []T {
	if n <= cap(s) {
		return s[:n]
	}
	larger := intra.Alloc[T](n + n/32 + 64)[:n]
	copy(larger, s)
	return larger
}

// Begin starts a step: the current state becomes the old one. The previous old state is
// overwritten, and need not exist.
func (z *Ions) Begin() {
	z.resize(z.Len())
	z.Now, z.Old = z.Old, z.Now
}
