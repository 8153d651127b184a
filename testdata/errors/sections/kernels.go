package sections

//intra:task in(x) out(w)
func copyTo(x, w []float64) { copy(w, x) }

//intra:task in(x) reduce(+: s)
func sum(x []float64) (s float64) {
	for _, v := range x {
		s += v
	}
	return
}

//intra:task in(x) reduce(min: s)
func smallest(x []float64) (s float64) { return x[0] }

//intra:task in(x) out(v)
func first(x []float64) (v float64) { return x[0] }
