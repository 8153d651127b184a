package good

const ghost = 1

//intra:task in(x[lo-1:hi+1], lo, hi) out(y[lo:hi])
func stencil(x, y []float64, lo, hi int) {
	for i := lo; i < hi; i++ {
		y[i] = x[i-1] + x[i+ghost]
	}
}

//intra:task in(x, lo, hi) out(y[lo:hi])
func inner(x, y []float64, lo, hi int) {
	for i := lo; i < hi; i++ {
		if i == 0 {
			continue
		}
		y[i] = x[i-1]
	}
}

//intra:task in(lo, hi) inout(y[lo:hi])
func guarded(y []float64, lo, hi int) {
	for i := lo; i < hi; i++ {
		if i+1 < hi {
			y[i] += y[i+1]
		}
		last := i+1 < hi && y[i+1] > 0
		if last {
			y[i]++
		}
	}
}

//intra:task in(lo, hi) inout(y[lo:hi])
func moved(y []float64, lo, hi int) {
	lo, hi = lo+1, hi-1
	for i := lo - 1; i < hi+1; i++ {
		y[i]++
	}
}

//intra:task in(lo, hi, n) out(y[lo*n:hi*n])
func grid(y []float64, lo, hi, n int) {
	for i := lo; i < hi; i++ {
		for j := range n {
			y[i*n+j] = 1
		}
	}
}

//intra:task in(lo, hi) out(y[lo:hi])
func parts(y []float64, lo, hi int) {
	mid := (lo + hi) / 2
	for i := lo; i < mid; i++ {
		y[i] = 1
	}
	for k := range y[mid:hi] {
		y[mid+k] = 2
	}
	w := y[lo:hi]
	w[len(w)-1] = 3
}
