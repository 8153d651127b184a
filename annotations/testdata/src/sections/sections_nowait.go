//go:build !intra

package sections

import (
	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
)

type vectors struct {
	p    *intra.Process
	x, y []float64
}

func settled(v *vectors, z []float64) (float64, error) {
	//intra:section on(v.p) nowait
	for lo, hi := range intra.Blocks(len(v.y), 8) {
		addTo(v.x[lo:hi], v.y[lo:hi])
	}
	z[0] = v.x[1] // the tasks read that too
	if err := v.p.Settle(); err != nil {
		return 0, err
	}
	v.x[0] = v.y[0]
	//intra:section on(v.p) nowait
	for lo, hi := range intra.Blocks(len(v.y), 8) {
		addTo(v.x[lo:hi], v.y[lo:hi])
	}
	//intra:section on(v.p)
	for lo, hi := range intra.Blocks(len(z), 8) {
		addTo(v.y[lo:hi], z[lo:hi])
	}
	sum := z[0] + v.y[0]
	//intra:section on(v.p) nowait
	for lo, hi := range intra.Blocks(len(v.y), 8) {
		addTo(v.x[lo:hi], v.y[lo:hi])
	}
	err := comm.Send(v.p.World(), v.y, 1, 1)
	return sum + v.y[1], err
}

func early(v *vectors, z []float64) (sum float64) {
	//intra:section on(v.p) nowait
	for lo, hi := range intra.Blocks(len(v.y), 8) {
		addTo(v.x[lo:hi], v.y[lo:hi])
	}
	sum = v.y[3] // want `v\.y\[3\] is read here, while tasks of the section at line 43, which does not wait, may still be using v\.y; settle them before \(v\.p\.Settle\)`
	for range 3 {
		//intra:section on(v.p) nowait
		for lo, hi := range intra.Blocks(len(v.y), 8) {
			addTo(v.x[lo:hi], v.y[lo:hi])
		}
		if sum > 1 {
			v.x[0]++ // want `v\.x\[0\] is written here`
		}
	}
	for range 3 {
		for _, y := range z { // want `z is read here`
			sum += y
		}
		//intra:section on(v.p) nowait
		for lo, hi := range intra.Blocks(len(z), 8) {
			addTo(v.x[lo:hi], z[lo:hi])
		}
	}
	//intra:section on(v.p) nowait
	for lo, hi := range intra.Blocks(len(z), 8) {
		addTo(v.x[lo:hi], z[lo:hi])
	}
	copy(v.x, z) // want `v\.x is written here`
	return sum
}

func reduced(p *intra.Process, x []float64) (s float64) {
	//intra:section on(p) nowait
	for lo, hi := range intra.Blocks(len(x), 8) {
		s += sum(x[lo:hi]) // want `//intra:section with nowait reduces`
	}
	return s
}
