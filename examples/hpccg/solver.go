package main

import (
	"fmt"
	"math"
	"time"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/kernels"
	intra "github.com/intrahpc/intra/runtime"
)

// solver is the state of the method of conjugate gradients on one rank.
type solver struct {
	p     *intra.Process
	box   box
	tasks int
	how   arithmetic

	a        *kernels.Sliced[float64]
	b, x     []float64 // right-hand side, solution
	r, p2    []float64 // residual, direction with the neighbours' planes
	ap       []float64
	arrived  [][]float64
	seconds  seconds
	progress func(pass int, residual float64)
}

// seconds is the time spent in each part, on one replica.
type seconds struct {
	Total     float64 `json:"total"`
	Waxpby    float64 `json:"waxpby"`
	Ddot      float64 `json:"ddot"`
	Sparsemv  float64 `json:"sparsemv"`
	Exchange  float64 `json:"exchange"`
	Allreduce float64 `json:"allreduce"`
}

// clock starts a stop-watch; calling what it returns adds the time to sum.
func (s *solver) clock(sum *float64) func() {
	from := time.Now()
	return func() { *sum += time.Since(from).Seconds() }
}

func newSolver(p *intra.Process, b box, tasks int, how arithmetic) (*solver, error) {
	s := &solver{p: p, box: b, tasks: tasks, how: how, progress: func(int, float64) {}}
	var err error
	if s.a, s.b, err = b.generate(); err != nil {
		return nil, fmt.Errorf("generate the matrix: %w", err)
	}
	n := b.rows()
	s.x, s.r, s.ap = kernels.Alloc[float64](n), kernels.Alloc[float64](n), kernels.Alloc[float64](n)
	s.p2 = kernels.Alloc[float64](b.cols())
	s.arrived = [][]float64{make([]float64, b.plane()), make([]float64, b.plane())}
	return s, nil
}

// dot returns the inner product of x and y over all ranks.
func (s *solver) dot(x, y []float64) (float64, error) {
	local := s.ddot(x, y)
	defer s.clock(&s.seconds.Allreduce)()
	sum, err := comm.AllreduceValue(s.p.World(), local, comm.Sum)
	if err != nil {
		return 0, fmt.Errorf("add up an inner product: %w", err)
	}
	return sum, nil
}

// multiply computes ap = A·p2 with the neighbours' planes of p2.
func (s *solver) multiply() error {
	done := s.clock(&s.seconds.Exchange)
	err := s.box.exchange(s.p.World(), s.p2, s.arrived)
	done()
	if err != nil {
		return err
	}
	s.sparsemv(s.p2, s.ap)
	return nil
}

// solve runs the passes of the original: at most maxIter-1, and none after
// the residual norm has been found not above the tolerance. It returns the
// norm as tested at the start of each pass, and the first one.
func (s *solver) solve(maxIter int, tolerance float64) (history []float64, first float64, err error) {
	defer s.clock(&s.seconds.Total)()
	n := s.box.rows()
	dir := s.p2[:n]
	s.waxpby(1, s.x, 0, s.x, dir)
	if err := s.multiply(); err != nil {
		return nil, 0, err
	}
	s.waxpby(1, s.b, -1, s.ap, s.r)
	rho, err := s.dot(s.r, s.r)
	if err != nil {
		return nil, 0, err
	}
	norm := math.Sqrt(rho)
	first = norm
	for k := 1; k < maxIter && norm > tolerance; k++ {
		if k == 1 {
			s.waxpby(1, s.r, 0, s.r, dir)
		} else {
			old := rho
			if rho, err = s.dot(s.r, s.r); err != nil {
				return nil, 0, err
			}
			s.waxpby(1, s.r, rho/old, dir, dir)
		}
		norm = math.Sqrt(rho)
		history = append(history, norm)
		s.progress(k, norm)
		if err := s.multiply(); err != nil {
			return nil, 0, err
		}
		pap, err := s.dot(dir, s.ap)
		if err != nil {
			return nil, 0, err
		}
		alpha := rho / pap
		s.waxpby(1, s.x, alpha, dir, s.x)
		s.waxpby(1, s.r, -alpha, s.ap, s.r)
	}
	return history, first, nil
}

// largestError returns the largest distance of an element of x from 1 over
// all ranks; a NaN anywhere is the result.
func (s *solver) largestError() (float64, error) {
	worst := 0.0
	for _, v := range s.x {
		worst = larger(worst, math.Abs(v-1))
	}
	return comm.AllreduceValue(s.p.World(), worst, larger)
}

func larger(a, b float64) float64 {
	if math.IsNaN(a) || a > b {
		return a
	}
	return b
}
