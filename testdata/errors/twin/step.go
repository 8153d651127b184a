//go:build !intra

package twin

import "github.com/intrahpc/intra"

func step(p *intra.Process, x []float64) {
	launchZero := 1
	//intra:section on(p)
	{
		zero(x[launchZero:])
	}
	{
		intra := p
		_ = intra
		//intra:section on(intra) sched(static)
		{
			zero(x)
		}
	}
}
