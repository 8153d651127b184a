// Package twin has section files that cannot be rewritten.
package twin

var intraSourceStep int

//intra:task out(x)
func zero(x []float64) { clear(x) }
