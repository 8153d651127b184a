package main

import "github.com/intrahpc/intra/kernels"

// Stencils have one weight for each kind of neighbour: the point itself, 6 points that
// share a face, 12 that share an edge, 8 that share a corner. For a row of points in x,
// sides are the 4 neighbouring rows in y or z, and diagonals the 4 rows that are neighbours
// in both y and z.

// The weights of the operator A; those of a face are 0.
const (
	centreOfA = -8.0 / 3
	edgeOfA   = 1.0 / 6
	cornerOfA = 1.0 / 12
)

// smoother has the weights of the centre, faces and edges; those of corners are 0.
type smoother [3]float64

var (
	forSmall = smoother{-3.0 / 8, 1.0 / 32, -1.0 / 64}
	forLarge = smoother{-3.0 / 17, 1.0 / 33, -1.0 / 61}
)

// around is a row of points in x with all neighbouring rows of the same length.
type around struct {
	x, n, s, b, t  []float64 // the row itself and its neighbours in y or z
	nb, nt, sb, st []float64 // neighbours in both y and z
}

// rowsAround returns the row that begins at an index of an array.
func rowsAround(x []float64, s shape, at int) around {
	row, plane := s.row(), s.plane()
	part := func(at int) []float64 { return x[at : at+row : at+row] }
	return around{
		part(at), part(at - row), part(at + row), part(at - plane), part(at + plane),
		part(at - row - plane), part(at - row + plane), part(at + row - plane), part(at + row + plane),
	}
}

// subtract computes planes of r = v - A·u, the first of which is lo.
//
//intra:task in(u, v, s, lo) out(r)
func subtract(u, v []float64, s shape, lo int, r []float64) {
	row, plane := s.row(), s.plane()
	for first := range len(r) / plane {
		for y := 1; y <= s.ny; y++ {
			at := (lo+first)*plane + y*row
			subtractRow(rowsAround(u, s, at), v[at:at+row], r[first*plane+y*row:][:row])
		}
		s.wrap(r[first*plane:][:plane])
	}
}

func subtractRow(u around, v, r []float64) {
	x := u.x
	w := len(x)
	v, r = v[:w], r[:w]
	n, s, b, t, nb, nt, sb, st := u.n[:w], u.s[:w], u.b[:w], u.t[:w], u.nb[:w], u.nt[:w], u.sb[:w], u.st[:w]
	side0, diagonal0 := n[0]+s[0]+(b[0]+t[0]), nb[0]+nt[0]+(sb[0]+st[0])
	side1, diagonal1 := n[1]+s[1]+(b[1]+t[1]), nb[1]+nt[1]+(sb[1]+st[1])
	for i := 2; i < len(x); i++ {
		side2, diagonal2 := n[i]+s[i]+(b[i]+t[i]), nb[i]+nt[i]+(sb[i]+st[i])
		r[i-1] = v[i-1] - float64(centreOfA*x[i-1]) - float64(edgeOfA*(diagonal1+side0+side2)) - float64(cornerOfA*(diagonal0+diagonal2))
		side0, side1, diagonal0, diagonal1 = side1, side2, diagonal1, diagonal2
	}
}

// smooth adds a smoothed residual to planes of u, the first of which is lo.
//
//intra:task in(r, c, s, lo) inout(u)
func smooth(r []float64, c smoother, s shape, lo int, u []float64) {
	row, plane := s.row(), s.plane()
	for first := range len(u) / plane {
		for y := 1; y <= s.ny; y++ {
			smoothRow(rowsAround(r, s, (lo+first)*plane+y*row), &c, u[first*plane+y*row:][:row])
		}
		s.wrap(u[first*plane:][:plane])
	}
}

func smoothRow(r around, c *smoother, u []float64) {
	x := r.x
	w := len(x)
	u = u[:w]
	n, s, b, t, nb, nt, sb, st := r.n[:w], r.s[:w], r.b[:w], r.t[:w], r.nb[:w], r.nt[:w], r.sb[:w], r.st[:w]
	centre, face, edge := c[0], c[1], c[2]
	side0 := n[0] + s[0] + (b[0] + t[0])
	side1, diagonal1 := n[1]+s[1]+(b[1]+t[1]), nb[1]+nt[1]+(sb[1]+st[1])
	for i := 2; i < len(x); i++ {
		side2, diagonal2 := n[i]+s[i]+(b[i]+t[i]), nb[i]+nt[i]+(sb[i]+st[i])
		u[i-1] += float64(centre*x[i-1]) + float64(face*(x[i-2]+x[i]+side1)) + float64(edge*(diagonal1+side0+side2))
		side0, side1, diagonal1 = side1, side2, diagonal2
	}
}

// restrict computes planes of a coarse grid, the first of which is lo, from a grid of shape
// s. A coarse point is the weighted mean of the points around the fine point with twice its
// coordinates.
//
//intra:task in(fine, s, coarser, lo) out(coarse)
func restrict(fine []float64, s, coarser shape, lo int, coarse []float64) {
	row, plane := coarser.row(), coarser.plane()
	for first := range len(coarse) / plane {
		for y := 1; y <= coarser.ny; y++ {
			restrictRow(rowsAround(fine, s, 2*(lo+first)*s.plane()+2*y*s.row()), coarse[first*plane+y*row:][:row])
		}
		coarser.wrap(coarse[first*plane:][:plane])
	}
}

func restrictRow(f around, coarse []float64) {
	side := func(i int) float64 { return f.n[i] + f.s[i] + (f.b[i] + f.t[i]) }
	diagonal := func(i int) float64 { return f.nb[i] + f.nt[i] + (f.sb[i] + f.st[i]) }
	side0, diagonal0 := side(1), diagonal(1)
	for i := 1; i < len(coarse)-1; i++ {
		side2, diagonal2 := side(2*i+1), diagonal(2*i+1)
		coarse[i] = float64(0.5*f.x[2*i]) + float64(0.25*(f.x[2*i-1]+f.x[2*i+1]+side(2*i))) +
			float64(0.125*(side0+side2+diagonal(2*i))) + float64(0.0625*(diagonal0+diagonal2))
		side0, diagonal0 = side2, diagonal2
	}
}

// interpolate sets planes of a fine grid to values of a coarse one, two planes for each coarse
// plane, beginning with coarse plane lo. Fine points coincide with coarse points or lie between
// them. The layer around the fine grid gets its values from the layer around the coarse one.
//
//intra:task in(coarse, coarser, s, lo) out(fine)
func interpolate(coarse []float64, coarser, s shape, lo int, fine []float64) {
	for k := range len(fine) / s.plane() {
		for y := range s.ny + 2 {
			row := fine[k*s.plane()+y*s.row():][:s.row()]
			clear(row)
			addRow(rowsBetween(coarse, coarser, lo, k, y), row)
		}
	}
}

// addInterpolated is like interpolate, but adds the values.
//
//intra:task in(coarse, coarser, s, lo) inout(fine)
func addInterpolated(coarse []float64, coarser, s shape, lo int, fine []float64) {
	for k := range len(fine) / s.plane() {
		for y := range s.ny + 2 {
			addRow(rowsBetween(coarse, coarser, lo, k, y), fine[k*s.plane()+y*s.row():][:s.row()])
		}
	}
}

// rowsBetween returns the rows of a coarse grid around row y of plane k of a fine grid,
// which begins at plane lo of the coarse one. If the fine row coincides with coarse rows in
// y or z, some of the four rows are the same.
func rowsBetween(coarse []float64, coarser shape, lo, k, y int) [4][]float64 {
	row := coarser.row()
	at := (lo+k/2)*coarser.plane() + y/2*row
	across, up := y%2*row, k%2*coarser.plane()
	part := func(at int) []float64 { return coarse[at:][:row] }
	return [4][]float64{part(at), part(at + across), part(at + up), part(at + up + across)}
}

// addRow adds the mean of four rows.
func addRow(of [4][]float64, fine []float64) {
	a := of[0]
	b, c, d := of[1][:len(a)], of[2][:len(a)], of[3][:len(a)]
	before := a[0] + b[0] + (c[0] + d[0])
	for i := 1; i < len(a); i++ {
		sum := a[i] + b[i] + (c[i] + d[i])
		pair := fine[2*i-2:][:2]
		pair[0] += float64(0.25 * before)
		pair[1] += float64(0.125 * (before + sum))
		before = sum
	}
}

// square returns the sum of the squares of planes lo to hi-1 of x, without the layer around
// them.
//
//intra:task in(x, s, lo, hi) reduce(+: sum)
func square(x []float64, s shape, lo, hi int) (sum float64) {
	for z := lo; z < hi; z++ {
		for y := 1; y <= s.ny; y++ {
			row := x[z*s.plane()+y*s.row()+1:][:s.nx]
			sum += kernels.Dot(row, row)
		}
	}
	return sum
}
