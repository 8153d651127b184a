package flow

import "iter"

// Along returns for each line of points along x or y where it begins among that many points
// in planes, the first of which is lo in the cube, and the distance of each of its points
// from the next. Lines on the faces of the cube are left out.
func (g Gas) Along(axis, lo, points int) iter.Seq2[int, int] {
	return func(yield func(first, stride int) bool) {
		n, plane := g.N, g.N*g.N
		stride, step := 1, n // of points in a line, of lines
		if axis == 1 {
			stride, step = n, 1
		}
		for first := 0; first < points; first, lo = first+plane, lo+1 {
			if lo == 0 || lo == n-1 {
				continue
			}
			for i := 1; i < n-1; i++ {
				if !yield(first+i*step, stride) {
					return
				}
			}
		}
	}
}

// Inside reports whether a column is not on the faces of the cube, if the first one is
// at place y.
func (g Gas) Inside(column, y int) bool {
	x, y := column%g.N, y+column/g.N
	return x > 0 && x < g.N-1 && y > 0 && y < g.N-1
}
