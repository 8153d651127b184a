package main

import "github.com/intrahpc/intra/examples/npb/internal/flow"

// solveAlong solves the systems of lines along x or y in planes of r, the first of which is
// lo in the cube. u is the solution in these planes.
//
//intra:task in(g, axis, u, lo) inout(r)
func solveAlong(g flow.Gas, axis int, u []flow.State, lo int, r []flow.State) {
	l := newLine(g, axis)
	for first, stride := range g.Along(axis, lo, len(r)) {
		l.solve(u[first:], r[first:], stride)
	}
}

// solveColumns solves the systems of columns lo to hi-1 of r and u, which have columns
// columns. The first one is at position y in the cube. Columns on the faces of the cube are
// skipped.
//
//intra:task in(g, u, columns, y, lo, hi) inout(r[:, lo:hi:columns])
func solveColumns(g flow.Gas, u []flow.State, columns, y, lo, hi int, r []flow.State) {
	l := newLine(g, 2)
	for c := lo; c < hi; c++ {
		if g.Inside(c, y) {
			l.solve(u[c:], r[c:], columns)
		}
	}
}
