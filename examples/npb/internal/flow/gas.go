package flow

import "math"

// The constants of the gas.
const (
	C1         = 1.4 // ratio of specific heats
	C2         = 0.4
	Viscous    = 0.1        // viscosity
	Thermal    = 1.96 * 0.1 // heat conduction
	FourThirds = 4.0 / 3
)

// damping is the weight of the fourth differences that keep the flow smooth.
const damping = 0.25

// Gas holds the constants of a time step.
type Gas struct {
	N      int     // number of points along an edge of the cube, including those on its faces
	Dt     float64 // the time step
	First  float64 // factor that turns the difference of both neighbours into a derivative
	Second float64 // factor that turns a second difference into a second derivative
}

// NewGas returns the gas in a cube of n³ points.
func NewGas(n int, dt float64) Gas {
	h := float64(n - 1)
	return Gas{N: n, Dt: dt, First: h / 2, Second: h * h}
}

// Spread returns the weight of second differences along an axis that are added to the
// solution.
func Spread(axis int) float64 { return [3]float64{0.75, 0.75, 1}[axis] }

// At returns the position of a point in the unit cube.
func (g Gas) At(x, y, z int) [3]float64 {
	// The last point is at 1 exactly.
	h := float64(g.N - 1)
	return [3]float64{float64(x) / h, float64(y) / h, float64(z) / h}
}

// motion holds the values that the equations compute from the state of a point.
type motion struct {
	velocity [3]float64
	kinetic  float64 // kinetic energy in a volume
	spread   float64 // energy of a mass that viscosity and heat spread
}

// move computes the motion at each point of a row.
func move(u []State, to []motion) {
	to = to[:len(u)]
	for i := range u {
		s, m := &u[i], &to[i]
		inverse := 1 / s[0]
		m.velocity[0], m.velocity[1], m.velocity[2] = s[1]*inverse, s[2]*inverse, s[3]*inverse
		m.kinetic = 0.5 * (s[1]*s[1] + s[2]*s[2] + s[3]*s[3]) * inverse
		m.spread = ((Viscous-Thermal)*m.kinetic + Thermal*s[4]) * inverse
	}
}

// root returns the root of the mean of squares over all points inside.
func (g Gas) root(sums State) (s State) {
	inside := math.Pow(float64(g.N-2), 3)
	for m, sum := range sums {
		s[m] = math.Sqrt(sum / inside)
	}
	return s
}
