package main

import "github.com/intrahpc/intra/examples/npb/internal/flow"

// solveAlong solves the systems of lines along x or y in planes of r, the first of
// which is lo in the cube, and of which u has the solution.
//
//intra:task in(g, axis, u, lo) inout(r)
func solveAlong(g flow.Gas, axis int, u []flow.State, lo int, r []flow.State) {
	n, plane := g.N, g.N*g.N
	stride, step := 1, n // of points in a line, of lines
	if axis == 1 {
		stride, step = n, 1
	}
	l := newLine(g, axis)
	for first := 0; first < len(r); first, lo = first+plane, lo+1 {
		if lo == 0 || lo == n-1 {
			continue
		}
		for i := 1; i < n-1; i++ {
			l.solve(u[first+i*step:], r[first+i*step:], stride)
		}
	}
}

// solveColumns solves the systems of columns lo to hi-1 of so many in r and u. The
// first one is at place y in the cube, and those on its faces are left out.
//
//intra:task in(g, u, columns, y, lo, hi) inout(r[:, lo:hi:columns])
func solveColumns(g flow.Gas, u []flow.State, columns, y, lo, hi int, r []flow.State) {
	n, l := g.N, newLine(g, 2)
	for c := lo; c < hi; c++ {
		if x, y := c%n, y+c/n; x > 0 && x < n-1 && y > 0 && y < n-1 {
			l.solve(u[c:], r[c:], columns)
		}
	}
}
