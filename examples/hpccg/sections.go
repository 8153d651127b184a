//go:build !intra

package main

import (
	"github.com/intrahpc/intra"
)

//go:generate go tool intragen

// waxpby computes w = alpha·x + beta·y.
func (s *solver) waxpby(alpha float64, x []float64, beta float64, y, w []float64) {
	defer s.clock(&s.seconds.Waxpby)()
	//intra:section on(s.p) keep
	for lo, hi := range intra.Blocks(len(w), s.tasks) {
		waxpby(s.how, alpha, x[lo:hi], beta, y[lo:hi], w[lo:hi])
	}
}

// ddot returns this rank's part of the inner product of x and y.
func (s *solver) ddot(x, y []float64) (sum float64) {
	defer s.clock(&s.seconds.Ddot)()
	//intra:section on(s.p) keep
	for lo, hi := range intra.Blocks(len(x), s.tasks) {
		sum += ddot(s.how, x[lo:hi], y[lo:hi])
	}
	return sum
}

// sparsemv computes y = A·x.
func (s *solver) sparsemv(x, y []float64) {
	defer s.clock(&s.seconds.Sparsemv)()
	//intra:section on(s.p) keep
	for lo, hi := range intra.Blocks(len(y), s.tasks) {
		sparsemv(s.a, lo, x, y[lo:hi])
	}
}

// waxpbyDot computes w = alpha·x + beta·y and returns this rank's part of the inner product
// of w with itself.
func (s *solver) waxpbyDot(alpha float64, x []float64, beta float64, y, w []float64) (sum float64) {
	defer s.clock(&s.seconds.Waxpby)()
	//intra:section on(s.p) keep
	for lo, hi := range intra.Blocks(len(w), s.tasks) {
		sum += waxpbyDot(s.how, alpha, x[lo:hi], beta, y[lo:hi], w[lo:hi])
	}
	return sum
}

// sparsemvDot computes y = A·x and returns this rank's part of the inner product of x and
// y.
func (s *solver) sparsemvDot(x, y []float64) (sum float64) {
	defer s.clock(&s.seconds.Sparsemv)()
	//intra:section on(s.p) keep
	for lo, hi := range intra.Blocks(len(y), s.tasks) {
		sum += sparsemvDot(s.how, s.a, lo, s.box.first(), x, y[lo:hi])
	}
	return sum
}
