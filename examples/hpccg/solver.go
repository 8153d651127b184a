package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/kernels"
)

// solver is the method of conjugate gradients on one rank. A process that continues from
// saved state builds the matrix and the right-hand side again. The other skipped fields
// have no meaning between two passes.
//
//intra:state skip(p, box, tasks, how, fused, a, b, ap, arrived, progress, out)
type solver struct {
	p     *intra.Process
	box   box
	tasks int
	how   arithmetic
	fused bool // inner products are computed in the tasks that write their vectors

	a        kernels.Matrix[float64]
	b, x     []float64 // right-hand side, solution
	r, p2    []float64 // residual, and direction with the neighbours' planes
	ap       []float64
	arrived  [][]float64
	progress func(pass int, residual float64)
	out      *output

	pass    int       // number of the next pass, from 1
	rho     float64   // r·r of the previous pass, or at the start
	next    float64   // current r·r, if fused
	norm    float64   // square root of r·r
	first   float64   // norm at the start
	history []float64 // norm in the test of each pass
	seconds seconds
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

// Measured implements intra.Measured.
func (seconds) Measured() {}

// write writes the times of a process to its own file, unless dir is "". The times of
// replicas differ: a replica that lags behind gets more results from its peers.
func (s *seconds) write(dir string, p *intra.Process) error {
	if dir == "" {
		return nil
	}
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.%d.json", p.Rank(), p.Replica())), b, 0o666)
}

// clock starts a stopwatch. The returned function adds the elapsed time to sum.
func (s *solver) clock(sum *float64) func() {
	from := time.Now()
	return func() { *sum += time.Since(from).Seconds() }
}

func newSolver(p *intra.Process, b box, set settings) (*solver, error) {
	s := &solver{p: p, box: b, tasks: set.tasks, how: set.how, fused: set.fused, progress: func(int, float64) {}, out: &output{p: p}}
	var err error
	if s.a, s.b, err = b.generate(set.format); err != nil {
		return nil, fmt.Errorf("generate the matrix: %w", err)
	}
	n := b.rows()
	s.x, s.r, s.ap = intra.Alloc[float64](n), intra.Alloc[float64](n), intra.Alloc[float64](n)
	s.p2 = intra.Alloc[float64](b.cols())
	s.arrived = [][]float64{make([]float64, b.plane()), make([]float64, b.plane())}
	s.Protect(p, "cg")
	of := [7]int{b.nx, b.ny, b.nz, s.tasks, int(s.how), 0, b.first()} // the last one shows where p2 has the rank's own points
	if s.fused {
		of[5] = 1
	}
	was := of
	if intra.Protect(p, "problem", &was); was != of {
		return nil, fmt.Errorf("the saved state is of -nx %d -ny %d -nz %d -tasks %d, arithmetic %d, fused %d; go on with the same", was[0], was[1], was[2], was[3], was[4], was[5])
	}
	return s, nil
}

// dot returns the inner product of x and y over all ranks.
func (s *solver) dot(x, y []float64) (float64, error) { return s.total(s.ddot(x, y)) }

// total adds the parts of all ranks of an inner product.
func (s *solver) total(local float64) (float64, error) {
	defer s.clock(&s.seconds.Allreduce)()
	sum, err := comm.AllreduceValue(s.p.World(), local, comm.Sum)
	if err != nil {
		return 0, fmt.Errorf("add up an inner product: %w", err)
	}
	return sum, nil
}

// multiply computes ap = A·p2. It fills in the neighbours' planes of p2.
func (s *solver) multiply() error {
	if err := s.exchange(); err != nil {
		return err
	}
	s.sparsemv(s.p2, s.ap)
	return nil
}

// exchange receives the neighbours' planes of p2.
func (s *solver) exchange() error {
	defer s.clock(&s.seconds.Exchange)()
	return s.box.exchange(s.p.World(), s.p2, s.arrived)
}

// curvature computes ap = A·p2 and returns the inner product of both.
func (s *solver) curvature() (float64, error) {
	if !s.fused {
		if err := s.multiply(); err != nil {
			return 0, err
		}
		return s.dot(s.direction(), s.ap)
	}
	if err := s.exchange(); err != nil {
		return 0, err
	}
	return s.total(s.sparsemvDot(s.p2, s.ap))
}

// square returns r·r.
func (s *solver) square() (float64, error) {
	if s.fused {
		return s.next, nil // computed by reduce
	}
	return s.dot(s.r, s.r)
}

// reduce sets r = r - alpha·ap.
func (s *solver) reduce(alpha float64) (err error) {
	if !s.fused {
		s.waxpby(1, s.r, -alpha, s.ap, s.r)
		return nil
	}
	s.next, err = s.total(s.waxpbyDot(1, s.r, -alpha, s.ap, s.r))
	return err
}

// solve runs the passes of the original: at most maxIter-1. It ends when the residual norm
// is at most the tolerance. It returns the norm in the test at the start of each pass, and
// the first norm.
func (s *solver) solve(maxIter int, tolerance float64) (history []float64, first float64, err error) {
	if s.p.Restored() {
		defer s.clock(&s.seconds.Total)()
	} else {
		if err := s.gather(); err != nil {
			return nil, 0, err
		}
		defer s.clock(&s.seconds.Total)()
		if err := s.begin(); err != nil {
			return nil, 0, err
		}
	}
	for s.pass < maxIter && s.norm > tolerance {
		if err := s.p.SafePoint(); err != nil {
			return nil, 0, err
		}
		s.p.Progress(s.pass-1, maxIter-1)
		if err := s.iterate(); err != nil {
			return nil, 0, err
		}
		if err := s.out.pass(s.pass, s.norm, s.x); err != nil {
			return nil, 0, err
		}
		s.pass++
	}
	return s.history, s.first, nil
}

// gather waits for all processes: first for the replicas of the rank, in the first section,
// which is empty, and then for all ranks. So no time of the solver includes the set-up of
// another process's matrix.
func (s *solver) gather() error {
	if err := s.p.Section().End(); err != nil {
		return err
	}
	return s.p.World().Barrier()
}

// direction returns the rank's own part of the search direction.
func (s *solver) direction() []float64 { return s.box.own(s.p2) }

// begin computes the residual of the first guess.
func (s *solver) begin() error {
	s.waxpby(1, s.x, 0, s.x, s.direction())
	if err := s.multiply(); err != nil {
		return err
	}
	s.waxpby(1, s.b, -1, s.ap, s.r)
	rho, err := s.dot(s.r, s.r)
	if err != nil {
		return err
	}
	s.pass, s.rho, s.norm = 1, rho, math.Sqrt(rho)
	s.first = s.norm
	return nil
}

// iterate runs one pass.
func (s *solver) iterate() (err error) {
	dir := s.direction()
	if s.pass == 1 {
		s.waxpby(1, s.r, 0, s.r, dir)
	} else {
		old := s.rho
		if s.rho, err = s.square(); err != nil {
			return err
		}
		s.waxpby(1, s.r, s.rho/old, dir, dir)
	}
	s.norm = math.Sqrt(s.rho)
	s.history = append(s.history, s.norm)
	s.progress(s.pass, s.norm)
	pap, err := s.curvature()
	if err != nil {
		return err
	}
	alpha := s.rho / pap
	s.waxpby(1, s.x, alpha, dir, s.x)
	return s.reduce(alpha)
}

// largestError returns the largest difference of an element of x from 1 over all ranks. If
// any element is NaN, the result is NaN.
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
