//go:build !intra

package main

//go:generate go tool intragen

// waxpby computes w = alpha·x + beta·y.
func (s *solver) waxpby(alpha float64, x []float64, beta float64, y, w []float64) {
	defer clock(&s.seconds.Waxpby)()
	//intra:section on(s.p) keep
	for lo, hi := range cut(0, len(w), s.tasks) {
		waxpby(alpha, x[lo:hi], beta, y[lo:hi], w[lo:hi])
	}
}

// dot returns this rank's part of the inner product of x and y.
func (s *solver) dot(x, y []float64) (sum float64) {
	defer clock(&s.seconds.Dot)()
	//intra:section on(s.p) keep
	for lo, hi := range cut(0, len(x), s.tasks) {
		sum += dot(x[lo:hi], y[lo:hi])
	}
	return sum
}

// multiply computes y = A·x.
func (l *level) multiply(x, y []float64) {
	//intra:section on(l.p) keep
	for lo, hi := range cut(0, len(y), l.tasks) {
		multiply(l.matrix, lo, x, y[lo:hi])
	}
}

// sweepFirst solves A·x = r approximately, slab by slab, from the guess 0.
func (l *level) sweepFirst() {
	//intra:section on(l.p) keep
	for lo, hi := range pairs(l.slabs) {
		sweep(l.gs, lo, l.r[lo:hi], l.x[lo:hi])
	}
}

// sweepAgain improves x by another sweep.
func (l *level) sweepAgain() {
	//intra:section on(l.p) keep
	for lo, hi := range pairs(l.slabs) {
		sweepAgain(l.matrix, l.gs, lo, l.r[lo:hi], l.x, l.next[lo:hi])
	}
	l.x, l.next = l.next, l.x
}

// relax improves the points of one colour.
func (l *level) relax(colour int) {
	first, end := l.order.starts[colour], l.order.starts[colour+1]
	//intra:section on(l.p)
	for lo, hi := range cut(first, end, l.tasks) {
		relax(l.matrix, l.diag[lo:hi], lo, l.r[lo:hi], l.x, l.next[lo:hi])
	}
	copy(l.x[first:end], l.next[first:end])
}

// restrict computes the right-hand side of the coarser level.
func (l *level) restrict() {
	c := l.coarse
	//intra:section on(l.p) keep
	for lo, hi := range cut(0, len(l.row), l.tasks) {
		restrict(l.injected, lo, l.x, l.r, l.row[lo:hi], c.r[lo:hi])
	}
}

// prolong adds the solution of the coarser level. It is shared only if the sums stay where
// they are, because sending them would take longer than adding them.
func (l *level) prolong() {
	c := l.coarse
	//intra:section on(l.p) sched(replicate) keep
	for lo, hi := range cut(0, len(l.fine), l.tasks) {
		first, last := int(l.fine[lo]), int(l.fine[hi-1])
		prolong(c.x, l.coarser[lo:hi], l.fine[lo:hi], first, l.x[first:last+1])
	}
}
