// Package windows has kernels that read a part of an array which functions compute.
package windows

import (
	"github.com/intrahpc/intra/kernels"
	"github.com/intrahpc/intra/testdata/generate/windows/mesh"
)

//go:generate go tool intragen

// multiply computes rows of y = a·x.
//
//intra:task in(a, lo, x[a.First(lo, len(y)):a.Last(lo, len(y))]) out(y)
func multiply(a kernels.Matrix[float64], lo int, x, y []float64) { a.MulRows(lo, x, y) }

// profile is a matrix whose row i has entries in columns first[i] to i.
type profile struct {
	first  []int
	values [][]float64
}

// from is the lowest column of n rows.
func (p *profile) from(lo, n int) int {
	low := p.first[lo]
	for _, c := range p.first[lo : lo+n] {
		low = min(low, c)
	}
	return low
}

// multiply computes rows of y = p·x. mesh is no package here.
//
//intra:task in(p, mesh, x[p.from(mesh, len(y)):mesh+len(y)]) out(y)
func (p *profile) multiply(mesh int, x, y []float64) {
	for i := range y {
		row := mesh + i
		y[i] = 0
		for k, v := range p.values[row] {
			y[i] += float64(v * x[p.first[row]+k])
		}
	}
}

// smooth averages neighbours, which lie between the ends of each point, and the points beside a
// block.
//
//intra:task in(ends, lo, first, x[mesh.Below(ends, lo):mesh.Above(ends, lo+len(y)-1)], z[max(0, lo-1):min(lo+len(y)+1, len(z))]) out(y)
func smooth[T float64 | float32](ends []int32, lo, first int, x, z, y []T) {
	for i := range y {
		below, above := mesh.Below(ends, lo+i), mesh.Above(ends, lo+i)
		sum := z[max(0, lo+i-1)] + z[min(lo+i+1, len(z)-1)]
		for _, v := range x[below:above] {
			sum += v
		}
		y[i] = sum / T(above-below+2+first)
	}
}
