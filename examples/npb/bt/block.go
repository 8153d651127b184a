package main

import "github.com/intrahpc/intra/examples/npb/internal/flow"

// rows is a block of 5×5 numbers, stored by rows. It omits numbers that are always zero:
// the last three of the first row, and two each of the third and the fourth row.
type rows struct {
	density [2]float64
	along   [5]float64
	across  [3]float64
	across2 [3]float64 // numbers 0, 1 and 3 of the row
	energy  [5]float64
}

// add sets a point to the sum of y and the product of a block and x.
func (a *rows) add(x *flow.State, y0, y1, y2, y3, y4 float64, to *flow.State) {
	x0, x1, x2, x3, x4 := x[0], x[1], x[2], x[3], x[4]
	set(to,
		y0+(a.density[0]*x0+a.density[1]*x1),
		y1+(a.along[0]*x0+a.along[1]*x1+(a.along[2]*x2+a.along[3]*x3)+a.along[4]*x4),
		y2+(a.across[0]*x0+a.across[1]*x1+a.across[2]*x2),
		y3+(a.across2[0]*x0+a.across2[1]*x1+a.across2[2]*x3),
		y4+(a.energy[0]*x0+a.energy[1]*x1+(a.energy[2]*x2+a.energy[3]*x3)+a.energy[4]*x4))
}

// columns is a block of 5×5 numbers by columns.
type columns [5]flow.State

// factor replaces a block by triangular factors. The upper one has the inverses of its
// diagonal. Each column is reduced by the columns on its left.
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

// solve sets a point to the solution of a system with a factored block. The right-hand side
// is passed by value, so it need not be in memory.
func (b *columns) solve(x0, x1, x2, x3, x4 float64, to *flow.State) {
	x1 = x1 - b[0][1]*x0
	x2 = x2 - b[0][2]*x0 - b[1][2]*x1
	x3 = x3 - b[0][3]*x0 - b[1][3]*x1 - b[2][3]*x2
	x4 = x4 - b[0][4]*x0 - b[1][4]*x1 - b[2][4]*x2 - b[3][4]*x3
	x4 *= b[4][4]
	x3 = (x3 - b[4][3]*x4) * b[3][3]
	x2 = (x2 - b[4][2]*x4 - b[3][2]*x3) * b[2][2]
	x1 = (x1 - b[4][1]*x4 - b[3][1]*x3 - b[2][1]*x2) * b[1][1]
	x0 = (x0 - b[4][0]*x4 - b[3][0]*x3 - b[2][0]*x2 - b[1][0]*x1) * b[0][0]
	set(to, x0, x1, x2, x3, x4)
}

// subtract returns x minus the product of a block and y.
func (b *columns) subtract(x *flow.State, y0, y1, y2, y3, y4 float64) (x0, x1, x2, x3, x4 float64) {
	return x[0] - (b[0][0]*y0 + b[1][0]*y1) - (b[2][0]*y2 + b[3][0]*y3) - b[4][0]*y4,
		x[1] - (b[0][1]*y0 + b[1][1]*y1) - (b[2][1]*y2 + b[3][1]*y3) - b[4][1]*y4,
		x[2] - (b[0][2]*y0 + b[1][2]*y1) - (b[2][2]*y2 + b[3][2]*y3) - b[4][2]*y4,
		x[3] - (b[0][3]*y0 + b[1][3]*y1) - (b[2][3]*y2 + b[3][3]*y3) - b[4][3]*y4,
		x[4] - (b[0][4]*y0 + b[1][4]*y1) - (b[2][4]*y2 + b[3][4]*y3) - b[4][4]*y4
}

// set sets the components of a point.
func set(s *flow.State, s0, s1, s2, s3, s4 float64) {
	s[0], s[1], s[2], s[3], s[4] = s0, s1, s2, s3, s4
}
