package intra

import (
	"context"
	"fmt"
	"slices"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// errBack ends the program's life for a rollback.
var errBack = fmt.Errorf("safe point: %w", ErrRollback)

// given is the state of this rank that another process has sent for a
// rollback.
type given struct {
	label label
	state stateCopy
}

// rollback begins to go back: whatever the program waits for ends with
// ErrRollback, and so does what it calls from now on. It is called under the
// lock.
func (e *engine) rollback(o job.Order) {
	e.back = &o
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
func (e *engine) goesBack() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.back != nil
}

// goBack takes this process back to the backup, in the goroutine of the
// program, which has returned.
func (e *engine) goBack() error {
	e.kills.stepHere(job.KillBackup, "abort")
	for {
		e.mu.Lock()
		o := *e.back
		e.mu.Unlock()
		if err := e.quiet(); err != nil {
			return err
		}
		again, err := e.restoreFor(o)
		if err != nil {
			return err
		}
		if !again {
			e.kills.stepHere(job.KillBackup, "resume")
			return nil
		}
	}
}

// quiet waits until no link reads from or writes into the program's memory.
func (e *engine) quiet() error {
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

// restoreFor does what one order to go back asks for. It reports whether
// another one has come meanwhile.
func (e *engine) restoreFor(o job.Order) (again bool, err error) {
	self := e.setup.Self
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.back.Generation != o.Generation {
		return true, nil
	}
	own := false
	for _, d := range o.Deals {
		switch {
		case d.From == self && d.To == self:
			own = true
		case d.From == self:
			if s, ok := e.slots.Get(d.To.Rank, o.Number); ok {
				e.give(s, d.To, label{errand: errandBack, rank: d.To.Rank, number: o.Number}, "fetch")
			}
		}
	}
	s, ok := e.slots.Get(self.Rank, o.Number)
	for !own || !ok {
		i := slices.IndexFunc(e.given, func(g given) bool { return g.label.generation == o.Generation })
		if i >= 0 {
			s = e.given[i].state
			e.slots.Put(self.Rank, o.Number, s)
			break
		}
		if again, err := e.awaitBack(o); again || err != nil {
			return again, err
		}
	}
	e.given = nil
	at, err := parsePosition(s.at)
	if err != nil {
		return false, err
	}
	e.lives = make(map[job.Process]uint32)
	for _, p := range o.Peers {
		if p.Process == self {
			e.setup.Incarnation = p.Incarnation
		} else if !e.linked(p) {
			continue
		}
		e.lives[p.Process] = p.Incarnation
	}
	if err := e.resumeAt(at); err != nil {
		return false, err
	}
	e.image, e.startAt = s.image, at
	e.life, e.endLife = context.WithCancelCause(e.ctx)
	ready := job.Reply{Kind: job.ReplyReady, Generation: o.Generation}
	e.unlocked(func() { e.kills.stepHere(job.KillBackup, "ready") })
	e.reply([]job.Reply{ready})
	for e.resumed != o.Generation {
		if again, err := e.awaitBack(o); again || err != nil {
			return again, err
		}
	}
	e.back = nil
	return false, e.msgs.Load().Cut()
}

// awaitBack waits for something to change while going back.
func (e *engine) awaitBack(o job.Order) (again bool, err error) {
	seen := e.changes.Load()
	e.unlocked(func() {
		err = e.ended(e.poller.Wait(e.ctx, func() bool { return e.changes.Load() != seen }))
	})
	return err == nil && e.back.Generation != o.Generation, err
}

// newMember is the part of a process in the life after a rollback.
func (e *engine) newMember(o job.Order) {
	e.member = recovery.NewMember(e.setup.Self, o.Generation, o.Next)
}
