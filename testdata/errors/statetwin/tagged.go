//go:build !intra

package statetwin

//intra:state
type tagged struct{ x []float64 }
