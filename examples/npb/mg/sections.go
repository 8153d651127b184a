//go:build !intra

package main

import (
	"iter"

	"github.com/intrahpc/intra"
)

//go:generate go tool intragen

// leastPoints is the minimum number of points for which a task is worthwhile.
const leastPoints = 4096

// cut divides n planes into tasks.
func (l *level) cut(n int) iter.Seq2[int, int] {
	return intra.Blocks(n, max(1, min(l.tasks, l.shape.inside()/leastPoints)))
}

// subtract sets r = v - A·u inside the box.
func (l *level) subtract() {
	s, plane := l.shape, l.shape.plane()
	//intra:section on(l.p)
	for lo, hi := range l.cut(s.nz) {
		subtract(l.u, l.v, s, lo+1, l.r[(lo+1)*plane:(hi+1)*plane])
	}
}

// addSmoothed adds a smoothed residual to u.
func (l *level) addSmoothed(r []float64) {
	s, plane := l.shape, l.shape.plane()
	//intra:section on(l.p)
	for lo, hi := range l.cut(s.nz) {
		smooth(r, l.smoother, s, lo+1, l.u[(lo+1)*plane:(hi+1)*plane])
	}
}

// restrictTo sets the right-hand side of the coarser level.
func (l *level) restrictTo(residual []float64, c *level) {
	s, coarser, plane := l.shape, c.shape, c.shape.plane()
	//intra:section on(l.p)
	for lo, hi := range l.cut(coarser.nz) {
		restrict(residual, s, coarser, lo+1, c.v[(lo+1)*plane:(hi+1)*plane])
	}
}

// interpolateFrom sets u to the solution of the coarser level.
func (l *level) interpolateFrom(c *level) {
	s, coarser, planes := l.shape, c.shape, 2*l.shape.plane()
	//intra:section on(l.p)
	for lo, hi := range l.cut(coarser.nz + 1) {
		interpolate(c.u, coarser, s, lo, l.u[lo*planes:hi*planes])
	}
}

// addInterpolated adds the solution of the coarser level to u.
func (l *level) addInterpolated(c *level) {
	s, coarser, planes := l.shape, c.shape, 2*l.shape.plane()
	//intra:section on(l.p)
	for lo, hi := range l.cut(coarser.nz + 1) {
		addInterpolated(c.u, coarser, s, lo, l.u[lo*planes:hi*planes])
	}
}

// square returns the sum of the squares of the residual.
func (l *level) square() (sum float64) {
	//intra:section on(l.p)
	for lo, hi := range l.cut(l.shape.nz) {
		sum += square(l.r, l.shape, lo+1, hi+1)
	}
	return sum
}
