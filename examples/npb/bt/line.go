package main

import "github.com/intrahpc/intra/examples/npb/internal/flow"

// line solves systems of lines, one after the other.
type line struct {
	system
	order [5]int
	x     []flow.State // the change of each point
	after []columns    // by how much it depends on that of the next point
}

func newLine(g flow.Gas, axis int) *line {
	return &line{newSystem(g, axis), order(axis), make([]flow.State, g.N), make([]columns, g.N)}
}

// solve replaces the right-hand side r of a line of points by their change; u is the
// solution. A point follows the one before at a stride. Both ends do not change.
func (l *line) solve(u, r []flow.State, stride int) {
	// This is Gauss's method, point by point. Each finds the block of itself, and those
	// of its neighbours.
	own, nextOwn, before, next := &columns{}, &columns{}, &rows{}, &rows{}
	n, ignored := len(l.x), &l.after[0]
	l.couple(l.take(&u[0]), own, before, ignored)
	l.couple(l.take(&u[stride]), own, next, ignored)
	for i := 1; i < n-1; i++ {
		x, after := &l.x[i], &l.after[i]
		*x = *l.take(&r[i*stride])
		if i > 1 {
			last := &l.after[i-1]
			for j := range own {
				before.subtract(&last[j], &own[j])
			}
			before.subtract(&l.x[i-1], x)
		}
		before, next = next, before
		l.couple(l.take(&u[(i+1)*stride]), nextOwn, next, after)
		own.factor()
		for j := range after {
			own.solve(&after[j])
		}
		own.solve(x)
		own, nextOwn = nextOwn, own
	}
	for i := n - 3; i > 0; i-- {
		l.after[i].subtract(&l.x[i+1], &l.x[i])
	}
	for i := 1; i < n-1; i++ {
		l.put(&l.x[i], &r[i*stride])
	}
}

// subtract subtracts the product of a block and x from y.
func (b *columns) subtract(x, y *flow.State) {
	for j, f := range x {
		c := &b[j]
		y[0] -= f * c[0]
		y[1] -= f * c[1]
		y[2] -= f * c[2]
		y[3] -= f * c[3]
		y[4] -= f * c[4]
	}
}

// take returns the components of a point in the order of the line.
func (l *line) take(s *flow.State) *flow.State {
	o := &l.order
	return &flow.State{s[0], s[o[1]], s[o[2]], s[o[3]], s[4]}
}

// put sets a point to components in the order of the line.
func (l *line) put(from, to *flow.State) {
	o := &l.order
	to[0], to[o[1]], to[o[2]], to[o[3]], to[4] = from[0], from[1], from[2], from[3], from[4]
}
