package head

import (
	"slices"
	"syscall"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// This file contains the program of a process: its steps from safe point to safe point, and
// its rollbacks.

// goBack returns the next step of a rollback.
func (p *proc) goBack() func() {
	before := p.back
	s := p.back.Next(p.process)
	p.back = before // restored, since the move asks the machine again
	if s.Kind == recovery.Await {
		return nil
	}
	return func() {
		w := p.agent.w
		s := p.back.Next(p.process)
		switch s.Kind {
		case recovery.Give:
			for _, d := range s.Order.Deals {
				if d.From != p.process || d.To == p.process {
					continue
				}
				held, ok := p.slots.Get(d.To.Rank, s.Order.Number)
				if !ok {
					w.failf("%v does not hold the backup %d of rank %d", p, s.Order.Number, d.To.Rank)
					return
				}
				w.send(&packet{from: p, kind: "deal", gen: s.Order.Generation, rank: d.To.Rank, number: s.Order.Number, state: held}, d.To)
			}
		case recovery.Restore:
			was := s.State
			if s.Own {
				var ok bool
				if was, ok = p.slots.Get(p.process.Rank, s.Order.Number); !ok {
					w.failf("%v does not hold the backup %d of its own rank", p, s.Order.Number)
					return
				}
			} else {
				p.slots.Put(p.process.Rank, s.Order.Number, was)
			}
			if was.point != s.Order.Number {
				w.failf("%v rolls back to %d with the state of %d", p, s.Order.Number, was.point)
			}
			p.point, p.lines, p.placed, p.dispute = was.point, was.lines, true, nil
		}
		p.reply(p.back.Did(s))
	}
}

// may reports whether the other ranks let the process continue from safe point
// k.
func (p *proc) may(k uint64) bool {
	w := p.agent.w
	for rank := range w.spec.degrees {
		ok := rank == p.process.Rank || w.state.Drained[rank]
		for _, a := range w.agents {
			for _, q := range a.all {
				ok = ok || !q.dead && q.begun && !q.waits && q.process.Rank == rank && q.gen == p.gen && !q.back.Pending() && (q.point >= k || q.done)
			}
		}
		if !ok {
			return false
		}
	}
	return true
}

// pass1 returns the move to the next safe point, or to the end.
func (p *proc) pass1() func() {
	w := p.agent.w
	if !p.may(p.point) {
		return nil
	}
	if p.point == w.spec.steps {
		return func() {
			p.done = true
			p.say(&job.Message{Kind: job.KindFinish, Stats: &job.Stats{Sections: int64(w.spec.steps)}})
		}
	}
	return func() {
		for i, k := range p.setup.Kills {
			if k.Count == int64(p.point) && !p.kills[i] {
				p.kills[i] = true
				p.say(&job.Message{Kind: job.KindFired, Kill: &k, Stats: new(job.Stats)})
				w.seen["a kill is carried out"]++
				if w.random.IntN(4) > 0 {
					p.kill(syscall.SIGKILL)
				} else {
					p.begun = false // the process does nothing until it is killed
				}
				return
			}
		}
		p.agent.outbox = append(p.agent.outbox, line{p, p.lines})
		p.lines++
		p.point++
		if !p.first && p.setup.Recovery {
			p.first = true
			p.reply([]job.Reply{{Kind: job.ReplyFirst, Generation: p.gen}})
		}
		if p.m.Due() {
			p.m.Enter(p.point)
			p.inPoint = true
		}
	}
}

// inside returns the next move inside a safe point, or nil.
func (p *proc) inside() func() {
	before := *p.m
	s := p.m.Next()
	*p.m = before // restored, since the move asks the machine again
	switch s.Kind {
	case recovery.Wait:
		return nil
	case recovery.Back:
		return func() { p.inPoint = false }
	case recovery.Drain:
		if !p.m.Cancelled() && !p.may(p.point) {
			return nil
		}
	}
	return func() { p.stepInside(p.m.Next()) }
}

func (p *proc) stepInside(s recovery.Step) {
	w := p.agent.w
	if p.relieved && s.Kind != recovery.Transfer {
		w.failf("%v takes step %d after it was relieved", p, s.Kind)
	}
	now := state{p.point, p.lines}
	switch s.Kind {
	case recovery.Pass, recovery.GiveUp:
		p.inPoint = false
	case recovery.Drain:
		p.reply(p.m.Drained())
	case recovery.Donate:
		p.reply(p.m.Donated(s.Process, w.random.IntN(2) == 0))
	case recovery.Transfer:
		p.m.Transferred(s.Process)
		w.send(&packet{from: p, kind: "state", gen: p.gen, full: p.slots.Full(), number: s.Number, state: now}, s.Process)
	case recovery.Admit:
		p.placed = true
		p.reply(p.m.Admitted())
	case recovery.Copy:
		p.slots.Put(p.process.Rank, s.Number, now)
		stored := job.Reply{Kind: job.ReplyStored, Generation: p.gen, Number: s.Number, Rank: p.process.Rank, Seconds: 0.001, Bytes: 8}
		p.reply([]job.Reply{stored})
		w.send(&packet{from: p, kind: "slot", gen: p.gen, full: p.slots.Full(), rank: p.process.Rank, number: s.Number, state: now}, s.Process)
	case recovery.Save:
		f := file(p.process.Rank)
		r := job.Reply{Kind: job.ReplySaved, Generation: p.gen, Number: s.Number, Set: s.Set, File: &f}
		if w.random.IntN(10) == 0 {
			r.File, r.Text = nil, "no space left on device"
		}
		p.reply([]job.Reply{r})
	case recovery.Leave:
		p.inPoint = false
	}
}

func file(rank int) checkpoint.File { return checkpoint.File{Rank: rank, Bytes: 8, Sum: uint64(rank)} }

// send puts state on its way to the process in a slot. The state of a joiner goes to the
// process that relieves the one in the slot, if there is one.
func (w *world) send(p *packet, to job.Process) {
	incarnation := w.state.Places[to].Incarnation
	if r, ok := w.state.Reliefs[to]; ok && p.kind == "state" {
		incarnation = r.Incarnation
	}
	for _, a := range w.agents {
		for _, q := range a.all {
			if !q.dead && q.m != nil && q.process == to && q.incarnation == incarnation {
				p.to = q
				w.packets = append(w.packets, p)
				return
			}
		}
	}
}

// deliver delivers state to a process.
func (w *world) deliver(i int, p *packet) {
	w.packets = slices.Delete(w.packets, i, i+1)
	q := p.to
	if q.dead {
		return
	}
	switch p.kind {
	case "state":
		if q.placed || !q.setup.Joiner || !q.m.Takes(p.gen, p.number) { // the state is too late
			return
		}
		q.point, q.lines, q.gen = p.state.point, p.state.lines, p.gen
		q.m = recovery.NewJoiner(q.process, p.gen, p.number)
		q.slots.Reached(p.full)
		q.waits, q.inPoint, q.first = false, true, true
		q.reply(q.m.Joined())
	case "slot":
		if p.gen != q.gen {
			return
		}
		q.slots.Reached(p.full)
		if q.slots.Put(p.rank, p.number, p.state) {
			q.reply([]job.Reply{{Kind: job.ReplyStored, Generation: q.gen, Number: p.number, Rank: p.rank}})
		}
	case "deal":
		q.back.Given(p.gen, p.state)
	}
}
