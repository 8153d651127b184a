//go:build !intra

package nowait

import (
	"math"

	"github.com/intrahpc/intra"
)

// Steps has sections that go on while others are open, and some that complete
// them.
func Steps(p *intra.Process, n int) ([]float64, error) {
	x, y, z, w := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range x {
		x[i], z[i] = math.Sin(float64(i*i)), math.Cos(float64(i))
	}
	for range 4 {
		//intra:section on(p) nowait
		for lo, hi := range intra.Blocks(n, p.Tasks()) {
			add(0.5, x[lo:hi], y[lo:hi])
		}
		//intra:section on(p) sched(static) nowait
		for lo, hi := range intra.Blocks(n, p.Tasks()) {
			add(0.25, x[lo:hi], z[lo:hi])
		}
		//intra:section nowait on(p)
		for lo, hi := range intra.Blocks(n, p.Tasks()) {
			turn(y, w[lo:hi], lo)
		}
		if err := p.Settle(); err != nil {
			return nil, err
		}
		x[0] += w[1]
		//intra:section on(p)
		for lo, hi := range intra.Blocks(n, p.Tasks()) {
			turn(w, x[lo:hi], lo)
		}
		//intra:section on(p) nowait
		for lo, hi := range intra.Blocks(n, p.Tasks()) {
			add(2, x[lo:hi], w[lo:hi])
		}
	}
	if err := p.Settle(); err != nil {
		return nil, err
	}
	return append(append(x, z...), w...), nil
}
