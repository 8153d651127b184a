package conflicts // want package:"effects"

//intra:task in(x) out(y)
func sq(x, y []float64) {
	for i, v := range x {
		y[i] = v * v
	}
}

//intra:task in(before) inout(v)
func scan(before float64, v []float64) {
	for i := range v {
		before += v[i]
		v[i] = before
	}
}

//intra:task in(x, lo, hi) out(y[lo:hi])
func part(x, y []float64, lo, hi int) {
	for i := lo; i < hi; i++ {
		y[i] = x[i]
	}
}

type grid struct {
	n    int
	z, w []float64
}

//intra:task in(g, lo, hi) out(g.z[lo:hi])
func (g *grid) relax(lo, hi int) {
	for i := lo; i < hi; i++ {
		g.z[i] = g.w[i] * float64(g.n)
	}
}

//intra:task in(x) out(v)
func first(x []float64) (v float64) { return x[0] }

//intra:task in(x) out(v)
func firstInto(x []float64, v *float64) { *v = x[0] }

func fill(b []float64, v float64) {
	for i := range b {
		b[i] = v
	}
}

func total(b []float64) (s float64) {
	for _, v := range b {
		s += v
	}
	return
}

//intra:task in(x) out(y)
func Square(x, y []float64) { sq(x, y) }

//intra:task in(f, x) out(y)
func apply(f func(float64) float64, x, y []float64) {
	for i, v := range x {
		y[i] = f(v)
	}
}

var calls int

func counted(x float64) float64 { calls++; return x }

func half(x float64) float64 { return x / 2 }

type meter struct {
	n    int
	unit float64
}

func (m *meter) read(x float64) float64 { m.n++; return x * m.unit }

func (m *meter) scale(x float64) float64 { return x * m.unit }
