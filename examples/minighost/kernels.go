package main

import "github.com/intrahpc/intra/kernels"

// average computes rows of the next grid, v, beginning with row lo: the mean of each point of u and
// its neighbours. Points of the halo in these rows become zero.
//
//intra:task in(u, s, b, lo) out(v)
func average(u []float64, s stencil, b box, lo int, v []float64) {
	width, height := b.width(), b.height()
	for k := range len(v) / width {
		out, row := v[k*width:(k+1)*width], lo+k
		if y := row % height; y == 0 || y == height-1 {
			clear(out)
			continue
		}
		s.averageRow(out, func(dy, dz int) []float64 {
			at := (row + dy + dz*height) * width
			return u[at : at+width]
		})
	}
}

// leaving returns the part of the values of a face's points that goes to neighbours outside
// of the domain in the next step.
//
//intra:task in(u, s, b, face) reduce(+: sum)
func leaving(u []float64, s stencil, b box, face span) (sum float64) {
	for z := face.lo[2]; z < face.hi[2]; z++ {
		for y := face.lo[1]; y < face.hi[1]; y++ {
			around := [3]int{0, b.around(1, y), b.around(2, z)}
			row := b.index(0, y, z)
			for x := face.lo[0]; x < face.hi[0]; x++ {
				around[0] = b.around(0, x)
				sum += float64(u[row+x] * float64(s.outside(around)))
			}
		}
	}
	return sum / float64(s.points())
}

// total returns the sum of rows of a grid whose halo is zero.
//
//intra:task in(u) reduce(+: sum)
func total(u []float64) (sum float64) { return kernels.Sum(u) }
