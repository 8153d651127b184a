//go:build !intra

package taken

import intra "github.com/intrahpc/intra/runtime"

func step(p *intra.Process, x []float64) {
	launchZero := 1
	//intra:section on(p)
	{
		zero(x[launchZero:])
	}
	{
		intra := p
		//intra:section on(p)
		{
			zero( /* here */ x)
		}
		_ = intra
	}
}
