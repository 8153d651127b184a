package wrong

//intra:task in(x, lo, hi) out(y[lo:hi-1])
func lastLeftOut(x, y []float64, lo, hi int) {
	for i := lo; i < hi; i++ {
		y[i] = 2 * x[i] // want `task lastLeftOut writes y\[i\], that is y\[lo:hi\], but its clause is out\(y\[lo:hi-1\]\); name what it uses, or keep to the block`
	}
}

//intra:task in(lo, hi) inout(y[lo:hi])
func neighbour(y []float64, lo, hi int) {
	for i := lo; i <= hi-1; i++ {
		y[i] += y[i+1] // want `task neighbour reads y\[i \+ 1\], that is y\[lo\+1:hi\+1\], but its clause is inout\(y\[lo:hi\]\)`
	}
}

//intra:task in(lo, n) inout(y[lo:lo+n])
func before(y []float64, lo, n int) {
	w := y[lo : lo+n]
	for i := range w {
		w[i]++
	}
	y[lo-1] = 0 // want `task before writes y\[lo - 1\], that is y\[lo-1:lo\], but its clause is inout\(y\[lo:lo\+n\]\)`
}

type plane struct{ z []float64 }

//intra:task in(p, lo, hi) out(p.z[lo:hi])
func (p *plane) shifted(lo, hi int) {
	n := hi - lo
	for i := range n {
		p.z[lo+i+1] = 1 // want `task shifted writes p.z\[lo \+ i \+ 1\], that is p.z\[lo\+1:hi\+1\], but its clause is out\(p.z\[lo:hi\]\)`
	}
}

//intra:task in(x[1:len(x)-1]) out(w)
func halo(x, w []float64) {
	for i := range x {
		w[i] = x[i] // want `task halo reads x\[i\], that is x\[0:len\(x\)\], but its clause is in\(x\[1:len\(x\)-1\]\)`
	}
}
