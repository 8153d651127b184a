package main

// stencil determines the neighbours with which a point is averaged.
type stencil int

const (
	cross5  stencil = iota // in the plane, along the axes
	square9                // in the plane
	cross7                 // in space, along the axes
	cube27                 // in space
)

var stencils = []string{"2d5", "2d9", "3d7", "3d27"}

func (s stencil) String() string { return stencils[s] }

// flat reports whether the stencil does not couple planes.
func (s stencil) flat() bool { return s == cross5 || s == square9 }

// phased reports whether the stencil uses corners. Then faces are exchanged in one
// direction after another, each together with the values received before.
func (s stencil) phased() bool { return s == square9 || s == cube27 }

// points returns the number of points in the mean, including the point itself.
func (s stencil) points() int { return [...]int{5, 9, 7, 27}[s] }

// outside returns how many points of the stencil are outside of the domain. around is the
// number of points in the domain in each direction.
func (s stencil) outside(around [3]int) int {
	x, y, z := around[0], around[1], around[2]
	switch s {
	case cross5:
		return 6 - x - y
	case square9:
		return 9 - x*y
	case cross7:
		return 9 - x - y - z
	}
	return 27 - x*y*z
}

// averageRow sets out to the means around the points of a row of u, and to zero at both
// ends, which are in the halo. near returns the row at a distance of dy rows and dz planes.
func (s stencil) averageRow(out []float64, near func(dy, dz int) []float64) {
	switch s {
	case cross5:
		averageCross5(out, near(0, 0), near(-1, 0), near(1, 0))
	case square9:
		averageSquare9(out, near(-1, 0), near(0, 0), near(1, 0))
	case cross7:
		averageCross7(out, near(0, 0), near(-1, 0), near(1, 0), near(0, -1), near(0, 1))
	case cube27:
		averageCube27(out,
			near(-1, -1), near(0, -1), near(1, -1),
			near(-1, 0), near(0, 0), near(1, 0),
			near(-1, 1), near(0, 1), near(1, 1))
	}
	out[0], out[len(out)-1] = 0, 0
}

func averageCross5(out, u, south, north []float64) {
	n := len(out)
	u, south, north = u[:n], south[:n], north[:n]
	for i := 1; i < n-1; i++ {
		out[i] = (south[i] + (u[i-1] + u[i] + u[i+1]) + north[i]) / 5
	}
}

func averageCross7(out, u, south, north, below, above []float64) {
	n := len(out)
	u, south, north, below, above = u[:n], south[:n], north[:n], below[:n], above[:n]
	for i := 1; i < n-1; i++ {
		out[i] = (below[i] + south[i] + (u[i-1] + u[i] + u[i+1]) + north[i] + above[i]) / 7
	}
}

// The sum over a square or cube consists of the sums of three columns, and each column is
// used three times.

func averageSquare9(out, a, b, c []float64) {
	n := len(out)
	a, b, c = a[:n], b[:n], c[:n]
	left, middle := 0.0, 0.0
	for i := range out {
		right := a[i] + b[i] + c[i]
		if i >= 2 {
			out[i-1] = (left + middle + right) / 9
		}
		left, middle = middle, right
	}
}

func averageCube27(out, a, b, c, d, e, f, g, h, k []float64) {
	n := len(out)
	a, b, c = a[:n], b[:n], c[:n]
	d, e, f = d[:n], e[:n], f[:n]
	g, h, k = g[:n], h[:n], k[:n]
	left, middle := 0.0, 0.0
	for i := range out {
		right := (a[i] + b[i] + c[i]) + (d[i] + e[i] + f[i]) + (g[i] + h[i] + k[i])
		if i >= 2 {
			out[i-1] = (left + middle + right) / 27
		}
		left, middle = middle, right
	}
}
