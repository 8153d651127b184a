//go:build !intra

package sections

import "github.com/intrahpc/intra"

func setBefore(p *intra.Process, x, w []float64) {
	scale = 2
	//intra:section on(p)
	{
		offset = 1
		table[3] = 2
		scaled(x, w)
		table[4] = 2
	}
	setScale(3)
}

func setWithin(p *intra.Process, x, w []float64) {
	//intra:section on(p)
	for lo, hi := range intra.Blocks(len(w), p.Tasks()) {
		scale = float64(lo) // want `sections.scale is set here, and tasks of kernel scaled read it, which run when the section ends; pass it to scaled as a parameter, or set it before or after the section`
		scaled(x[lo:hi], w[lo:hi])
	}
	//intra:section on(p)
	{
		scaled(x, w)
		offset++    // want `sections.offset is set here, and tasks of kernel scaled read it`
		setScale(4) // want `sections.scale is set here by setScale, and tasks of kernel scaled read it`
	}
}
