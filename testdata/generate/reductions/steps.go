//go:build !intra

package reductions

import (
	"math"

	"github.com/intrahpc/intra"
)

// Steps returns what all reductions give.
func Steps(p *intra.Process, n int) []float64 {
	const dim, k = 3, 5
	points, centres := make([]float64, n*dim), make([]float64, k*dim)
	nearest := make([]int32, n)
	for i := range points {
		points[i] = math.Sin(float64(i * i))
	}
	copy(centres, points)
	part := make([]float64, k*dim)
	sums, counts := make([]float64, k*dim), make([]int64, k)
	var farthest float64
	for range 4 {
		clear(sums)
		clear(counts)
		farthest = 0
		//intra:section on(p)
		for lo, hi := range intra.Blocks(n, p.Tasks()) {
			assign(points[lo*dim:hi*dim], centres, dim, nearest[lo:hi], sums, part, counts, &farthest)
		}
		for i, s := range sums {
			if c := counts[i/dim]; c > 0 {
				centres[i] = s / float64(c)
			}
		}
	}

	x := make([]uint64, n)
	for i := range x {
		x[i] = uint64(i*i)%1024 | 64
	}
	var histogram [8]int32
	var seen, parity, bits uint64
	common, all, some := ^uint64(0), true, false
	//intra:section on(p)
	for lo, hi := range intra.Blocks(n, p.Tasks()) {
		all = census(x[lo:hi], &histogram, &seen, &common, &parity, &some) && all
		bits |= bitsOf(x[lo:hi])
	}

	e := make([]Extent, dim)
	prod, least := []float64{1, 1, 1}, []float64{9, 9, 9}
	//intra:section on(p)
	for lo, hi := range intra.Blocks(n, 7) {
		extents(points[lo*dim:hi*dim], e)
		products(points[lo*dim:hi*dim], prod, least)
	}

	result := append(append(centres, sums...), farthest, float64(seen), float64(common), float64(parity), float64(bits))
	for _, b := range []bool{all, some} {
		if b {
			result = append(result, 1)
		} else {
			result = append(result, 0)
		}
	}
	for _, h := range histogram {
		result = append(result, float64(h))
	}
	for _, x := range e {
		result = append(result, x.Lo, x.Hi)
	}
	return append(append(result, prod...), least...)
}
