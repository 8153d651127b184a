package main

import (
	"fmt"
	"math"

	"github.com/intrahpc/intra/comm"
)

// The smoother reduces errors that belong to eigenvalues of D⁻¹A from lowest to highest, in
// units of the estimated radius.
const (
	lowest  = 0.3
	highest = 1.1
)

// chebyshev returns the factors of the smoother's polynomial of degree two in D⁻¹A. With d
// = f·D⁻¹·r the correction for a residual r is alpha·d - beta·D⁻¹·A·d.
func chebyshev(radius float64) (f, alpha, beta float64) {
	middle, half := (highest+lowest)/2*radius, (highest-lowest)/2*radius
	sigma := middle / half
	next := 1 / (2*sigma - 1/sigma)
	return 1 / middle, 1 + next/sigma + 2*next*sigma, 2 * next / half
}

// precondition solves A·x = r approximately, for the r and x of the finest level, by one
// V-cycle.
func (h *hierarchy) precondition(r []float64) ([]float64, error) {
	finest := h.levels[0]
	finest.r = r
	err := h.cycle(0)
	return finest.x, err
}

func (h *hierarchy) cycle(k int) error {
	l := h.levels[k]
	if k == h.depth-1 {
		return h.solve(l)
	}
	next := h.levels[k+1]
	f, alpha, beta := chebyshev(l.radius)
	l.scale(f, l.r, l.own(l.d))
	if err := exchange(h.world, l.halo, l.d); err != nil {
		return err
	}
	l.begin(alpha, beta)
	if err := exchange(h.world, l.halo, l.x); err != nil {
		return err
	}
	l.residual()
	l.restrict(next)
	if err := h.cycle(k + 1); err != nil {
		return err
	}
	l.interpolate(next)
	if err := exchange(h.world, l.halo, l.x); err != nil {
		return err
	}
	l.direction(f)
	if err := exchange(h.world, l.halo, l.d); err != nil {
		return err
	}
	l.correct(alpha, beta)
	return nil
}

// factorise prepares the coarsest level, which every rank solves as a whole.
func (h *hierarchy) factorise(a *sparse, ghosts []ghost) error {
	size := h.world.Size()
	counts := make([]int32, size)
	if err := comm.Allgather(h.world, []int32{int32(a.rows())}, counts); err != nil {
		return fmt.Errorf("gather the coarsest level: %w", err)
	}
	h.starts = make([]int32, size+1)
	for rank, n := range counts {
		h.starts[rank+1] = h.starts[rank] + n
	}
	n := int(h.starts[size])
	own := make([]float64, a.rows()*n)
	for i := range a.rows() {
		col, val := a.row(i)
		for k, c := range col {
			at := h.starts[h.p.Rank()] + c
			if int(c) >= a.rows() {
				g := ghosts[int(c)-a.rows()]
				at = h.starts[g.rank] + g.index
			}
			own[i*n+int(at)] = val[k]
		}
	}
	h.factor = make([]float64, n*n)
	if err := comm.Allgatherv(h.world, own, h.parts(h.factor, n)); err != nil {
		return fmt.Errorf("gather the coarsest level: %w", err)
	}
	return cholesky(h.factor, n)
}

// parts divides a vector of the coarsest level, with each numbers per unknown, into the
// parts of the ranks.
func (h *hierarchy) parts(x []float64, each int) (all [][]float64) {
	for rank, end := range h.starts[1:] {
		all = append(all, x[int(h.starts[rank])*each:int(end)*each])
	}
	return all
}

// solve solves A·x = r on the coarsest level.
func (h *hierarchy) solve(l *level) error {
	all := make([]float64, h.starts[len(h.starts)-1])
	parts := h.parts(all, 1)
	if err := comm.Allgatherv(h.world, l.r, parts); err != nil {
		return fmt.Errorf("gather the right-hand side of the coarsest level: %w", err)
	}
	substitute(h.factor, all)
	copy(l.x, parts[h.p.Rank()])
	return nil
}

// cholesky replaces the lower half of a matrix of n rows by the factor L of A = L·Lᵀ.
func cholesky(a []float64, n int) error {
	for j := range n {
		for i := j; i < n; i++ {
			sum := a[i*n+j]
			for k := range j {
				sum -= float64(a[i*n+k] * a[j*n+k])
			}
			if i > j {
				a[i*n+j] = sum / a[j*n+j]
				continue
			}
			if !(sum > 0) {
				return fmt.Errorf("the matrix of the coarsest level is not positive definite (pivot %d of %d is %g)", j, n, sum)
			}
			a[j*n+j] = math.Sqrt(sum)
		}
	}
	return nil
}

// substitute solves L·Lᵀ·x = b, where x holds b before.
func substitute(l, x []float64) {
	n := len(x)
	for i := range n {
		for k := range i {
			x[i] -= float64(l[i*n+k] * x[k])
		}
		x[i] /= l[i*n+i]
	}
	for i := n - 1; i >= 0; i-- {
		for k := i + 1; k < n; k++ {
			x[i] -= float64(l[k*n+i] * x[k])
		}
		x[i] /= l[i*n+i]
	}
}
