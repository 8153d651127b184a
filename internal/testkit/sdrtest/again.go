package sdrtest

import (
	"context"
	"errors"
	"slices"

	"github.com/intrahpc/intra/transport/sdr"
)

// Return makes a process run again, alone, from its last settled point, at a step of the
// run. It does not happen to a process that has no such point.
type Return struct{ Rank, Replica, Step int }

var errAgain = errors.New("back to a settled point")

// settled is a safe point at which the process can run again.
type settled struct {
	place *sdr.Place
	safe  int
	state []byte
}

// againState is the state of a process that runs again.
type againState struct {
	most    int        // number of safe points that it has ever entered
	inside  bool       // it has entered the last of them, and not passed it
	points  []*settled // oldest first
	ordered bool       // the process is to run again
	runs    int        // how often that has happened
}

// settle sometimes makes the safe point that p has entered a settled point.
func (p *Process) settle(save func() []byte) error {
	j, a := &p.job.job, &p.again
	if j.Settle == 0 || j.Degrees[p.Rank] == 1 || p.job.random.IntN(j.Settle) > 0 {
		return nil
	}
	place, err := p.Engine.Runs().Settle()
	if err != nil {
		return err
	}
	a.points = append(a.points, &settled{place, p.cuts.safe, save()})
	if n := len(a.points); n > 2 || n > 1 && p.job.random.IntN(2) == 0 {
		p.Engine.Runs().Forget(a.points[1].place)
		a.points = slices.Delete(a.points, 0, 1)
	}
	return nil
}

// returns begins the returns that are due at this step.
func (r *run) returns() {
	for _, back := range r.job.Returns {
		if back.Step != r.steps {
			continue
		}
		p := r.process(back.Rank, back.Replica)
		if p.Killed || p.finished || len(p.again.points) == 0 || p.cuts.back != nil || p.again.ordered {
			continue
		}
		if err := p.Engine.Runs().Retire(errAgain); err != nil {
			continue
		}
		p.again.ordered, p.woken = true, true
	}
}

// runAgain makes the engine of the next run of the program.
func (p *Process) runAgain() error {
	a := &p.again
	from := a.points[0]
	a.ordered, a.points = false, nil
	if a.inside { // the next run enters that safe point again, as if for the first time
		a.inside = false
		a.most--
	}
	if err := p.Engine.Released(context.Background()); err != nil {
		return err
	}
	next, err := p.Engine.Runs().Again(context.Background(), from.place)
	if err != nil {
		return err
	}
	a.runs++
	p.job.again++
	p.Engine, p.cuts.safe, p.cuts.restored = next, from.safe-1, from.state
	return nil
}
