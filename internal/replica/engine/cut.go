package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
	"github.com/intrahpc/intra/transport/sdr"
)

// safePoint performs the steps that are due at a safe point of the program.
func (r *recovering) safePoint(point uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.member.Enter(point)
	r.inside = r.program
	defer func() { r.inside = nil }()
	for {
		seen := r.changes.Load()
		if r.err != nil {
			return diverged(r.err)
		}
		step := r.member.Next()
		if step.Kind == recovery.Pass {
			r.program.due.Store(r.member.Due())
			return nil
		}
		if err := r.step(step, seen, r.yield); err != nil {
			return err
		}
	}
}

// step performs one step of a safe point.
func (r *recovering) step(s recovery.Step, seen uint64, yield func(func())) (err error) {
	if r.trace != nil {
		defer r.traceStep(s)()
	}
	switch s.Kind {
	case recovery.Transfer, recovery.Copy, recovery.Save:
		if err := r.settleFiles(yield); err != nil || r.program == nil {
			return err
		}
	}
	switch s.Kind {
	case recovery.Wait:
		return r.waitChange(seen, yield)
	case recovery.Drain:
		return r.drain(s.Number, yield)
	case recovery.Donate:
		return r.donate(s.Process, yield)
	case recovery.Transfer:
		return r.transfer(s.Process, yield)
	case recovery.Admit:
		return r.admit(s.Joined, yield)
	case recovery.Copy:
		return r.copyState(s.Number, s.Process, yield)
	case recovery.Save:
		return r.save(s.Number, s.Set, yield)
	case recovery.Leave:
		r.oldest = s.Oldest
		if r.program != nil { // a joiner begins its program in this cut
			r.program.cut, r.program.oldest = s.Number, s.Oldest
		}
		yield(func() {
			if len(s.Joined) == 0 { // otherwise admit has called Cut
				err = r.messages.Load().Cut()
			}
			r.faults.StepHere(job.KillJoin, "go")
		})
		return err
	case recovery.GiveUp:
		yield(r.messages.Load().CancelCut)
		return nil
	case recovery.Back:
		return errBack
	}
	return fmt.Errorf("unknown step %d", s.Kind)
}

// waitChange waits until something has changed since seen.
func (r *recovering) waitChange(seen uint64, yield func(func())) (err error) {
	yield(func() {
		err = r.ended(r.poller.Wait(r.runCtx, func() bool { return r.changedSince(seen) }))
	})
	return err
}

// drain receives all messages that were sent before the cut.
func (r *recovering) drain(number uint64, yield func(func())) error {
	if err := r.sharing.keeper.enterCut(number, yield); err != nil || r.member.Cancelled() {
		return err
	}
	ctx, stop := context.WithCancel(r.runCtx)
	defer stop()
	r.stopDrain, r.cutAt = stop, nil
	r.noReturn()
	msgs := r.messages.Load()
	var err error
	yield(func() {
		err = msgs.Drain(ctx, number)
		if err == nil {
			// The hash of a state does not cover messages that the program has not received yet.
			// A wrong message has to be found before a backup or a joiner gets it.
			err = msgs.SumsReceived(ctx)
		}
		if err == nil {
			r.faults.StepHere(job.KillJoin, "drain")
		}
	})
	r.stopDrain = nil
	if err != nil && (!r.member.Cancelled() || !errors.Is(err, context.Canceled) && !errors.Is(err, sdr.ErrCancelled) && !errors.Is(err, ErrRollback)) {
		return err
	}
	hash, err := r.stateAt(number, yield)
	if err != nil {
		return err
	}
	replies := r.member.Drained()
	for i := range replies { // values that all replicas of a rank have in common at a safe point
		at := r.sharing.position()
		replies[i].Sections, replies[i].Signature = at.Number, at.Chain
		if v := r.sharing.verifier; v != nil {
			v.horizon.At(number)
			replies[i].Sure, replies[i].State = v.horizon.Sure(), hash
		}
	}
	r.reply(replies)
	return nil
}

// reached is called at the first safe point of each run, when the state of the program
// is complete.
func (r *recovering) reached() error {
	r.messages.Load().Resume()
	if !r.setup.Recovery {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.program.restored {
		r.head.Reply(job.Reply{Kind: job.ReplyFirst, Generation: r.member.Generation()})
	}
	return nil
}

// order carries out an order of the head. Orders arrive in the order in which the head
// sent them, after the deaths that it declared before them.
func (r *recovering) order(o job.Order) {
	switch o.Kind {
	case job.OrderAsk:
		r.faults.Step(job.KillJoin, "ask")
	case job.OrderComplete:
		r.faults.Step(job.KillBackup, "complete")
	}
	r.mu.Lock()
	if o.Kind == job.OrderSettled || o.Kind == job.OrderAgain {
		r.second.answer = &o
		r.mu.Unlock()
		r.changed()
		return
	}
	var points uint64
	if r.startAt != nil { // the run does not stop at the safe point at which it began
		points = r.startAt.Point
	}
	if p := r.program; p != nil {
		p.due.Store(true) // set before points is read: see Program.due
		points = max(points, p.points.Load())
		if p.second != nil {
			points = max(points, p.second.to)
		}
	}
	replies := r.member.Order(o, points)
	if p := r.program; p != nil {
		p.due.Store(r.member.Due())
	}
	r.back.Order(o)
	if v := r.sharing.verifier; v != nil && (o.Kind == job.OrderGo || o.Kind == job.OrderResume) {
		v.entire = o.Entire
	}
	switch o.Kind {
	case job.OrderAdmit, job.OrderRollback:
		r.sharing.scattered = slices.Contains(o.Scattered, r.setup.Self.Rank)
	}
	switch o.Kind {
	case job.OrderAdmit:
		for _, q := range o.Joined {
			delete(r.outbound, q.Process)
		}
	case job.OrderCancel:
		if r.stopDrain != nil {
			r.stopDrain()
		}
	case job.OrderComplete:
		r.slots.Complete(o.Number, o.Older)
	case job.OrderRenew:
		r.renew(o)
	case job.OrderRollback:
		r.rollback(o)
	case job.OrderResume:
		r.newMember(o)
	case job.OrderFail:
		r.fail(o)
	}
	r.mu.Unlock()
	r.reply(replies)
	r.changed()
}

// position returns the position of this rank at the cut. The caller holds the lock.
func (r *recovering) position(number uint64) (*rankPosition, error) {
	messages, err := r.messages.Load().Position()
	if err != nil {
		return nil, fmt.Errorf("safe point %d: %w", number, err)
	}
	return &rankPosition{Section: r.sharing.position(), Point: number, messages: messages}, nil
}
