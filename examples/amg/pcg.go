package main

import "github.com/intrahpc/intra"

// pcg is the method of conjugate gradients with a preconditioner.
//
//intra:state skip(s, ap)
type pcg struct {
	s         *solver
	r         []float64 // residual
	direction []float64 // with the elements of other ranks
	ap        []float64
	rtz       float64 // r·z of the previous iteration
}

func newPCG(s *solver, n, columns int) *pcg {
	c := &pcg{s: s, r: intra.Alloc[float64](n), direction: intra.Alloc[float64](columns), ap: intra.Alloc[float64](n)}
	copy(c.r, s.ones)
	return c
}

func (c *pcg) iterate() error {
	s, own := c.s, c.direction[:len(c.r)]
	z, err := s.precondition(c.r)
	if err != nil {
		return err
	}
	z = z[:len(c.r)]
	before := c.rtz
	if c.rtz, err = s.product(c.r, z); err != nil {
		return err
	}
	beta := 0.0
	if s.iterations() > 0 {
		beta = c.rtz / before
	}
	s.waxpby(1, z, beta, own, own)
	if err := s.multiply(c.direction, c.ap); err != nil {
		return err
	}
	pap, err := s.product(own, c.ap)
	if err != nil {
		return err
	}
	alpha := c.rtz / pap
	s.waxpby(1, s.x, alpha, own, s.x)
	s.waxpby(1, c.r, -alpha, c.ap, c.r)
	_, err = s.measure(c.r)
	return err
}
