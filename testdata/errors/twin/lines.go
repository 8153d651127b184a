//go:build !intra

package twin

import "github.com/intrahpc/intra"

//line other.go:10
func lines(p *intra.Process, x []float64) {
	//intra:section on(p)
	{
		zero(x)
	}
}
