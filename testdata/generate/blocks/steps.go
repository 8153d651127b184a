//go:build !intra

package blocks

import (
	"math"

	"github.com/intrahpc/intra"
)

// Steps returns what all kernels give.
func Steps(p *intra.Process, rows, cols int) []float64 {
	u, v := make([]float64, rows*cols), make([]float64, rows*cols)
	for i := range u {
		u[i] = math.Sin(float64(i * i))
	}
	for range 5 {
		//intra:section on(p)
		for r, c := range intra.Blocks2D(rows, cols, 3, 5) {
			relax(u, v, cols, r.Lo, r.Hi, c.Lo, c.Hi)
		}
		u, v = v, u
	}
	n := min(rows, cols)
	product := make([]float64, n*n)
	//intra:section on(p)
	for r, c := range intra.Tiles(n, n, 7, 9) {
		multiply(u, v, product, n, r.Lo, r.Hi, c.Lo, c.Hi)
	}
	x, m := make([]float64, rows), make([]float64, 2*rows)
	//intra:section on(p)
	for lo, hi := range intra.BlocksOf(rows, 4) {
		ends(x, m, lo, hi)
	}
	return append(append(append(u, product...), x...), m...)
}
