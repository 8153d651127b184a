package main

import (
	"fmt"
	"math"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/examples/npb/internal/nas"
)

// benchmark is the whole run on one rank.
//
//intra:state skip(of, top, norm)
type benchmark struct {
	nas.Run
	of   problem
	top  *level
	norm float64 // of the last residual

	charges charges
	u       []float64 // the solution, on the finest grid
}

func newBenchmark(run nas.Run, of problem) (*benchmark, error) {
	n := of.edge()
	if err := run.Set.Ranks("MG", run.P.Size(), (n/thinnest)*(n/thinnest)*(n/thinnest)); err != nil {
		return nil, err
	}
	b := &benchmark{Run: run, of: of}
	b.top = newLevel(b.P, b.P.World(), n, b.Set.Tasks, of.smoother, true)
	b.u = b.top.u
	b.Protect(b.P, "mg")
	return b, nil
}

// Measure carries out all iterations, and computes the norm of the residual. Before that it
// carries out one iteration that is not timed.
func (b *benchmark) Measure() (*result, error) {
	if b.P.Restored() {
		b.place()
	}
	if err := b.Do(b.of.iterations, b.begin, b.iterate); err != nil {
		return nil, err
	}
	if err := b.measureResidual(); err != nil {
		return nil, err
	}
	r := &result{Norm: b.norm}
	r.Verified = nas.Close(r.Norm, b.of.norm, tolerance)
	return r, nil
}

// begin finds the charges, carries out an iteration, and discards its solution.
func (b *benchmark) begin() error {
	var err error
	if b.charges, err = b.top.findCharges(b.of.edge()); err != nil {
		return err
	}
	b.place()
	err = b.improve()
	clear(b.u)
	return err
}

// place writes the charges into the right-hand side.
func (b *benchmark) place() { b.top.place(b.top.v, b.of.edge(), b.charges) }

// iterate carries out the next iteration.
func (b *benchmark) iterate() error {
	b.Tell("iteration %3d\n", b.Done+1)
	return b.improve()
}

// improve carries out one iteration.
func (b *benchmark) improve() error {
	if err := b.top.findResidual(); err != nil {
		return err
	}
	return b.top.correct(b.top.r, false)
}

// measureResidual computes the norm of the residual.
func (b *benchmark) measureResidual() error {
	defer nas.Clock(&b.Seconds)()
	if err := b.top.findResidual(); err != nil {
		return err
	}
	sum, err := comm.AllreduceValue(b.P.World(), b.top.square(), comm.Sum)
	if err != nil {
		return fmt.Errorf("add up the squares of the residual: %w", err)
	}
	b.norm = math.Sqrt(sum / math.Pow(float64(b.of.edge()), 3))
	return nil
}
