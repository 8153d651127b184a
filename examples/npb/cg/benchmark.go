package main

import (
	"math"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/examples/npb/internal/nas"
	"github.com/intrahpc/intra/kernels"
)

// iterations is the number of iterations of conjugate gradients for one system.
const iterations = 25

// benchmark is the whole run on one rank.
//
//intra:state skip(of, grid, matrix, z, r, d, q, w)
type benchmark struct {
	nas.Run
	of     problem
	grid   *grid
	matrix *kernels.Sliced[float64]

	z, r, d, q []float64 // solution, residual, direction, product: in the rank's columns
	w          []float64 // a product with the rank's block

	x           []float64 // the eigenvector, in the rank's columns
	zeta, rnorm float64
	history     []float64 // zeta after each step
}

func newBenchmark(run nas.Run, of problem) (*benchmark, error) {
	if err := run.Set.Ranks("CG", run.P.Size(), mostRanks(of.rows)); err != nil {
		return nil, err
	}
	b := &benchmark{Run: run, of: of}
	g := newGrid(b.P.World(), of.rows)
	b.grid = g
	var err error
	if b.matrix, err = newMatrix(of, g.row*g.height(), g.height(), g.col*g.width(), g.width()); err != nil {
		return nil, err
	}
	for _, v := range []*[]float64{&b.x, &b.z, &b.r, &b.d, &b.q} {
		*v = kernels.Alloc[float64](g.width())
	}
	b.w = intra.Alloc[float64](g.height())
	b.Protect(b.P, "cg")
	return b, nil
}

// Measure carries out all steps. Before that it carries out one step that is not timed.
func (b *benchmark) Measure() (*result, error) {
	if err := b.Do(b.of.steps, b.begin, b.step); err != nil {
		return nil, err
	}
	r := &result{Zeta: b.zeta, RNorm: b.rnorm}
	r.Verified = nas.Close(r.Zeta, b.of.zeta, tolerance)
	return r, nil
}

// begin carries out a step, and sets the first guess again.
func (b *benchmark) begin() error {
	b.guess()
	defer b.guess()
	return b.improve()
}

// guess sets the first guess.
func (b *benchmark) guess() {
	for i := range b.x {
		b.x[i] = 1
	}
}

// step improves the guess.
func (b *benchmark) step() error {
	if err := b.improve(); err != nil {
		return err
	}
	b.history = append(b.history, b.zeta)
	b.Tell("step %3d  residual %.6e  zeta %.13f\n", b.Done+1, b.rnorm, b.zeta)
	return nil
}

// improve carries out one step of inverse iteration.
func (b *benchmark) improve() error {
	if err := b.solve(); err != nil {
		return err
	}
	sums, err := b.grid.sum(kernels.Dot(b.x, b.z), kernels.Dot(b.z, b.z))
	if err != nil {
		return err
	}
	b.zeta = b.of.shift + 1/sums[0]
	kernels.Scale(1/math.Sqrt(sums[1]), b.z, b.x)
	return nil
}

// solve solves A·z = x approximately, and computes the norm of the residual.
func (b *benchmark) solve() error {
	clear(b.z)
	copy(b.r, b.x)
	copy(b.d, b.x)
	rho, err := b.product(b.r, b.r)
	if err != nil {
		return err
	}
	for range iterations {
		if err := b.multiply(b.d, b.q); err != nil {
			return err
		}
		dq, err := b.product(b.d, b.q)
		if err != nil {
			return err
		}
		alpha, before := rho/dq, rho
		kernels.Axpy(alpha, b.d, b.z)
		kernels.Axpy(-alpha, b.q, b.r)
		if rho, err = b.product(b.r, b.r); err != nil {
			return err
		}
		kernels.Waxpby(1, b.r, rho/before, b.d, b.d)
	}
	if err := b.multiply(b.z, b.q); err != nil {
		return err
	}
	kernels.Waxpby(1, b.x, -1, b.q, b.r)
	square, err := b.product(b.r, b.r)
	b.rnorm = math.Sqrt(square)
	return err
}

// multiply computes y = A·x.
func (b *benchmark) multiply(x, y []float64) error {
	b.multiplyBlock(x)
	return b.grid.combine(b.w, y)
}

// product returns the inner product of x and y over all ranks.
func (b *benchmark) product(x, y []float64) (float64, error) {
	sums, err := b.grid.sum(kernels.Dot(x, y))
	if err != nil {
		return 0, err
	}
	return sums[0], nil
}
