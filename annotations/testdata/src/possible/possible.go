package possible // want package:"effects"

//intra:task in(f, y)
func value(f func([]float64), y []float64) {
	f(y) // want `task value may write y through the function value f at possible.go:5, into which the analysis does not look, but y is in in; run with -check` `task value may write f through`
}

//intra:task in(x, dirty) out(y)
func copied(x, y []float64, dirty bool) {
	b := x
	if dirty {
		b = y
	}
	b[0] = 1 // want `task copied may write x where the analysis cannot tell what is accessed, but x is in in; run with -check`
}
