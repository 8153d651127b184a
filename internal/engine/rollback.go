package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// rollback begins to go back: whatever the program waits for ends with
// ErrRollback, and so does what it calls from now on. It is called under the
// lock.
func (e *Engine) rollback(o job.Order) {
	e.slots.Back(o.Number)
	e.program = nil
	e.outbound = make(map[job.Process]*outbound)
	e.endLife(ErrRollback)
	if e.stopDrain != nil {
		e.stopDrain()
	}
	if m := e.msgs.Load(); m != nil {
		m.Abort(ErrRollback)
	}
}

// goesBack reports whether the program's life is over for a rollback.
func (e *Engine) goesBack() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.back.Pending()
}

// goBack takes this process back to the backup, in the goroutine of the
// program, which has returned.
func (e *Engine) goBack() error {
	e.kills.stepHere(job.KillBackup, "abort")
	if err := e.stepsBack(); err != nil {
		return err
	}
	e.kills.stepHere(job.KillBackup, "resume")
	return nil
}

// stepsBack does one step after the other until the program can go on. Steps
// give up the lock, so each one begins with what is true by then.
func (e *Engine) stepsBack() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for {
		seen := e.changes.Load()
		var err error
		switch s := e.back.Next(e.setup.Self); s.Kind {
		case recovery.Forward:
			return e.msgs.Load().Cut()
		case recovery.Await:
			e.unlocked(func() {
				err = e.ended(e.poller.Wait(e.ctx, func() bool { return e.changes.Load() != seen }))
			})
		case recovery.Give:
			err = e.giveBack(s.Order)
			e.back.Did(s)
		case recovery.Stop:
			e.unlocked(func() { err = e.quiet() })
			e.back.Did(s)
		case recovery.Restore:
			err = e.restoreFor(s)
			e.back.Did(s)
		case recovery.Tell:
			e.unlocked(func() { e.kills.stepHere(job.KillBackup, "ready") })
			e.reply(e.back.Did(s))
		}
		if err != nil {
			return err
		}
	}
}

// quiet waits until no link reads from or writes into the program's memory.
func (e *Engine) quiet() error {
	if m := e.msgs.Load(); m != nil {
		if err := m.Released(e.ctx); err != nil {
			return err
		}
	}
	err := e.poller.Wait(e.ctx, func() bool {
		return e.pending.Load() == 0 && e.filling.Load() == 0 && e.storeNoMore()
	})
	return e.ended(err)
}

// errNoCopy: the head takes this process for a holder of a copy that it has
// not got.
var errNoCopy = errors.New("the copy of the backup is not here")

// giveBack sends the others the states that they lack.
func (e *Engine) giveBack(o job.Order) error {
	self := e.setup.Self
	for _, d := range o.Deals {
		if d.From != self || d.To == self {
			continue
		}
		s, ok := e.slots.Get(d.To.Rank, o.Number)
		if !ok {
			return fmt.Errorf("give %v the state of safe point %d: %w", d.To, o.Number, errNoCopy)
		}
		e.give(s, d.To, transferID{kind: transferBack, rank: d.To.Rank, number: o.Number}, "fetch")
	}
	return nil
}

// restoreFor makes this process stand where the state of a step was taken.
func (e *Engine) restoreFor(step recovery.ReturnStep[stateCopy]) error {
	self, o, s := e.setup.Self, step.Order, step.State
	if step.Own {
		var ok bool
		if s, ok = e.slots.Get(self.Rank, o.Number); !ok {
			return fmt.Errorf("go back to safe point %d: %w", o.Number, errNoCopy)
		}
	} else {
		e.slots.Put(self.Rank, o.Number, s)
	}
	at, err := parsePosition(s.at)
	if err != nil {
		return err
	}
	e.incarnations = make(map[job.Process]uint32)
	for _, p := range o.Peers {
		if p.Process == self {
			e.setup.Incarnation = p.Incarnation
		} else if !e.linked(p) {
			continue
		}
		e.incarnations[p.Process] = p.Incarnation
	}
	if err := e.resumeAt(at); err != nil {
		return err
	}
	e.image, e.startAt = s.image, at
	e.life, e.endLife = context.WithCancelCause(e.ctx)
	return nil
}

// newMember is the part of a process in the life after a rollback.
func (e *Engine) newMember(o job.Order) {
	e.member = recovery.NewMember(e.setup.Self, o.Generation, o.Next)
}
