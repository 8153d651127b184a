//go:build !intra

package fused

import "github.com/intrahpc/intra"

// Steps runs every kernel and returns what they computed.
func Steps(p *intra.Process, n, passes int, ran func(second bool)) []float64 {
	x, y, z := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = 1 / float64(i+1)
	}
	g := &Grid{U: y, V: z, Ran: ran}
	v := &Vec[float64]{Data: make([]float64, n), Ran: ran}
	for k := range passes {
		//intra:section on(p)
		for lo, hi := range intra.Blocks(n, p.Tasks()) {
			waxpby(ran, 0.5, x[lo:hi], float64(k), z[lo:hi], y[lo:hi])
		}
		//intra:section on(p)
		for lo, hi := range intra.Blocks(n, p.Tasks()) {
			g.smooth(lo, hi)
		}
		//intra:section on(p)
		for lo, hi := range intra.Blocks(n, p.Tasks()) {
			v.Fill(1+float64(k), lo, hi)
		}
		//intra:section on(p)
		for lo, hi := range intra.Blocks(n, p.Tasks()) {
			Scale(ran, 1.5, z[lo:hi], x[lo:hi])
		}
		//intra:section on(p)
		for lo, hi := range intra.Blocks(n, p.Tasks()) {
			waxpby(ran, 1, x[lo:hi], 1e-6, v.Data[lo:hi], x[lo:hi]) // reads what it writes
		}
	}
	return append(append(append(append([]float64(nil), x...), y...), z...), v.Data...)
}
