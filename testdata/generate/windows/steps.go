//go:build !intra

package windows

import (
	"math"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/kernels"
)

// Steps runs passes of all kernels on n points, and returns what they give.
func Steps(p *intra.Process, n, passes int) ([]float64, error) {
	b := kernels.NewBuilder[float64](n, n, 3*n)
	ends := make([]int32, 2*n)
	prof := &profile{first: make([]int, n), values: make([][]float64, n)}
	for i := range n {
		low, high := max(0, i-9), min(n-1, i+70)
		if err := b.Row([]int32{int32(low), int32(i), int32(high)}, []float64{0.2, 0.5, 0.2}); err != nil {
			return nil, err
		}
		ends[2*i], ends[2*i+1] = int32(max(0, i-i%5)), int32(min(n, i+3))
		prof.first[i] = max(0, i-i%7)
		for range i - prof.first[i] + 1 {
			prof.values[i] = append(prof.values[i], 1/float64(8+i%3))
		}
	}
	a := b.Matrix()
	x, y, z := make([]float64, n), make([]float64, n), make([]float64, n)
	intra.Protect(p, "x", &x)
	intra.Protect(p, "y", &y)
	intra.Protect(p, "z", &z)
	pass := 0
	intra.Protect(p, "pass", &pass)
	if !p.Restored() {
		for i := range x {
			x[i] = math.Sin(float64(i * i))
		}
	}
	for ; pass < passes; pass++ {
		if err := p.SafePoint(); err != nil {
			return nil, err
		}
		//intra:section on(p) keep
		for lo, hi := range intra.Blocks(n, p.Tasks()) {
			multiply(a, lo, x, y[lo:hi])
		}
		//intra:section on(p) keep
		for lo, hi := range intra.Blocks(n, p.Tasks()) {
			prof.multiply(lo, y, z[lo:hi])
		}
		//intra:section on(p) keep
		for lo, hi := range intra.Blocks(n, p.Tasks()) {
			smooth(ends, lo, 0, y, z, x[lo:hi])
		}
	}
	return x, p.Settle()
}

// Outside launches a task whose window ends beyond the vector.
func Outside(p *intra.Process, n int) {
	y := make([]float64, n)
	prof := &profile{first: make([]int, n)}
	//intra:section on(p)
	{
		prof.multiply(n/2, make([]float64, n/2+1), y[n/2:])
	}
}
