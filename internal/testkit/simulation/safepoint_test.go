package simulation

import (
	"context"
	"errors"
	"fmt"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
	"github.com/intrahpc/intra/transport/sdr"
)

// safePoint performs the steps that are due at a safe point of the program.
func (p *process) safePoint(point uint64) error {
	p.member.Enter(point)
	for {
		seen := p.changes
		if p.err != nil {
			return p.err
		}
		step := p.member.Next()
		if step.Kind == recovery.Pass {
			p.program.due = p.member.Due()
			return nil
		}
		if err := p.step(step, seen); err != nil {
			return err
		}
	}
}

// step performs one step of a safe point.
func (p *process) step(s recovery.Step, seen uint64) error {
	switch s.Kind {
	case recovery.Transfer, recovery.Copy, recovery.Save:
		if g := p.program; g != nil {
			g.output.settle()
		}
		if p.program == nil { // the job rolls back
			return nil
		}
	}
	switch s.Kind {
	case recovery.Wait:
		return p.waitChange(seen)
	case recovery.Drain:
		return p.drain(s.Number)
	case recovery.Donate:
		return p.donate(s.Process)
	case recovery.Transfer:
		return p.transfer(s.Process)
	case recovery.Admit:
		return p.admit(s.Joined)
	case recovery.Copy:
		return p.copyState(s.Number, s.Process)
	case recovery.Save:
		return p.save(s.Number, s.Set)
	case recovery.Leave:
		p.stands = false
		if g := p.program; g != nil && g.output.m != nil { // a joiner begins its program in this cut
			g.output.m.Passed(s.Number)
		}
		p.pause()
		if len(s.Joined) == 0 {
			if err := p.endCut(); err != nil {
				return err
			}
		}
		p.reach("go")
		return nil
	case recovery.GiveUp:
		p.stands = false
		p.pause()
		p.msgs.CancelCut()
		p.pause()
		return nil
	case recovery.Back:
		return errBack
	}
	return fmt.Errorf("unknown step %d", s.Kind)
}

// cut ends a cut in the messages. Messages that were received beyond the cut are reported
// again, and so hashed again. See process.sum.
func (p *process) cut(joined ...sdr.Joiner) error {
	p.cutting = true
	defer func() { p.cutting = false }()
	return p.msgs.Cut(joined...)
}

// endCut ends the cut: no message from before the cut may be kept after that.
func (p *process) endCut(joined ...sdr.Joiner) error {
	if err := p.cut(joined...); err != nil {
		return err
	}
	if p.dead { // the process died while it sent an acknowledgement of the cut, so its links hold nothing
		return nil
	}
	if p.program != nil {
		p.foundInCut(p.program.points, joined)
	}
	kept, _ := p.msgs.Retained()
	for _, l := range p.w.order {
		if l.From == p {
			kept -= l.Waiting()
		}
	}
	if kept > 0 && p.msgs.Failure() == nil {
		p.w.fail("%v keeps %d messages from before the cut:\n%s", p, kept, p.msgs.Describe())
	}
	return nil
}

// drain receives every message that was sent before the cut.
func (p *process) drain(number uint64) error {
	ctx, stop := context.WithCancel(p.life)
	defer stop()
	p.stopDrain, p.cutAt = stop, nil
	p.pause()
	err := p.msgs.Drain(ctx, number)
	if err == nil && p.w.spec.compared {
		err = p.msgs.SumsReceived(ctx)
	}
	if err == nil {
		p.reach("drain")
	}
	p.pause()
	p.stopDrain = nil
	if err != nil && (!p.member.Cancelled() || !errors.Is(err, context.Canceled) && !errors.Is(err, sdr.ErrCancelled) && !errors.Is(err, errBack)) {
		return err
	}
	p.stands = true
	p.reply(p.member.Drained()...)
	return nil
}

// order carries out an order of the head.
func (p *process) order(o job.Order) {
	w := p.w
	w.seen["order "+string(o.Kind)]++
	if o.Kind == job.OrderAsk && !p.at("ask") || o.Kind == job.OrderComplete && !p.at("complete") {
		return
	}
	var points uint64
	if p.startAt != nil { // the life began at a safe point that it does not report to the head
		points = p.startAt.point
	}
	if g := p.program; g != nil {
		g.due = true
		points = max(points, g.points)
	}
	if o.Kind == job.OrderRollback && p.back.Pending() {
		w.seen["a rollback overtakes another"]++
	}
	replies := p.member.Order(o, points)
	p.back.Order(o)
	if g := p.program; g != nil {
		g.due = p.member.Due()
	}
	switch o.Kind {
	case job.OrderAdmit:
		for _, q := range o.Joined {
			delete(p.outbound, q.Process)
		}
	case job.OrderCancel:
		if p.stopDrain != nil {
			p.stopDrain()
		}
	case job.OrderComplete:
		p.slots.Complete(o.Number, o.Older)
	case job.OrderRenew:
		s, ok := p.slots.Get(o.Rank, o.Number)
		if ok {
			p.giveTo(s, o.Process, label{errand: errandBackup, rank: o.Rank, number: o.Number}, "backup send")
		} else if w.head.term == 0 || o.Number == p.slots.Full() { // otherwise a lost head ordered this, for a backup that it has not completed
			w.fail("%v does not hold the backup %d of rank %d that it has to send", p, o.Number, o.Rank)
		}
	case job.OrderRollback:
		p.rollback(o)
	case job.OrderResume:
		p.member = recovery.NewMember(p.self, o.Generation, o.Next)
	}
	p.reply(replies...)
	p.changed()
}

// position returns the position of this rank at the cut.
func (p *process) position(number uint64) (*position, error) {
	at, err := p.msgs.Position()
	if err != nil {
		return nil, fmt.Errorf("safe point %d: %w", number, err)
	}
	messages, err := at.MarshalBinary()
	where := p.machine.Position()
	p.once.Position(&where)
	return &position{section: where, point: number, messages: messages}, err
}

// positionInCut returns the position of p in its present cut.
func (p *process) positionInCut(number uint64) (*position, error) {
	if p.cutAt != nil {
		return p.cutAt, nil
	}
	return p.position(number)
}

// admit makes joiners live.
func (p *process) admit(joined []job.Peer) error {
	if p.program != nil {
		var err error
		if p.cutAt, err = p.position(p.program.points); err != nil {
			return err
		}
	}
	var newcomers []sdr.Joiner
	for _, q := range joined {
		newcomers = append(newcomers, sdr.Joiner{Rank: q.Process.Rank, Replica: q.Process.Replica, Incarnation: q.Incarnation})
		p.lives[q.Process] = q.Incarnation
		if q.Process.Rank == p.self.Rank && q.Process != p.self {
			p.machine.Alive(q.Process.Replica)
			p.once.Alive(q.Process.Replica)
		}
	}
	p.pause()
	if err := p.endCut(newcomers...); err != nil {
		return err
	}
	for _, q := range joined {
		if q.Process != p.self && p.wires.Find(q.Process, q.Incarnation) == nil {
			p.bury(q.Process)
		}
	}
	p.reach("admit")
	p.pause()
	p.reply(p.member.Admitted()...)
	return nil
}
