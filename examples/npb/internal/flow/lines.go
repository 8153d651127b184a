package flow

import "iter"

// Along yields, for each line of points along x or y, where it begins among the points of
// some planes, and the distance between its points. The first plane is lo in the cube.
// Lines on the faces of the cube are skipped.
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

// Inside reports whether a column is inside the cube, not on its faces. The first column is
// at position y.
func (g Gas) Inside(column, y int) bool {
	x, y := column%g.N, y+column/g.N
	return x > 0 && x < g.N-1 && y > 0 && y < g.N-1
}
