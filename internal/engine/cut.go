package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
	"github.com/intrahpc/intra/transport/sdr"
)

// safePoint does what is due at a safe point of the program.
func (e *Engine) safePoint(point uint64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.member.Enter(point)
	for {
		seen := e.changes.Load()
		if e.err != nil {
			return diverged(e.err)
		}
		step := e.member.Next()
		if step.Kind == recovery.Pass {
			e.program.due.Store(e.member.Due())
			return nil
		}
		if err := e.step(step, seen); err != nil {
			return err
		}
	}
}

// step does one thing in a safe point, under the lock, which it gives up
// meanwhile.
func (e *Engine) step(s recovery.Step, seen uint64) (err error) {
	switch s.Kind {
	case recovery.Wait:
		return e.waitChange(seen)
	case recovery.Drain:
		return e.drain(s.Number)
	case recovery.Donate:
		return e.donate(s.Process)
	case recovery.Transfer:
		return e.transfer(s.Process)
	case recovery.Admit:
		return e.admit(s.Joined)
	case recovery.Copy:
		return e.copyState(s.Number, s.Process)
	case recovery.Save:
		return e.save(s.Number, s.Set)
	case recovery.Leave:
		e.unlocked(func() {
			if len(s.Joined) == 0 { // else it was done when they were admitted
				err = e.msgs.Load().Cut()
			}
			e.kills.stepHere(job.KillJoin, "go")
		})
		return err
	case recovery.GiveUp:
		e.unlocked(e.msgs.Load().CancelCut)
		return nil
	case recovery.Back:
		return errBack
	}
	return fmt.Errorf("unknown step %d", s.Kind)
}

// waitChange waits until something has changed since seen.
func (e *Engine) waitChange(seen uint64) (err error) {
	e.unlocked(func() {
		err = e.ended(e.poller.Wait(e.life, func() bool { return e.changes.Load() != seen }))
	})
	return err
}

// drain gets everything that was sent before the cut.
func (e *Engine) drain(number uint64) error {
	ctx, stop := context.WithCancel(e.life)
	defer stop()
	e.stopDrain, e.cutAt = stop, nil
	msgs := e.msgs.Load()
	var err error
	e.unlocked(func() {
		err = msgs.Drain(ctx, number)
		if err == nil {
			e.kills.stepHere(job.KillJoin, "drain")
		}
	})
	e.stopDrain = nil
	if err != nil && (!e.member.Cancelled() || !errors.Is(err, context.Canceled) && !errors.Is(err, sdr.ErrCancelled) && !errors.Is(err, ErrRollback)) {
		return err
	}
	e.reply(e.member.Drained())
	return nil
}

// reply tells the head, which never blocks for long.
func (e *Engine) reply(rs []job.Reply) {
	for _, r := range rs {
		e.head.Reply(r)
	}
}

// reached is called at the first safe point of each run, when the state of
// the program is known.
func (e *Engine) reached() error {
	e.msgs.Load().Resume()
	if !e.setup.Recovery {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.program.restored {
		e.head.Reply(job.Reply{Kind: job.ReplyFirst, Generation: e.member.Generation()})
	}
	return nil
}

// order does what the head wants. Orders come in the head's order, and behind
// the deaths that were declared before them.
func (e *Engine) order(o job.Order) {
	switch o.Kind {
	case job.OrderAsk:
		e.kills.step(job.KillJoin, "ask")
	case job.OrderComplete:
		e.kills.step(job.KillBackup, "complete")
	}
	e.mu.Lock()
	var points uint64
	if e.startAt != nil { // its safe point passes the head by
		points = e.startAt.Point
	}
	if p := e.program; p != nil {
		p.due.Store(true) // before the count is read
		points = max(points, p.points.Load())
	}
	replies := e.member.Order(o, points)
	if p := e.program; p != nil {
		p.due.Store(e.member.Due())
	}
	e.back.Order(o)
	switch o.Kind {
	case job.OrderDonate:
		e.streams++
		e.outbound[o.Process] = &outbound{
			id:   transferID{kind: transferJoin, stream: e.streams, generation: e.member.Generation(), rank: e.setup.Self.Rank},
			link: e.linkTo(o.Process), poller: e.poller,
		}
	case job.OrderCancel:
		if e.stopDrain != nil {
			e.stopDrain()
		}
	case job.OrderComplete:
		e.slots.Complete(o.Number)
	case job.OrderRenew:
		e.renew(o)
	case job.OrderRollback:
		e.rollback(o)
	case job.OrderResume:
		e.newMember(o)
	}
	e.mu.Unlock()
	e.reply(replies)
	e.changed()
}

// position returns where this rank stands at the cut, under the lock.
func (e *Engine) position(number uint64) (*rankPosition, error) {
	messages, err := e.msgs.Load().Position()
	if err != nil {
		return nil, fmt.Errorf("safe point %d: %w", number, err)
	}
	at := e.machine.Position()
	e.once.Position(&at)
	return &rankPosition{Section: at, Point: number, messages: messages}, nil
}

// since returns the time since a moment of the engine's clock, in seconds.
func (e *Engine) since(from time.Duration) float64 { return (e.now() - from).Seconds() }
