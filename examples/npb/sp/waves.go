package main

import (
	"math"

	"github.com/intrahpc/intra/examples/npb/internal/flow"
)

// Between the first and the last system, the change of a point is expressed by five terms.
// The first one is the change of entropy: the change of density minus the part that the
// pressure causes. The next three are the changes of the velocity along each axis. The last
// one is the change of pressure, expressed as a velocity by density and speed of sound.
//
// In these terms each axis has three waves that move with the gas: entropy, and the two
// velocities across. The other two are sound waves: the sum and the difference of pressure
// and velocity along the axis.

// matter holds the properties of a point on which the terms depend.
type matter struct {
	density  float64
	velocity [3]float64
	kinetic  float64 // energy of a mass
	sound    float64 // speed of sound
	volume   float64 // of a mass
}

// set computes the properties from the state of the point.
func (m *matter) set(u *flow.State) {
	inverse := 1 / u[0]
	x, y, z := u[1]*inverse, u[2]*inverse, u[3]*inverse
	m.density, m.kinetic = u[0], 0.5*(x*x+y*y+z*z)
	m.velocity[0], m.velocity[1], m.velocity[2] = x, y, z
	m.sound = math.Sqrt(flow.C1 * flow.C2 * (u[4]*inverse - m.kinetic))
	m.volume = inverse
}

// split converts a change of density, momentum and energy into these terms.
func (m *matter) split(r *flow.State) {
	v, inverse := &m.velocity, m.volume
	pressure := flow.C2 * (m.kinetic*r[0] - v[0]*r[1] - v[1]*r[2] - v[2]*r[3] + r[4])
	slow := 1 / m.sound
	r[1], r[2], r[3] = (r[1]-v[0]*r[0])*inverse, (r[2]-v[1]*r[0])*inverse, (r[3]-v[2]*r[0])*inverse
	r[0] -= pressure * slow * slow
	r[4] = pressure * inverse * slow
}

// join is the inverse of split.
func (m *matter) join(r *flow.State) {
	v := &m.velocity
	pressed := r[4] * m.density
	density := r[0] + pressed/m.sound
	x, y, z := m.density*r[1], m.density*r[2], m.density*r[3]
	r[0], r[1], r[2], r[3] = density, x+v[0]*density, y+v[1]*density, z+v[2]*density
	r[4] = pressed*m.sound*(1/flow.C2) + m.kinetic*density + v[0]*x + v[1]*y + v[2]*z
}
