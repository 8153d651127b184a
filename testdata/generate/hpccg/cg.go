//go:build !intra

package hpccg

import (
	"math"

	"github.com/intrahpc/intra"
)

// Solve runs iters passes of conjugate gradients on A*x = b and returns the
// norms of the residual.
func Solve(p *intra.Process, A *Matrix, b, x []float64, iters int) []float64 {
	n := len(b)
	r, q, d := make([]float64, n), make([]float64, n), make([]float64, n)
	copy(r, b) // x starts as zero
	copy(d, r)
	var history []float64

	var rho float64
	// The first residual.
	//intra:section on(p)
	for lo, hi := range intra.Blocks(n, p.Tasks()) {
		rho += ddot(r[lo:hi], r[lo:hi]) // of this block
	}
	for range iters {
		history = append(history, math.Sqrt(rho))

		// q = A*d
		//intra:section on(p) sched(static)
		for lo, hi := range intra.Blocks(n, p.Tasks()) {
			sparsemv(A, lo, d, q[lo:hi])
		}

		var dq float64
		//intra:section on(p)
		for lo, hi := range intra.Blocks(n, p.Tasks()) {
			dq += ddot(d[lo:hi], q[lo:hi])
		}
		alpha := rho / dq

		//intra:section on(p)
		for lo, hi := range intra.Blocks(n, p.Tasks()) {
			waxpby(1, x[lo:hi], alpha, d[lo:hi], x[lo:hi])
			waxpby(1, r[lo:hi], -alpha, q[lo:hi], r[lo:hi])
		}

		old := rho
		rho = 0
		//intra:section on(p)
		for lo, hi := range intra.Blocks(n, p.Tasks()) {
			rho += ddot(r[lo:hi], r[lo:hi])
		}
		beta := rho / old

		//intra:section on(p) sched(replicate)
		for lo, hi := range intra.Blocks(n, p.Tasks()) {
			waxpby(1, r[lo:hi], beta, d[lo:hi], d[lo:hi]) // d = r + beta*d
		}
	}
	return history
}
