// Package compile does not compile.
package compile

import "github.com/intrahpc/intra"

//intra:task in(x) out(y)
func scale(x, y []float64) {
	for i := range y {
		y[i] = 2 * x[j]
	}
}

func step(p *intra.Process, x, y []float64) {
	s := p.Section()
	launchScale(s, x, y)
	launchOther(s, x, y)
	s.End()
}
