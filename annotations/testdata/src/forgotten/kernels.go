package forgotten // want package:"effects"

//intra:task in(a, x) out(y)
func scale(a float64, x, y []float64) {
	for i := range y {
		y[i] = a * x[i]
	}
}

//intra:task in(x) reduce(+: sum)
func total(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}

//intra:task in(g, lo, hi) out(g.z[lo:hi])
func (g *grid) relax(lo, hi int) {
	for i := lo; i < hi; i++ {
		g.z[i] = g.x[i]
	}
}

//intra:task in(lo) out(ends[lo:lo+1])
func end(ends []float64, lo int) { ends[lo] = 1 }

type grid struct{ x, z []float64 }
