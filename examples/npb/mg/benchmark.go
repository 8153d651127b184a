package main

import (
	"fmt"
	"math"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/examples/npb/internal/nas"
	intra "github.com/intrahpc/intra/runtime"
)

// benchmark is the whole run on one rank.
//
//intra:state skip(p, set, of, top, norm, progress)
type benchmark struct {
	p        *intra.Process
	set      nas.Settings
	of       problem
	top      *level
	norm     float64 // of the last residual
	progress func(iteration int)

	charges   charges
	u         []float64 // the solution, on the finest grid
	iteration int       // the last one that is done
	seconds   nas.Seconds
}

func newBenchmark(p *intra.Process, set nas.Settings, of problem) (*benchmark, error) {
	n := of.edge()
	if err := set.Ranks("MG", p.Size(), (n/thinnest)*(n/thinnest)*(n/thinnest)); err != nil {
		return nil, err
	}
	b := &benchmark{p: p, set: set, of: of, progress: func(int) {}}
	b.top = newLevel(p, p.World(), n, set.Tasks, of.smoother, true)
	b.u = b.top.u
	b.Protect(p, "mg")
	return b, set.Protect(p)
}

// run does all iterations, or those that follow the saved state. One that is not
// timed comes first.
func (b *benchmark) run() error {
	n := b.of.edge()
	if !b.p.Restored() {
		var err error
		if b.charges, err = b.top.findCharges(n); err != nil {
			return err
		}
	}
	b.top.place(b.top.v, n, b.charges)
	if !b.p.Restored() {
		if err := b.improve(); err != nil {
			return err
		}
		clear(b.u)
		b.seconds = 0
		if err := nas.Gather(b.p); err != nil {
			return err
		}
	}
	for b.iteration < b.of.iterations {
		if err := b.p.SafePoint(); err != nil {
			return err
		}
		b.p.Progress(b.iteration, b.of.iterations)
		b.progress(b.iteration + 1)
		if err := b.improve(); err != nil {
			return err
		}
		b.iteration++
	}
	return b.measureResidual()
}

// improve does one iteration.
func (b *benchmark) improve() error {
	defer nas.Clock(&b.seconds)()
	if err := b.top.findResidual(); err != nil {
		return err
	}
	return b.top.correct(b.top.r, false)
}

// measureResidual finds the norm of the residual.
func (b *benchmark) measureResidual() error {
	defer nas.Clock(&b.seconds)()
	if err := b.top.findResidual(); err != nil {
		return err
	}
	sum, err := comm.AllreduceValue(b.p.World(), b.top.square(), comm.Sum)
	if err != nil {
		return fmt.Errorf("add up the squares of the residual: %w", err)
	}
	b.norm = math.Sqrt(sum / math.Pow(float64(b.of.edge()), 3))
	return nil
}
