package main

import (
	"fmt"
	"math"
	"time"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
)

// solver is the method of conjugate gradients on one rank. The operator changes
// from one stage of the benchmark to the next.
//
//intra:state skip(p, tasks, op, ap, progress)
type solver struct {
	p     *intra.Process
	tasks int
	op    *operator

	x, r      []float64 // solution, residual
	direction []float64 // with the elements of the neighbours' points
	ap        []float64
	progress  func(iteration int, residual float64)

	began   bool
	rtz     float64   // r·z of the previous iteration
	norm    float64   // norm of the residual
	history []float64 // norm at the start, and after each iteration
	seconds seconds
}

// seconds is the time spent in each part, on one replica.
type seconds struct {
	Total     float64 `json:"total"`
	Dot       float64 `json:"ddot"`
	Waxpby    float64 `json:"waxpby"`
	Multiply  float64 `json:"spmv"`
	Multigrid float64 `json:"mg"`
	Allreduce float64 `json:"allreduce"`
}

// Measured implements intra.Measured.
func (seconds) Measured() {}

func (s *seconds) add(o seconds) {
	s.Total += o.Total
	s.Dot += o.Dot
	s.Waxpby += o.Waxpby
	s.Multiply += o.Multiply
	s.Multigrid += o.Multigrid
	s.Allreduce += o.Allreduce
}

// clock starts a stopwatch. The returned function adds the elapsed time to sum.
func clock(sum *float64) func() {
	from := time.Now()
	return func() { *sum += time.Since(from).Seconds() }
}

func newSolver(p *intra.Process, b box, tasks int, finest *vectors) *solver {
	n := b.points()
	return &solver{p: p, tasks: tasks, progress: func(int, float64) {}, x: intra.Alloc[float64](n),
		r: finest.r, direction: intra.Alloc[float64](len(finest.x)), ap: intra.Alloc[float64](n)}
}

// aim is the goal of a run of the solver.
type aim struct {
	preconditioned bool
	most           int     // maximum number of iterations
	reduction      float64 // ratio of residual norms at which the run ends; 0: none
}

// solve runs iterations, from x = 0 or from the saved state.
func (s *solver) solve(a aim) error {
	if !s.began {
		if err := s.begin(); err != nil {
			return err
		}
	}
	for s.iterations() < a.most && s.norm > a.reduction*s.history[0] {
		if err := s.p.SafePoint(); err != nil {
			return err
		}
		s.p.Progress(s.iterations(), a.most)
		if err := s.iterate(a.preconditioned); err != nil {
			return fmt.Errorf("iteration %d: %w", s.iterations()+1, err)
		}
		s.progress(s.iterations(), s.residual())
	}
	return nil
}

// iterations returns the number of completed iterations.
func (s *solver) iterations() int { return len(s.history) - 1 }

// residual returns the norm of the residual, divided by that at the start.
func (s *solver) residual() float64 { return s.norm / s.history[0] }

// reset makes the solver start from the beginning.
func (s *solver) reset() { s.began, s.history, s.seconds = false, nil, seconds{} }

func (s *solver) begin() error {
	if err := s.gather(); err != nil {
		return err
	}
	defer clock(&s.seconds.Total)()
	if err := intra.Fetch(s.p, s.x, s.direction); err != nil {
		return err
	}
	clear(s.x)
	clear(s.direction)
	if err := s.multiply(s.direction, s.ap); err != nil {
		return err
	}
	s.waxpby(1, s.op.b, -1, s.ap, s.r)
	s.began = true
	return s.measure()
}

// gather waits for all processes: first for the replicas of the rank, in an empty section,
// and then for all ranks. So no time of the solver includes the set-up of another process's
// matrix.
func (s *solver) gather() error {
	if err := s.p.Section().End(); err != nil {
		return err
	}
	return s.p.World().Barrier()
}

// iterate carries out one iteration.
func (s *solver) iterate(preconditioned bool) error {
	defer clock(&s.seconds.Total)()
	z := s.r
	if preconditioned {
		if err := s.precondition(); err != nil {
			return err
		}
		z = s.op.x[:len(s.r)]
	}
	before := s.rtz
	var err error
	if s.rtz, err = s.product(s.r, z); err != nil {
		return err
	}
	beta := 0.0
	if s.iterations() > 0 {
		beta = s.rtz / before
	}
	own := s.direction[:len(s.r)]
	s.waxpby(1, z, beta, own, own)
	if err := s.multiply(s.direction, s.ap); err != nil {
		return err
	}
	pap, err := s.product(own, s.ap)
	if err != nil {
		return err
	}
	alpha := s.rtz / pap
	s.waxpby(1, s.x, alpha, own, s.x)
	s.waxpby(1, s.r, -alpha, s.ap, s.r)
	return s.measure()
}

// precondition solves A·x = r approximately, for the x of the operator.
func (s *solver) precondition() error {
	defer clock(&s.seconds.Multigrid)()
	s.op.r = s.r
	return s.op.precondition()
}

// multiply computes y = A·x. It fills in the neighbours' points of x.
func (s *solver) multiply(x, y []float64) error {
	defer clock(&s.seconds.Multiply)()
	if err := s.op.halo.exchange(s.p, x); err != nil {
		return err
	}
	s.op.multiply(x, y)
	return nil
}

// product returns the inner product of x and y over all ranks.
func (s *solver) product(x, y []float64) (float64, error) {
	local := s.dot(x, y)
	defer clock(&s.seconds.Allreduce)()
	sum, err := comm.AllreduceValue(s.p.World(), local, comm.Sum)
	if err != nil {
		return 0, fmt.Errorf("add up an inner product: %w", err)
	}
	return sum, nil
}

// measure appends the norm of the residual to the history.
func (s *solver) measure() error {
	square, err := s.product(s.r, s.r)
	if err != nil {
		return err
	}
	s.norm = math.Sqrt(square)
	s.history = append(s.history, s.norm)
	return nil
}
