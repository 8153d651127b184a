package main

import (
	intra "github.com/intrahpc/intra/runtime"
)

// waxpby computes w = alpha·x + beta·y, shared.
func (s *solver) waxpby(alpha float64, x []float64, beta float64, y, w []float64) {
	defer s.clock(&s.seconds.Waxpby)()
	sec := s.p.Section()
	for lo, hi := range intra.Blocks(len(w), s.tasks) {
		launchWaxpby(sec, s.how, alpha, x[lo:hi], beta, y[lo:hi], w[lo:hi])
	}
	sec.MustEnd()
}

// ddot returns the part of this rank of the inner product of x and y, shared.
func (s *solver) ddot(x, y []float64) (sum float64) {
	defer s.clock(&s.seconds.Ddot)()
	sec := s.p.Section()
	for lo, hi := range intra.Blocks(len(x), s.tasks) {
		launchDdot(sec, s.how, x[lo:hi], y[lo:hi], &sum)
	}
	sec.MustEnd()
	return sum
}

// sparsemv computes y = A·x, shared.
func (s *solver) sparsemv(x, y []float64) {
	defer s.clock(&s.seconds.Sparsemv)()
	sec := s.p.Section()
	for lo, hi := range intra.Blocks(len(y), s.tasks) {
		launchSparsemv(sec, s.a, lo, x, y[lo:hi])
	}
	sec.MustEnd()
}
