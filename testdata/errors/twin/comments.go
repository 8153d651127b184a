//go:build !intra

package twin

import "github.com/intrahpc/intra"

func comments(p *intra.Process, x []float64) {
	//intra:section on(p)
	{
		zero( /* kept */ x)
		(zero)(x[1:]) // kept
		(zero /* lost */)(x[2:])
	}
}
