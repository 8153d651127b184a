package main

import "github.com/intrahpc/intra/examples/npb/internal/flow"

// line solves systems of lines, one after the other. Each wave has its own system. The
// waves that move with the gas have the same matrix.
type line struct {
	g      flow.Gas
	axis   int
	order  [3]int       // order of the velocities: both across the line, then along it
	damped [][5]float64 // weights of each point and its neighbours in the damping
	points []point
	bonds  []bonds      // two zeros precede them, as in x
	x      []flow.State // changes of entropy, of both velocities across, and of the two sound waves
}

// point holds the properties of a point, and the factors by which it changes its neighbours
// in a time step.
type point struct {
	matter
	moved, sounded, spread float64
}

// bond holds the dependence of a change on the changes of the next two points.
type bond struct{ next, second float64 }

type bonds struct{ gas, forth, back bond }

func newLine(g flow.Gas, axis int) *line {
	l := &line{g: g, axis: axis, order: [3]int{1 + (axis+1)%3, 1 + (axis+2)%3, 1 + axis},
		damped: make([][5]float64, g.N), points: make([]point, g.N),
		bonds: make([]bonds, g.N), x: make([]flow.State, g.N)}
	for i := 1; i < g.N-1; i++ {
		l.damped[i] = flow.Damping(i, g.N)
		for k := range l.damped[i] {
			l.damped[i][k] *= g.Dt
		}
	}
	return l
}

// solve replaces the right-hand side r of a line of points by their changes. u is the
// solution. The distance between two points is stride. Both ends do not change.
func (l *line) solve(u, r []flow.State, stride int) {
	l.look(u, stride)
	o, inside := &l.order, len(l.points)-2
	for i := 1; i <= inside; i++ {
		c, x := &r[i*stride], &l.x[i+1]
		if l.axis == 0 {
			l.points[i].split(c)
		}
		along := c[o[2]]
		x[0], x[1], x[2], x[3], x[4] = c[0], c[o[0]], c[o[1]], c[4]+along, c[4]-along
	}
	l.eliminate()
	var y0, y1, y2, y3, y4, z0, z1, z2, z3, z4 float64 // changes of the next two points
	for i := inside; i > 0; i-- {
		b, x, c := &l.bonds[i+1], &l.x[i+1], &r[i*stride]
		x0 := x[0] - b.gas.second*z0 - b.gas.next*y0
		x1 := x[1] - b.gas.second*z1 - b.gas.next*y1
		x2 := x[2] - b.gas.second*z2 - b.gas.next*y2
		x3 := x[3] - b.forth.second*z3 - b.forth.next*y3
		x4 := x[4] - b.back.second*z4 - b.back.next*y4
		c[0], c[o[0]], c[o[1]], c[o[2]], c[4] = x0, x1, x2, 0.5*(x3-x4), 0.5*(x3+x4)
		if l.axis == 2 {
			l.points[i].join(c)
		}
		z0, z1, z2, z3, z4 = y0, y1, y2, y3, y4
		y0, y1, y2, y3, y4 = x0, x1, x2, x3, x4
	}
}

// look computes the properties of the points of a line.
func (l *line) look(u []flow.State, stride int) {
	first, second, spread := l.g.Dt*l.g.First, l.g.Dt*l.g.Second, flow.Spread(l.axis)
	for i := range l.points {
		p := &l.points[i]
		p.set(&u[i*stride])
		p.moved, p.sounded = first*p.velocity[l.axis], first*p.sound
		p.spread = second * (spread + flow.Thermal*p.volume) // heat spreads fastest
	}
}

// eliminate makes each change depend only on those of the next two points.
func (l *line) eliminate() {
	for i := 1; i < len(l.points)-1; i++ {
		a, b, c, w := &l.points[i-1], &l.points[i], &l.points[i+1], &l.damped[i]
		far, last, own, next := w[0], w[1]-a.spread-a.moved, w[2]+1+2*b.spread, w[3]-c.spread+c.moved
		before, one, to := &l.bonds[i-1], &l.bonds[i], &l.bonds[i+1]
		xb, xo, x := &l.x[i-1], &l.x[i], &l.x[i+1]
		var factor, inverse float64

		to.gas, factor, inverse = reduce(far, last, own, next, w[4], before.gas, one.gas)
		x[0] = (x[0] - far*xb[0] - factor*xo[0]) * inverse
		x[1] = (x[1] - far*xb[1] - factor*xo[1]) * inverse
		x[2] = (x[2] - far*xb[2] - factor*xo[2]) * inverse
		to.forth, factor, inverse = reduce(far, last-a.sounded, own, next+c.sounded, w[4], before.forth, one.forth)
		x[3] = (x[3] - far*xb[3] - factor*xo[3]) * inverse
		to.back, factor, inverse = reduce(far, last+a.sounded, own, next-c.sounded, w[4], before.back, one.back)
		x[4] = (x[4] - far*xb[4] - factor*xo[4]) * inverse
	}
}

// reduce computes the bond of a row from its five elements and the bonds of the two
// previous rows. The right-hand side of the row must be reduced by factor times that of the
// previous row, and then multiplied by inverse.
func reduce(far, last, own, next, second float64, before, one bond) (b bond, factor, inverse float64) {
	factor = last - far*before.next
	inverse = 1 / (own - far*before.second - factor*one.next)
	return bond{(next - factor*one.second) * inverse, second * inverse}, factor, inverse
}
