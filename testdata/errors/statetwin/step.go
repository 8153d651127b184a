//go:build !intra

package statetwin

import "github.com/intrahpc/intra"

//intra:state
type both struct{ x []float64 }

func step(p *intra.Process, b *both) {
	//intra:section on(p)
	for i := range b.x {
		zero(b.x[i : i+1])
	}
}
