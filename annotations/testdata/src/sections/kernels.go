package sections // want package:"effects"

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

var scale, offset = 1.0, 0.0

// table is filled by control code, row by row.
var table [8]float64

//intra:task in(x) out(w)
func scaled(x, w []float64) {
	for i := range w {
		w[i] = scaleOf(x[i]) + offset + table[0]
	}
}

func scaleOf(v float64) float64 { return scale * v }

func setScale(v float64) { scale = v }

//intra:task in(x) inout(y)
func addTo(x, y []float64) {
	for i := range y {
		y[i] += x[i]
	}
}
