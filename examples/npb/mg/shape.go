package main

// shape is the shape of an array of nx, ny and nz points in x, y and z, with a layer around
// them. Points count from 1. The layer has the first index, 0, and the last one. x runs
// fastest.
type shape struct {
	nx, ny, nz int
	// wraps reports for x and y whether all points along this axis are on this rank. Then
	// the layer is a copy of the points at the other end. If this holds for y, it also
	// holds for x.
	wraps [2]bool
}

func (s shape) row() int    { return s.nx + 2 }
func (s shape) plane() int  { return s.row() * (s.ny + 2) }
func (s shape) size() int   { return s.plane() * (s.nz + 2) }
func (s shape) inside() int { return s.nx * s.ny * s.nz }

// points returns the number of points along an axis.
func (s shape) points(axis int) int { return [3]int{s.nx, s.ny, s.nz}[axis] }

// layer returns the number of points that are exchanged for one index of an axis. It
// excludes the layer along later axes, whose values are not known yet.
func (s shape) layer(axis int) int {
	return [3]int{s.ny * s.nz, s.row() * s.nz, s.plane()}[axis]
}

// border returns the size of the largest layer.
func (s shape) border() int { return max(s.layer(0), s.layer(1), s.layer(2)) }

// pieces calls f for all contiguous pieces of a layer in memory.
func (s shape) pieces(axis, at int, f func(lo, n int)) {
	if axis == 2 {
		f(at*s.plane(), s.plane())
		return
	}
	for z := 1; z <= s.nz; z++ {
		if axis == 1 {
			f(z*s.plane()+at*s.row(), s.row())
			continue
		}
		for y := 1; y <= s.ny; y++ {
			f(z*s.plane()+y*s.row()+at, 1)
		}
	}
}

// pack copies a layer of x to out.
func (s shape) pack(x []float64, axis, at int, out []float64) {
	s.pieces(axis, at, func(lo, n int) {
		copy(out, x[lo:lo+n])
		out = out[n:]
	})
}

// unpack copies a layer of x from in.
func (s shape) unpack(in, x []float64, axis, at int) {
	s.pieces(axis, at, func(lo, n int) {
		copy(x[lo:lo+n], in)
		in = in[n:]
	})
}

// wrap fills in the layer of a plane along the axes on which it wraps.
func (s shape) wrap(plane []float64) {
	row := s.row()
	if s.wraps[0] {
		for y := 1; y <= s.ny; y++ {
			r := plane[y*row:][:row]
			r[0], r[s.nx+1] = r[s.nx], r[1]
		}
	}
	if s.wraps[1] {
		copy(plane[:row], plane[s.ny*row:])
		copy(plane[(s.ny+1)*row:], plane[row:2*row])
	}
}
