package possible // want package:"effects"

//intra:task in(f, y) // want `kernel value: 2 accesses are possible that would be errors: task value may write . through the function value f at possible.go:5, into which the analysis does not look, but . is in in \(possible.go:5\); task value may write . through the function value .*; run with -check to see whether they happen`
func value(f func([]float64), y []float64) {
	f(y)
}

//intra:task in(x, dirty) out(y)
func copied(x, y []float64, dirty bool) {
	b := x
	if dirty {
		b = y
	}
	b[0] = 1 // want `task copied may write x where the analysis cannot tell what is accessed, but x is in in; run with -check`
}

//intra:task in(f, a, b, c, d) // want `kernel many: 5 accesses are possible that would be errors: .* \(possible.go:19\); .* \(possible.go:19\); .* \(possible.go:19\); and 2 more; run with -check`
func many(f func(a, b, c, d []float64), a, b, c, d []float64) {
	f(a, b, c, d)
}

// The call of an iterator has no position of its own in the source: that of the loop counts.
//
//intra:task in(pairs, x) inout(y) // want `task iterated may write x through the function value of type .* at possible.go:26, into which the analysis does not look, but x is in in \(possible.go:26\)`
func iterated(pairs func(x, y []float64) func(func(*float64, float64) bool), x, y []float64) {
	for to, v := range pairs(x, y) {
		*to += v
	}
}
