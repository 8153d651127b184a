package main

import "github.com/intrahpc/intra/examples/npb/internal/flow"

// solveAlong solves the systems of lines along x or y in planes of r, the first of
// which is lo in the cube, and of which u has the solution.
//
//intra:task in(g, axis, u, lo) inout(r)
func solveAlong(g flow.Gas, axis int, u []flow.State, lo int, r []flow.State) {
	l := newLine(g, axis)
	for first, stride := range g.Along(axis, lo, len(r)) {
		l.solve(u[first:], r[first:], stride)
	}
}

// solveColumns solves the systems of columns lo to hi-1 of r and u, which have that many
// columns. The first one is at place y in the cube, and those on its faces are left out.
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
