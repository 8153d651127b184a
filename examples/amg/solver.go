package main

import (
	"fmt"
	"math"
	"time"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
)

// solver holds the data that the methods have in common, on one rank.
//
//intra:state skip(p, set, hierarchy, method, ones, progress)
type solver struct {
	p         *intra.Process
	set       settings
	hierarchy *hierarchy
	method    method
	ones      []float64 // the right-hand side
	progress  func()

	x       []float64
	history []float64 // norm of the residual at the start, and after each iteration
	seconds seconds
}

// method is a method for the system of equations. An iteration appends to the history.
// After the last one x is the solution.
type method interface{ iterate() error }

// seconds is the time spent in each part, on one replica.
type seconds struct {
	SetUp        float64 `json:"set_up"`   // construction of the levels
	Products     float64 `json:"products"` // part of SetUp: products of sparse matrices
	Solve        float64 `json:"solve"`
	Multiply     float64 `json:"multiply"`
	Precondition float64 `json:"precondition"`
	Waxpby       float64 `json:"waxpby"`
	Dot          float64 `json:"dot"` // with the sum over all ranks
}

// Measured implements intra.Measured.
func (seconds) Measured() {}

// clock starts a stopwatch. The returned function adds the elapsed time to sum.
func clock(sum *float64) func() {
	from := time.Now()
	return func() { *sum += time.Since(from).Seconds() }
}

func newSolver(p *intra.Process, set settings) (*solver, error) {
	s := &solver{p: p, set: set, progress: func() {}}
	of := set.problem()
	was := of
	if intra.Protect(p, "problem", &was); was != of {
		return nil, fmt.Errorf("the saved state is of %+v, not of %+v: go on with the same", was, of)
	}
	from := time.Now()
	b := newBox(set.stencil, set.n, p.Rank(), p.Size())
	n := b.points()
	s.x, s.ones = intra.Alloc[float64](n), intra.Alloc[float64](n)
	for i := range s.ones {
		s.ones[i] = 1
	}
	var err error
	if s.hierarchy, err = newHierarchy(p, set.tasks, b, &s.seconds); err != nil {
		return nil, err
	}
	columns := s.hierarchy.levels[0].a.cols
	if set.method == "gmres" {
		g := newGMRES(s, n)
		g.Protect(p, "gmres")
		s.method = g
	} else {
		c := newPCG(s, n, columns)
		c.Protect(p, "pcg")
		s.method = c
	}
	s.Protect(p, "solver")
	if !p.Restored() {
		s.seconds.SetUp = time.Since(from).Seconds()
		return s, s.begin()
	}
	return s, nil
}

// begin sets x to zero, so that the residual is the right-hand side.
func (s *solver) begin() error {
	_, err := s.measure(s.ones)
	return err
}

// done reports whether the residual is small enough, or the maximum number of iterations is
// reached.
func (s *solver) done() bool {
	return !(s.norm() > s.set.tolerance*s.history[0]) || s.iterations() >= s.set.iterations
}

// iterations returns the number of completed iterations.
func (s *solver) iterations() int { return len(s.history) - 1 }

func (s *solver) norm() float64 { return s.history[len(s.history)-1] }

// run iterates from the beginning, or from the saved state.
func (s *solver) run() error {
	for !s.done() {
		if err := s.p.SafePoint(); err != nil {
			return err
		}
		s.p.Progress(s.iterations(), 0) // the number of iterations is unknown
		if err := s.step(); err != nil {
			return fmt.Errorf("iteration %d: %w", s.iterations()+1, err)
		}
		s.progress()
	}
	return nil
}

func (s *solver) step() error {
	defer clock(&s.seconds.Solve)()
	return s.method.iterate()
}

// precondition solves A·x = r approximately and returns x, with room for the unknowns of
// other ranks.
func (s *solver) precondition(r []float64) ([]float64, error) {
	defer clock(&s.seconds.Precondition)()
	return s.hierarchy.precondition(r)
}

// multiply computes y = A·x. It fills in the elements of x that belong to other ranks.
func (s *solver) multiply(x, y []float64) error {
	defer clock(&s.seconds.Multiply)()
	l := s.hierarchy.levels[0]
	if err := exchange(s.p.World(), l.halo, x); err != nil {
		return err
	}
	l.multiply(x, y)
	return nil
}

// product returns the inner product of x and y over all ranks.
func (s *solver) product(x, y []float64) (float64, error) {
	defer clock(&s.seconds.Dot)()
	sum, err := comm.AllreduceValue(s.p.World(), s.hierarchy.levels[0].dot(x, y), comm.Sum)
	if err != nil {
		return 0, fmt.Errorf("add up an inner product: %w", err)
	}
	return sum, nil
}

// measure appends the norm of a residual to the history, and returns it.
func (s *solver) measure(r []float64) (float64, error) {
	square, err := s.product(r, r)
	s.history = append(s.history, math.Sqrt(square))
	return s.norm(), err
}

// residual returns the norm of the residual, divided by that of the right-hand side.
func (s *solver) residual() (float64, error) {
	l := s.hierarchy.levels[0]
	copy(l.x, s.x)
	if err := s.multiply(l.x, l.rest); err != nil {
		return 0, err
	}
	s.waxpby(1, s.ones, -1, l.rest, l.rest)
	square, err := s.product(l.rest, l.rest)
	return math.Sqrt(square) / s.history[0], err
}
