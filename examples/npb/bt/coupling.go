package main

import "github.com/intrahpc/intra/examples/npb/internal/flow"

// On a line the components of each point are solved in this order: density, momentum along
// the line, both other momenta, energy. So the blocks of all axes have zeros at the same
// positions.

// order returns the indices of the components in this order.
func order(axis int) [5]int {
	return [3][5]int{{0, 1, 2, 3, 4}, {0, 2, 1, 3, 4}, {0, 3, 1, 2, 4}}[axis]
}

// system has the factors of the blocks of a line.
type system struct {
	first, second float64 // factors of first and second derivatives, for a time step
	spread        float64
	order         [5]int
}

func newSystem(g flow.Gas, axis int) system {
	return system{g.Dt * g.First, g.Dt * g.Second, g.Dt * g.Second * flow.Spread(axis), order(axis)}
}

// point holds the coefficients of a point's state in a time step. f is the change of flow,
// and n the spread by viscosity and heat. The first digit is the component that changes,
// and the second one the component on which the change depends. Coefficients that are left
// out are zero, or the same at all points.
type point struct {
	f10, f11, f12, f13, f14                               float64
	f20, f21, f22, f30, f31, f33, f40, f41, f42, f43, f44 float64
	n10, n11, n20, n30, n22, n40, n41, n42, n43, n44      float64
}

// look computes p from the state u.
func (s *system) look(u *flow.State, p *point) {
	const (
		c1, c2        = flow.C1, flow.C2
		along, across = flow.FourThirds * flow.Viscous, flow.Viscous
		alongE        = along - flow.Thermal
		acrossE       = across - flow.Thermal
	)
	o, inverse := &s.order, 1/u[0]
	vn, v1, v2, h := u[o[1]]*inverse, u[o[2]]*inverse, u[o[3]]*inverse, u[4]*inverse
	square := v1*v1 + v2*v2
	all := vn*vn + square
	f, g := s.first, s.second*inverse
	fn, f1, f2 := f*vn, f*v1, f*v2

	p.f10, p.f11, p.f12, p.f13, p.f14 = f*(0.5*c2*all-vn*vn), (2-c2)*fn, -c2*f1, -c2*f2, f*c2
	p.f20, p.f21, p.f22 = -fn*v1, f1, fn
	p.f30, p.f31, p.f33 = -fn*v2, f2, fn
	p.f40, p.f41 = fn*(c2*all-c1*h), f*(c1*h-c2*(vn*vn+0.5*all))
	p.f42, p.f43, p.f44 = -c2*fn*v1, -c2*fn*v2, c1*fn

	p.n10, p.n11 = -along*g*vn, along*g
	p.n20, p.n30, p.n22 = -across*g*v1, -across*g*v2, across*g
	p.n40 = -g * (alongE*vn*vn + acrossE*square + flow.Thermal*h)
	p.n41, p.n42, p.n43, p.n44 = alongE*g*vn, acrossE*g*v1, acrossE*g*v2, flow.Thermal*g
}

// own sets a block to that of a point in its own equations. It includes the influence of
// the previous point, whose change depends on that of this point by the block last.
func (s *system) own(p *point, before *rows, last, to *columns) {
	one := 1 + 2*s.spread
	before.add(&last[0], one, 2*p.n10, 2*p.n20, 2*p.n30, 2*p.n40, &to[0])
	before.add(&last[1], 0, one+2*p.n11, 0, 0, 2*p.n41, &to[1])
	before.add(&last[2], 0, 0, one+2*p.n22, 0, 2*p.n42, &to[2])
	before.add(&last[3], 0, 0, 0, one+2*p.n22, 2*p.n43, &to[3])
	before.add(&last[4], 0, 0, 0, 0, one+2*p.n44, &to[4])
}

// after sets a block to that of a point in the equations of the previous point, divided by
// the factored block of the previous point.
func (s *system) after(p *point, own, to *columns) {
	f, d := s.first, s.spread
	own.solve(-d, p.f10-p.n10, p.f20-p.n20, p.f30-p.n30, p.f40-p.n40, &to[0])
	own.solve(f, p.f11-p.n11-d, p.f21, p.f31, p.f41-p.n41, &to[1])
	own.solve(0, p.f12, p.f22-p.n22-d, 0, p.f42-p.n42, &to[2])
	own.solve(0, p.f13, 0, p.f33-p.n22-d, p.f43-p.n43, &to[3])
	own.solve(0, p.f14, 0, 0, p.f44-p.n44-d, &to[4])
}

// before sets rows to the negative block of a point in the equations of the next point.
func (s *system) before(p *point, to *rows) {
	f, d := s.first, s.spread
	to.density[0], to.density[1] = d, f
	to.along[0], to.along[1], to.along[2], to.along[3], to.along[4] = p.f10+p.n10, p.f11+p.n11+d, p.f12, p.f13, p.f14
	to.across[0], to.across[1], to.across[2] = p.f20+p.n20, p.f21, p.f22+p.n22+d
	to.across2[0], to.across2[1], to.across2[2] = p.f30+p.n30, p.f31, p.f33+p.n22+d
	to.energy[0], to.energy[1], to.energy[2], to.energy[3], to.energy[4] = p.f40+p.n40, p.f41+p.n41, p.f42+p.n42, p.f43+p.n43, p.f44+p.n44+d
}
