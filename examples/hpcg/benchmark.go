package main

import (
	"fmt"
	"math"
	"time"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/examples/internal/cartesian"
)

// stage is a part of the benchmark.
type stage int

const (
	reference    stage = iota // the residual to be reached
	plainTest                 // spectral test without the preconditioner
	spectralTest              // spectral test with the preconditioner
	symmetryTest              // symmetry test, and construction of the timed operator
	rehearsal                 // determines the number of iterations of a set
	timed                     // the timed sets
	finished
)

var stageNames = []string{"reference", "spectral test", "spectral test, preconditioned", "symmetry test", "rehearsal", "set"}

// iterations is the number of iterations of the reference, and the minimum of a set.
const iterations = 50

// benchmark is the whole run on one rank.
//
//intra:state skip(p, set, box, vectors, progress)
type benchmark struct {
	p       *intra.Process
	set     settings
	box     box
	vectors []*vectors
	cg      *solver

	stage    stage
	goal     float64 // residual to be reached, relative to the first
	spectral [2]int  // number of iterations of the spectral tests
	symmetry [2]float64
	reached  int       // number of iterations of a set
	sets     int       // number of sets to run
	ends     []float64 // last residual of each set, relative to its first
	first    float64   // residual norm at the start of a set
	history  []float64 // residual norm after each iteration of the first set, relative to first
	times    times

	progress func(what string, iteration int, residual float64)
}

// times holds the times that one replica has measured.
type times struct {
	SetUp    float64 `json:"set_up"`   // construction of the problem in natural order
	Optimise float64 `json:"optimise"` // construction of the timed operator
	Sets     seconds `json:"sets"`
}

// Measured implements intra.Measured.
func (times) Measured() {}

func newBenchmark(p *intra.Process, set settings) (*benchmark, error) {
	b := &benchmark{p: p, set: set, progress: func(string, int, float64) {}}
	var err error
	if b.box, err = newBox(set.nx, set.ny, set.nz, p.Rank(), p.Size()); err != nil {
		return nil, err
	}
	b.vectors = newVectors(b.box)
	b.cg = newSolver(p, b.box, set.tasks, b.vectors[0])
	b.Protect(p, "hpcg")
	of := [5]int{set.nx, set.ny, set.nz, set.tasks, int(set.smoother)}
	was := of
	if intra.Protect(p, "problem", &was); was != of {
		return nil, fmt.Errorf("the saved state is of -nx %d -ny %d -nz %d -tasks %d -smoother %v; go on with the same", was[0], was[1], was[2], was[3], smoother(was[4]))
	}
	return b, nil
}

// run carries out all stages, or those after the saved state.
func (b *benchmark) run() error {
	for b.stage < finished {
		if err := b.prepare(); err != nil {
			return err
		}
		for at := b.stage; b.stage == at; b.cg.reset() {
			if err := b.step(); err != nil {
				return fmt.Errorf("%s: %w", stageNames[at], err)
			}
		}
	}
	return nil
}

// prepare builds the operator of the stage, unless the previous stage has used the same
// one.
func (b *benchmark) prepare() error {
	var err error
	build := func(how smoother, scale func(int) float64) *operator {
		if b.cg.op = nil; err == nil {
			b.cg.op, err = newOperator(b.p, b.box, how, b.set.tasks, scale, b.vectors)
		}
		return b.cg.op
	}
	from := time.Now()
	switch {
	case b.stage == reference:
		build(natural, unscaled)
		b.times.SetUp = time.Since(from).Seconds()
	case b.stage == plainTest, b.stage == spectralTest && b.cg.op == nil:
		build(b.set.smoother, exaggerated)
	case b.stage == symmetryTest:
		build(b.set.smoother, unscaled)
		b.times.Optimise = time.Since(from).Seconds()
	case b.cg.op == nil:
		build(b.set.smoother, unscaled)
	}
	b.cg.progress = func(iteration int, residual float64) { b.progress(stageNames[b.stage], iteration, residual) }
	return err
}

// exaggerated makes the diagonal so large that few iterations must suffice. The first rows
// are different.
func exaggerated(global int) float64 {
	if global < 9 {
		return float64(global+2) * 1e6
	}
	return 1e6
}

// step carries out a stage, or one set, and selects the next one.
func (b *benchmark) step() error {
	next := b.stage + 1
	switch b.stage {
	case reference:
		if err := b.cg.solve(aim{true, iterations, 0}); err != nil {
			return err
		}
		b.goal = b.cg.residual()
	case plainTest, spectralTest:
		if err := b.cg.solve(aim{b.stage == spectralTest, iterations, 1e-12}); err != nil {
			return err
		}
		b.spectral[b.stage-plainTest] = b.cg.iterations()
	case symmetryTest:
		if err := b.testSymmetry(); err != nil {
			return err
		}
	case rehearsal:
		if err := b.cg.solve(aim{true, 10 * iterations, b.goal}); err != nil {
			return err
		}
		b.reached = max(iterations, b.cg.iterations())
		var err error
		if b.sets, err = b.plan(); err != nil {
			return err
		}
	case timed:
		if err := b.cg.solve(aim{true, b.reached, 0}); err != nil {
			return err
		}
		if err := b.count(); err != nil {
			return err
		}
		if len(b.ends) < b.sets {
			next = timed
		}
	}
	b.stage = next
	return nil
}

// plan returns the number of sets to run: the requested number, or as many as fill the
// time. Each process has measured another time, so they agree on a number.
func (b *benchmark) plan() (int, error) {
	if b.set.time == 0 {
		return b.set.sets, nil
	}
	took, err := intra.Once(b.p, func() (float64, error) { return b.cg.seconds.Total, nil })
	if err != nil {
		return 0, fmt.Errorf("agree on the time of a set: %w", err)
	}
	if took, err = comm.AllreduceValue(b.p.World(), took, comm.Max); err != nil {
		return 0, fmt.Errorf("agree on the time of a set: %w", err)
	}
	return max(1, int(math.Ceil(b.set.time.Seconds()/took))), nil
}

// count records a completed set.
func (b *benchmark) count() error {
	if done := b.cg.iterations(); done < b.reached {
		return fmt.Errorf("the residual is %v after %d of %d iterations", b.cg.residual(), done, b.reached)
	}
	if len(b.ends) == 0 {
		for _, norm := range b.cg.history[:iterations+1] {
			b.history = append(b.history, norm/b.cg.history[0])
		}
		b.first = b.cg.history[0]
	}
	b.ends = append(b.ends, b.cg.residual())
	b.times.Sets.add(b.cg.seconds)
	return nil
}

// testSymmetry measures how much the matrix and the preconditioner deviate from symmetry.
func (b *benchmark) testSymmetry() error {
	s, n := b.cg, b.box.points()
	columns := len(s.direction)
	x, y, z := make([]float64, columns), make([]float64, columns), make([]float64, n)
	for row, point := range s.op.order.points {
		g := uint64(b.box.global(cartesian.Split(b.box.n, int(point))))
		x[row], y[row] = random(2*g), random(2*g+1)
	}
	var err error
	product := func(x, y []float64) (sum float64) {
		if err == nil {
			sum, err = s.product(x[:n], y[:n])
		}
		return sum
	}
	multiply := func(x []float64) []float64 {
		if err == nil {
			err = s.multiply(x, z)
		}
		return z
	}
	precondition := func(x []float64) []float64 {
		if err == nil {
			err = intra.Fetch(s.p, s.r)
		}
		if err == nil {
			copy(s.r, x)
			err = s.precondition()
		}
		return s.op.x
	}
	const largest = 2 * 26 // approximate norm of the matrix
	scale := 2 * product(x, x) * largest * product(y, y) * epsilon
	for k, apply := range []func([]float64) []float64{multiply, precondition} {
		one := product(x, apply(y))
		b.symmetry[k] = math.Abs(one-product(y, apply(x))) / scale
	}
	return err
}

// epsilon is the distance from 1 to the next larger number.
const epsilon = 0x1p-52

// random returns a number in [1, 2) that depends on n only.
func random(n uint64) float64 {
	n = (n + 1) * 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return math.Float64frombits(0x3ff<<52 | (n^n>>31)>>12)
}
