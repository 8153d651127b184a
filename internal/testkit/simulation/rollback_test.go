package simulation

import (
	"context"
	"fmt"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// rollback begins a rollback. The present wait of the program, and all its later calls,
// return an error.
func (p *process) rollback(o job.Order) {
	p.slots.Back(o.Number, o.Older)
	p.program, p.drained, p.stands = nil, false, false
	p.forgiven()
	p.outbound = make(map[job.Process]*outbound)
	p.endLife(errBack)
	if p.stopDrain != nil {
		p.stopDrain()
	}
	if p.msgs != nil {
		p.msgs.Abort(errBack)
	}
}

// goBack rolls the process back to the backup, step by step, until the program
// can continue.
func (p *process) goBack() error {
	p.reach("abort")
	p.w.outputs.close(p)
	for {
		seen := p.changes
		var err error
		switch s := p.back.Next(p.self); s.Kind {
		case recovery.Forward:
			if err := p.cut(); err != nil {
				return err
			}
			p.reach("resume")
			return nil
		case recovery.Await:
			p.pause()
			err = p.Wait(context.Background(), func() bool { return p.changes != seen })
		case recovery.Give:
			err = p.giveBack(s.Order)
			p.back.Did(s)
		case recovery.Stop:
			p.pause()
			err = p.quiet()
			p.pause()
			p.back.Did(s)
		case recovery.Restore:
			err = p.restoreFor(s)
			p.back.Did(s)
		case recovery.Tell:
			p.pause()
			p.reach("ready")
			p.pause()
			p.reply(p.back.Did(s)...)
		}
		if err != nil {
			return err
		}
	}
}

// quiet waits until no link reads from or writes into the program's memory.
func (p *process) quiet() error {
	if p.msgs != nil {
		if err := p.msgs.Released(context.Background()); err != nil {
			return err
		}
	}
	p.retired = true
	return p.Wait(context.Background(), func() bool { return p.pending == 0 && p.filling == 0 })
}

// giveBack sends the other processes the states that they lack.
func (p *process) giveBack(o job.Order) error {
	for _, d := range o.Deals {
		if d.From != p.self || d.To == p.self {
			continue
		}
		s, ok := p.slots.Get(d.To.Rank, o.Number)
		if !ok {
			return fmt.Errorf("the backup %d of rank %d, for %v, is not here", o.Number, d.To.Rank, d.To)
		}
		p.giveTo(s, d.To, label{errand: errandBack, rank: d.To.Rank, number: o.Number}, "fetch")
	}
	return nil
}

// restoreFor sets the process to the position at which the state of a step was taken.
func (p *process) restoreFor(step recovery.ReturnStep[stateCopy]) error {
	o, s := step.Order, step.State
	if step.Own {
		var ok bool
		if s, ok = p.slots.Get(p.self.Rank, o.Number); !ok {
			return fmt.Errorf("the backup %d, which it holds itself, is not here", o.Number)
		}
	} else {
		p.slots.Put(p.self.Rank, o.Number, s)
	}
	p.lives = make(map[job.Process]uint32)
	for _, q := range o.Peers {
		if q.Process == p.self {
			p.incarnation = q.Incarnation
		} else if !p.linked(q.Process, q.Incarnation) {
			continue
		}
		p.lives[q.Process] = q.Incarnation
	}
	if err := p.resumeAt(s.at); err != nil {
		return err
	}
	p.image, p.startAt, p.joined = s.image, s.at, false
	p.life, p.endLife = context.WithCancelCause(context.Background())
	return nil
}
