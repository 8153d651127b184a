// Package taken has names that generated code needs.
package taken

type ions struct{ psi []float64 }

//intra:task in(i) out(i.psi)
func (i *ions) push() { clear(i.psi) }

//intra:task out(x)
func ionsPush(x []float64) { clear(x) }

//intra:task out(x)
func fill(x []float64) { clear(x) }

func taskFill() {}

//intra:task out(x)
func zero(x []float64) { clear(x) }
