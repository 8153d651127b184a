//go:build !intra

package twin

import intra "github.com/intrahpc/intra/runtime"

//line other.go:10
func lines(p *intra.Process, x []float64) {
	//intra:section on(p)
	{
		zero(x)
	}
}
