//go:build !intra

package main

//go:generate go tool intragen

// waxpby computes w = alpha·x + beta·y.
func (s *solver) waxpby(alpha float64, x []float64, beta float64, y, w []float64) {
	defer clock(&s.seconds.Waxpby)()
	//intra:section on(s.p)
	for lo, hi := range cut(len(w), s.set.tasks) {
		waxpby(alpha, x[lo:hi], beta, y[lo:hi], w[lo:hi])
	}
}

// dot returns this rank's part of the inner product of x and y.
func (l *level) dot(x, y []float64) (sum float64) {
	//intra:section on(l.p)
	for lo, hi := range cut(len(x), l.tasks) {
		sum += dot(x[lo:hi], y[lo:hi])
	}
	return sum
}

// multiply computes y = A·x.
func (l *level) multiply(x, y []float64) {
	//intra:section on(l.p)
	for lo, hi := range cut(len(y), l.tasks) {
		multiply(l.matrix, lo, x, y[lo:hi])
	}
}

// scale computes d = f·D⁻¹·r.
func (l *level) scale(f float64, r, d []float64) {
	//intra:section on(l.p)
	for lo, hi := range cut(len(d), l.tasks) {
		scale(f, l.inverse[lo:hi], r[lo:hi], d[lo:hi])
	}
}

// residual computes the residual of x.
func (l *level) residual() {
	//intra:section on(l.p)
	for lo, hi := range cut(len(l.r), l.tasks) {
		residual(l.matrix, lo, l.x, l.r[lo:hi], l.rest[lo:hi])
	}
}

// direction computes the direction of the correction of x.
func (l *level) direction(f float64) {
	//intra:section on(l.p)
	for lo, hi := range cut(len(l.r), l.tasks) {
		direction(l.matrix, lo, f, l.inverse[lo:hi], l.x, l.r[lo:hi], l.d[lo:hi])
	}
}

// begin applies the correction to the guess zero.
func (l *level) begin(alpha, beta float64) {
	//intra:section on(l.p)
	for lo, hi := range cut(len(l.r), l.tasks) {
		correct(l.matrix, lo, alpha, beta, l.inverse[lo:hi], l.d, nil, l.x[lo:hi])
	}
}

// correct applies the correction to x.
func (l *level) correct(alpha, beta float64) {
	//intra:section on(l.p)
	for lo, hi := range cut(len(l.r), l.tasks) {
		correct(l.matrix, lo, alpha, beta, l.inverse[lo:hi], l.d, l.x[lo:hi], l.next[lo:hi])
	}
	l.x, l.next = l.next, l.x
}

// restrict computes the right-hand side of the next level from the residual of this one.
func (l *level) restrict(next *level) {
	//intra:section on(l.p)
	for lo, hi := range cut(len(next.r), l.tasks) {
		multiply(l.down, lo, l.rest, next.r[lo:hi])
	}
}

// interpolate adds the solution of the next level.
func (l *level) interpolate(next *level) {
	//intra:section on(l.p)
	for lo, hi := range cut(len(l.r), l.tasks) {
		interpolate(l.up, lo, next.own(next.x), l.x[lo:hi], l.next[lo:hi])
	}
	l.x, l.next = l.next, l.x
}

// countEntries counts the entries of each row of a·b.
func (l *level) countEntries(a, b *sparse, seen, count []int32) {
	//intra:section on(l.p)
	for lo, hi := range cut(len(count), l.tasks) {
		countEntries(a, b, lo, seen, count[lo:hi])
	}
}

// fillEntries computes c = a·b. The number of entries of each row is known.
func (l *level) fillEntries(a, b *sparse, seen []int32, sums []float64, c *sparse) {
	//intra:section on(l.p)
	for lo, hi := range cut(c.rows(), l.tasks) {
		first, end := c.ptr[lo], c.ptr[hi]
		fillEntries(a, b, lo, c.ptr[lo:hi+1], seen, sums, c.col[first:end], c.val[first:end])
	}
}

// fillSmoothed computes c = (I - omega·D⁻¹·F)·t. The number of entries of each row is
// known.
func (l *level) fillSmoothed(near []float64, omega float64, t *sparse, seen []int32, sums []float64, c *sparse) {
	//intra:section on(l.p)
	for lo, hi := range cut(c.rows(), l.tasks) {
		first, end := c.ptr[lo], c.ptr[hi]
		fillSmoothed(l.a, near, omega, t, lo, c.ptr[lo:hi+1], seen, sums, c.col[first:end], c.val[first:end])
	}
}
