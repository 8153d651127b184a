package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// rollback begins a rollback. All waits of the program, and its later calls, return
// ErrRollback. The caller holds the lock.
func (r *recovering) rollback(o job.Order) {
	r.slots.Back(o.Number, o.Older)
	r.program, r.fails = nil, false
	r.noReturn()
	r.second.back = nil
	r.outbound = make(map[job.Process]*outbound)
	r.endRun(ErrRollback)
	if r.stopDrain != nil {
		r.stopDrain()
	}
	if m := r.messages.Load(); m != nil {
		m.Abort(ErrRollback)
	}
}

// goesBack reports whether a rollback has ended the run of the program.
func (r *recovering) goesBack() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.back.Pending()
}

// goBack rolls this process back to the backup. The goroutine of the program calls it
// after the program has returned.
func (r *recovering) goBack() error {
	defer r.traceRollback()()
	r.faults.StepHere(job.KillBackup, "abort")
	if err := r.stepsBack(); err != nil {
		return err
	}
	r.faults.StepHere(job.KillBackup, "resume")
	return nil
}

// stepsBack performs the steps of a rollback until the program can continue. Each step may
// release the lock, so the loop reads the state again before the next step.
func (r *recovering) stepsBack() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		seen := r.changes.Load()
		var err error
		switch s := r.back.Next(r.setup.Self); s.Kind {
		case recovery.Forward:
			return r.messages.Load().Cut()
		case recovery.Await:
			r.unlocked(func() {
				err = r.ended(r.poller.Wait(r.ctx, func() bool { return r.changedSince(seen) }))
			})
		case recovery.Give:
			err = r.giveBack(s.Order)
			r.back.Did(s)
		case recovery.Stop:
			r.unlocked(func() { err = r.quiet() })
			r.back.Did(s)
		case recovery.Restore:
			err = r.restoreFor(s)
			r.back.Did(s)
		case recovery.Tell:
			r.unlocked(func() { r.faults.StepHere(job.KillBackup, "ready") })
			r.reply(r.back.Did(s))
		}
		if err != nil {
			return err
		}
	}
}

// quiet waits until no link reads from or writes into the program's memory.
func (r *recovering) quiet() error {
	if m := r.messages.Load(); m != nil {
		if err := m.Released(r.ctx); err != nil {
			return err
		}
	}
	return r.ended(r.poller.Wait(r.ctx, r.sharing.retire))
}

// errNoCopy means that this process does not have a copy that the head expects here.
var errNoCopy = errors.New("this process has no copy of that backup")

// giveBack sends the other processes the states that they lack.
func (r *recovering) giveBack(o job.Order) error {
	self := r.setup.Self
	for _, d := range o.Deals {
		if d.From != self || d.To == self {
			continue
		}
		s, ok := r.slots.Get(d.To.Rank, o.Number)
		if !ok {
			return fmt.Errorf("give %v the state of safe point %d: %w", d.To, o.Number, errNoCopy)
		}
		r.give(s, d.To, transferID{kind: transferBack, rank: d.To.Rank, number: o.Number}, "fetch")
	}
	return nil
}

// restoreFor sets this process to the position at which the state of a step was taken.
func (r *recovering) restoreFor(step recovery.ReturnStep[stateCopy]) error {
	self, o, s := r.setup.Self, step.Order, step.State
	if step.Own {
		var ok bool
		if s, ok = r.slots.Get(self.Rank, o.Number); !ok {
			return fmt.Errorf("roll back to safe point %d: %w", o.Number, errNoCopy)
		}
	} else {
		r.slots.Put(self.Rank, o.Number, s)
	}
	at, err := parsePosition(s.at)
	if err != nil {
		return err
	}
	r.incarnations = make(map[job.Process]uint32)
	for _, p := range o.Peers {
		if p.Process == self {
			r.setup.Incarnation = p.Incarnation
		} else if !r.linked(p) {
			continue
		}
		r.incarnations[p.Process] = p.Incarnation
	}
	if err := r.resumeAt(at, o.Generation); err != nil {
		return err
	}
	r.image, r.startAt, r.joins, r.oldest = s.image, at, false, 0
	r.runCtx, r.endRun = context.WithCancelCause(r.ctx)
	return nil
}

// newMember replaces the member after a rollback.
func (r *recovering) newMember(o job.Order) {
	r.member = recovery.NewMember(r.setup.Self, o.Generation, o.Next)
}
