package main

import "github.com/intrahpc/intra/examples/npb/internal/flow"

// line solves systems of lines, one after the other.
type line struct {
	system
	x      []flow.State // change of each point
	blocks []columns    // dependence of each change on that of the next point
}

func newLine(g flow.Gas, axis int) *line {
	return &line{newSystem(g, axis), make([]flow.State, g.N), make([]columns, g.N)}
}

// solve replaces the right-hand side r of a line of points by their changes. u is the
// solution. The distance between two points is stride. Both ends do not change.
func (l *line) solve(u, r []flow.State, stride int) {
	// This is Gaussian elimination, point by point.
	var before rows
	var own columns
	this, next := &point{}, &point{}
	l.look(&u[stride], this)
	n, o := len(l.x), &l.order
	for i := 1; i < n-1; i++ {
		last, x, c := &l.x[i-1], &l.x[i], &r[i*stride]
		l.own(this, &before, &l.blocks[i-1], &own)
		before.add(last, c[0], c[o[1]], c[o[2]], c[o[3]], c[4], x)
		l.before(this, &before)
		own.factor()
		// The CPU overlaps this with the divisions.
		l.look(&u[(i+1)*stride], next)
		own.solve(x[0], x[1], x[2], x[3], x[4], x)
		l.after(next, &own, &l.blocks[i])
		this, next = next, this
	}
	var x0, x1, x2, x3, x4 float64 // change of the next point
	for i := n - 2; i > 0; i-- {
		c := &r[i*stride]
		x0, x1, x2, x3, x4 = l.blocks[i].subtract(&l.x[i], x0, x1, x2, x3, x4)
		c[0], c[o[1]], c[o[2]], c[o[3]], c[4] = x0, x1, x2, x3, x4
	}
}
