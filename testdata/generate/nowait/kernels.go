// Package nowait has sections without waiting.
package nowait

//go:generate go tool intragen

// add adds f·x to y.
//
//intra:task in(f, x) inout(y)
func add(f float64, x, y []float64) {
	for i := range y {
		y[i] += float64(f * x[i])
	}
}

// turn copies x to y, one element further.
//
//intra:task in(x, lo) out(y)
func turn(x, y []float64, lo int) {
	for i := range y {
		y[i] = x[(lo+i+1)%len(x)]
	}
}
