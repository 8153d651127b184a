package main

import (
	"github.com/intrahpc/intra/examples/npb/internal/flow"
	"github.com/intrahpc/intra/examples/npb/internal/nas"
	intra "github.com/intrahpc/intra/runtime"
)

// benchmark is the whole run on one rank.
//
//intra:state skip(p, set, of, Cube, progress)
type benchmark struct {
	p   *intra.Process
	set nas.Settings
	of  problem
	*flow.Cube
	progress func(step int)

	u       []flow.State // the solution
	step    int          // the last one that is done
	seconds nas.Seconds
}

func newBenchmark(p *intra.Process, set nas.Settings, of problem) (*benchmark, error) {
	b := &benchmark{p: p, set: set, of: of, progress: func(int) {}}
	var err error
	if b.Cube, err = flow.NewCube(p, set, flow.NewGas(of.points, of.dt)); err != nil {
		return nil, err
	}
	b.u = b.Columns
	b.Protect(p, "bt")
	return b, set.Protect(p)
}

// run does all steps, or those that follow the saved state. One that is not timed
// comes first.
func (b *benchmark) run() error {
	if !b.p.Restored() {
		b.Begin()
		if err := b.advance(); err != nil {
			return err
		}
		b.Begin()
		b.seconds = 0
		if err := nas.Gather(b.p); err != nil {
			return err
		}
	}
	for b.step < b.of.steps {
		if err := b.p.SafePoint(); err != nil {
			return err
		}
		b.p.Progress(b.step, b.of.steps)
		if b.step%20 == 0 {
			b.progress(b.step + 1)
		}
		if err := b.advance(); err != nil {
			return err
		}
		b.step++
	}
	return nil
}

// advance does one step.
func (b *benchmark) advance() error {
	defer nas.Clock(&b.seconds)()
	if err := b.FindSide(); err != nil {
		return err
	}
	b.solveX()
	b.solveY()
	if err := b.Turn(); err != nil {
		return err
	}
	b.solveZ()
	b.Add()
	return nil
}
