//go:build !intra

package main

import (
	"fmt"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
)

const points, steps = 80_000, 4000

func main() { intra.Main(run) }

func run(p *intra.Process) error {
	world, n := p.World(), points/p.Size()
	left, right := p.Rank()-1, p.Rank()+1
	r := rod{u: intra.Alloc[float64](n + 2), v: intra.Alloc[float64](n + 2)}
	if left < 0 { // this rank has the left end of the rod, which is hot
		left, r.u[0], r.v[0] = comm.ProcNull, 1, 1
	}
	if right == p.Size() {
		right = comm.ProcNull
	}
	r.Protect(p, "rod")
	for ; r.step < steps; r.step++ {
		if err := p.SafePoint(); err != nil {
			return err
		}
		if err := r.exchange(world, left, right); err != nil {
			return err
		}
		var change float64
		//intra:section on(p)
		for lo, hi := range intra.Blocks(n, p.Tasks()) {
			change = max(change, diffuse(r.u, r.v, lo+1, hi+1))
		}
		r.u, r.v = r.v, r.u
		if (r.step+1)%1000 == 0 {
			change, err := comm.AllreduceValue(world, change, comm.Max)
			if err != nil {
				return err
			}
			if p.Rank() == 0 {
				fmt.Println("step", r.step+1, "change", change, "at 100:", r.u[100])
			}
		}
	}
	return nil
}

// exchange gets the ghosts from the neighbours. Where there is none, ProcNull does nothing.
func (r *rod) exchange(c *comm.Comm, left, right int) error {
	n := len(r.u) - 2
	if _, err := comm.Sendrecv(c, r.u[n:n+1], right, 0, r.u[:1], left, 0); err != nil {
		return err
	}
	_, err := comm.Sendrecv(c, r.u[1:2], left, 1, r.u[n+1:], right, 1)
	return err
}
