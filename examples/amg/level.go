package main

import (
	"fmt"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/kernels"
)

// level is one of the levels of the multigrid method on one rank.
//
//intra:state skip(p, tasks, seconds, matrix, up, down, inverse, r, d, x, next, rest)
type level struct {
	p       *intra.Process
	tasks   int
	seconds *seconds

	a             *sparse
	interpolation *sparse // interpolation from the next level, if there is one
	halo          *halo
	radius        float64 // spectral radius of D⁻¹A, slightly underestimated

	matrix   kernels.Matrix[float64] // a, in the form whose products are fastest
	up, down kernels.Matrix[float64] // interpolation, and restriction, which is its transpose
	inverse  []float64               // of the diagonal

	// The vectors of the V-cycle. The last elements of d, x and next belong to other ranks.
	r       []float64 // right-hand side
	x, next []float64 // solution, before and after a correction
	d       []float64 // direction of a correction
	rest    []float64 // residual
}

// ready computes everything that follows from the matrix.
func (l *level) ready() error {
	var err error
	if l.matrix, err = l.a.matrix(); err != nil {
		return err
	}
	if l.inverse, err = l.a.inverseDiagonal(); err != nil {
		return err
	}
	n := l.a.rows()
	l.r, l.rest = intra.Alloc[float64](n), intra.Alloc[float64](n)
	for _, v := range []*[]float64{&l.d, &l.x, &l.next} {
		*v = intra.Alloc[float64](l.a.cols)
	}
	if len(l.interpolation.ptr) > 0 {
		return l.connect(l.interpolation.transposed())
	}
	return nil
}

// connect sets the operators to and from the next level.
func (l *level) connect(restriction *sparse) error {
	var err error
	if l.up, err = l.interpolation.matrix(); err != nil {
		return fmt.Errorf("interpolation: %w", err)
	}
	if l.down, err = restriction.matrix(); err != nil {
		return fmt.Errorf("restriction: %w", err)
	}
	return nil
}

// own returns the elements of a vector that belong to this rank.
func (l *level) own(x []float64) []float64 { return x[:l.a.rows()] }

// product returns a·b.
func (l *level) product(a, b *sparse) *sparse {
	return l.fill(a, b, func(seen []int32, sums []float64, c *sparse) { l.fillEntries(a, b, seen, sums, c) })
}

// smoothed returns (I - omega·D⁻¹·F)·t, with D and F as in damped.
func (l *level) smoothed(near []float64, omega float64, t *sparse) *sparse {
	return l.fill(l.a, t, func(seen []int32, sums []float64, c *sparse) { l.fillSmoothed(near, omega, t, seen, sums, c) })
}

// fill returns a matrix with the entries of a·b. Tasks first count the entries, and then
// compute them.
func (l *level) fill(a, b *sparse, entries func(seen []int32, sums []float64, c *sparse)) *sparse {
	defer clock(&l.seconds.Products)()
	c := &sparse{cols: b.cols, ptr: make([]int64, a.rows()+1)}
	count, seen := intra.Alloc[int32](a.rows()), make([]int32, b.cols)
	l.countEntries(a, b, seen, count)
	for i, n := range count {
		c.ptr[i+1] = c.ptr[i] + int64(n)
	}
	n := int(c.ptr[a.rows()])
	c.col, c.val = intra.Alloc[int32](n), intra.Alloc[float64](n)
	entries(seen, make([]float64, b.cols), c)
	return c
}
