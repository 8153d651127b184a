package main

import "github.com/intrahpc/intra/examples/npb/internal/flow"

// A line of points is solved with the components of each in this order: density,
// momentum along the line, both other momenta, energy. So the blocks of all axes have
// zeros in the same places.

// order returns which components these are.
func order(axis int) [5]int {
	return [3][5]int{{0, 1, 2, 3, 4}, {0, 2, 1, 3, 4}, {0, 3, 1, 2, 4}}[axis]
}

// rows is a block of 5×5 numbers by rows, without those that are always zero: the last
// three of the first row, and two of the third and the fourth.
type rows struct {
	density [2]float64
	along   [5]float64
	across  [3]float64
	across2 [3]float64 // of places 0, 1 and 3
	energy  [5]float64
}

// columns is a block of 5×5 numbers by columns.
type columns [5]flow.State

// system has the factors of the blocks of a line.
type system struct {
	first, second float64 // of first and second derivatives, for a time step
	spread        float64
}

func newSystem(g flow.Gas, axis int) system {
	return system{g.Dt * g.First, g.Dt * g.Second, g.Dt * g.Second * flow.Spread(axis)}
}

// couple finds the blocks that depend on the state of a point: that of the equations of
// the point itself, of the next point, and of the one before.
func (s *system) couple(u *flow.State, own *columns, next *rows, last *columns) {
	const (
		c1, c2        = flow.C1, flow.C2
		along, across = flow.FourThirds * flow.Viscous, flow.Viscous
		alongE        = along - flow.Thermal
		acrossE       = across - flow.Thermal
	)
	inverse := 1 / u[0]
	vn, v1, v2, h := u[1]*inverse, u[2]*inverse, u[3]*inverse, u[4]*inverse
	square := v1*v1 + v2*v2
	k := 0.5 * (vn*vn + square)
	f, d := s.first, s.spread

	// What flows, to first order.
	f10, f11, f12, f13, f14 := f*(c2*k-vn*vn), f*((2-c2)*vn), -f*c2*v1, -f*c2*v2, f*c2
	f20, f21, f22 := -f*vn*v1, f*v1, f*vn
	f30, f31, f33 := -f*vn*v2, f*v2, f*vn
	f40, f41 := f*(2*c2*k-c1*h)*vn, f*(c1*h-c2*(vn*vn+k))
	f42, f43, f44 := -f*c2*v1*vn, -f*c2*v2*vn, f*c1*vn

	// Viscosity and heat, to second order.
	g := s.second * inverse
	n10, n11 := -along*g*vn, along*g
	n20, n30, n22 := -across*g*v1, -across*g*v2, across*g
	n40 := -g * (alongE*vn*vn + acrossE*square + flow.Thermal*h)
	n41, n42, n43, n44 := alongE*g*vn, acrossE*g*v1, acrossE*g*v2, flow.Thermal*g

	// Elements are set one by one: literals would be made elsewhere and copied.
	next.density[0], next.density[1] = -d, -f
	next.along[0], next.along[1], next.along[2], next.along[3], next.along[4] = -f10-n10, -f11-n11-d, -f12, -f13, -f14
	next.across[0], next.across[1], next.across[2] = -f20-n20, -f21, -f22-n22-d
	next.across2[0], next.across2[1], next.across2[2] = -f30-n30, -f31, -f33-n22-d
	next.energy[0], next.energy[1], next.energy[2], next.energy[3], next.energy[4] = -f40-n40, -f41-n41, -f42-n42, -f43-n43, -f44-n44-d

	set(&last[0], -d, f10-n10, f20-n20, f30-n30, f40-n40)
	set(&last[1], f, f11-n11-d, f21, f31, f41-n41)
	set(&last[2], 0, f12, f22-n22-d, 0, f42-n42)
	set(&last[3], 0, f13, 0, f33-n22-d, f43-n43)
	set(&last[4], 0, f14, 0, 0, f44-n44-d)

	one := 1 + 2*d
	set(&own[0], one, 2*n10, 2*n20, 2*n30, 2*n40)
	set(&own[1], 0, one+2*n11, 0, 0, 2*n41)
	set(&own[2], 0, 0, one+2*n22, 0, 2*n42)
	set(&own[3], 0, 0, 0, one+2*n22, 2*n43)
	set(&own[4], 0, 0, 0, 0, one+2*n44)
}

// subtract subtracts the product of a block and x from y.
func (a *rows) subtract(x, y *flow.State) {
	x0, x1, x2, x3, x4 := x[0], x[1], x[2], x[3], x[4]
	y[0] -= a.density[0]*x0 + a.density[1]*x1
	y[1] -= a.along[0]*x0 + a.along[1]*x1 + (a.along[2]*x2 + a.along[3]*x3) + a.along[4]*x4
	y[2] -= a.across[0]*x0 + a.across[1]*x1 + a.across[2]*x2
	y[3] -= a.across2[0]*x0 + a.across2[1]*x1 + a.across2[2]*x3
	y[4] -= a.energy[0]*x0 + a.energy[1]*x1 + (a.energy[2]*x2 + a.energy[3]*x3) + a.energy[4]*x4
}

// set sets the components of a point.
func set(s *flow.State, s0, s1, s2, s3, s4 float64) {
	s[0], s[1], s[2], s[3], s[4] = s0, s1, s2, s3, s4
}

// factor replaces a block by triangular ones, whose product it is: of that above, the
// diagonal has inverses. Each column loses what those on its left have of it.
func (b *columns) factor() {
	c0, c1, c2, c3, c4 := &b[0], &b[1], &b[2], &b[3], &b[4]
	inverse := 1 / c0[0]
	set(c0, inverse, c0[1]*inverse, c0[2]*inverse, c0[3]*inverse, c0[4]*inverse)

	x0 := c1[0]
	x1, x2, x3, x4 := c1[1]-c0[1]*x0, c1[2]-c0[2]*x0, c1[3]-c0[3]*x0, c1[4]-c0[4]*x0
	inverse = 1 / x1
	set(c1, x0, inverse, x2*inverse, x3*inverse, x4*inverse)

	x0 = c2[0]
	x1, x2, x3, x4 = c2[1]-c0[1]*x0, c2[2]-c0[2]*x0, c2[3]-c0[3]*x0, c2[4]-c0[4]*x0
	x2, x3, x4 = x2-c1[2]*x1, x3-c1[3]*x1, x4-c1[4]*x1
	inverse = 1 / x2
	set(c2, x0, x1, inverse, x3*inverse, x4*inverse)

	x0 = c3[0]
	x1, x2, x3, x4 = c3[1]-c0[1]*x0, c3[2]-c0[2]*x0, c3[3]-c0[3]*x0, c3[4]-c0[4]*x0
	x2, x3, x4 = x2-c1[2]*x1, x3-c1[3]*x1, x4-c1[4]*x1
	x3, x4 = x3-c2[3]*x2, x4-c2[4]*x2
	inverse = 1 / x3
	set(c3, x0, x1, x2, inverse, x4*inverse)

	x0 = c4[0]
	x1, x2, x3, x4 = c4[1]-c0[1]*x0, c4[2]-c0[2]*x0, c4[3]-c0[3]*x0, c4[4]-c0[4]*x0
	x2, x3, x4 = x2-c1[2]*x1, x3-c1[3]*x1, x4-c1[4]*x1
	x3, x4 = x3-c2[3]*x2, x4-c2[4]*x2
	set(c4, x0, x1, x2, x3, 1/(x4-c3[4]*x3))
}

// solve replaces x by the solution of a system with a block that is factored.
func (b *columns) solve(x *flow.State) {
	x0 := x[0]
	x1 := x[1] - b[0][1]*x0
	x2 := x[2] - b[0][2]*x0 - b[1][2]*x1
	x3 := x[3] - b[0][3]*x0 - b[1][3]*x1 - b[2][3]*x2
	x4 := x[4] - b[0][4]*x0 - b[1][4]*x1 - b[2][4]*x2 - b[3][4]*x3
	x4 *= b[4][4]
	x3 = (x3 - b[4][3]*x4) * b[3][3]
	x2 = (x2 - b[4][2]*x4 - b[3][2]*x3) * b[2][2]
	x1 = (x1 - b[4][1]*x4 - b[3][1]*x3 - b[2][1]*x2) * b[1][1]
	x0 = (x0 - b[4][0]*x4 - b[3][0]*x3 - b[2][0]*x2 - b[1][0]*x1) * b[0][0]
	set(x, x0, x1, x2, x3, x4)
}
