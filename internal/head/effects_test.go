package head

import (
	"maps"
	"slices"
	"strings"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// This file checks that the actions of a head rest on decisions that are kept, and that every
// kill is permitted.

// checkSend checks that a message to a process rests on a decision.
func (w *world) checkSend(a Send) {
	past, ok := &w.state.Recovery, true
	switch m := a.Message; m.Kind {
	case job.KindStart:
		ok = w.state.Started
	case job.KindVerdict:
		ok = m.Verdict.Epoch <= uint64(len(w.state.Verdicts))
	case job.KindRelease:
		p := w.agent(a.Node).find(a.To)
		ok = w.state.Released || p != nil && (p.setup == nil || p.setup.Joiner) && !p.placed
	case job.KindEnd:
		ok = w.state.Decided
	case job.KindOrder:
		switch o := m.Order; o.Kind {
		case job.OrderAsk:
			ok = o.Round <= past.Round
		case job.OrderCutAt:
			ok = o.Number == past.CutAt
		case job.OrderAdmit:
			ok = past.Admitting
		case job.OrderGo:
			ok = o.Number <= past.Cut
		case job.OrderComplete:
			ok = o.Number == past.Complete
		case job.OrderRollback:
			ok = o.Generation == past.Generation && past.Rolling
		case job.OrderResume:
			ok = !past.Rolling
		}
	}
	if !ok {
		w.failf("%s, although no kept decision says so", describe(a))
	}
}

// ends are the two ends of a link.
type ends [2]job.Endpoint

// recordLinks records the head's knowledge of links.
func (w *world) recordLinks(s Said) {
	m := s.Message
	if m.Kind != job.KindSuspect && m.Kind != job.KindMended {
		return
	}
	if p := w.agent(s.Node).find(s.From); p != nil {
		w.broken[ends{{Process: p.process, Incarnation: p.incarnation}, {Process: *m.Process, Incarnation: m.Incarnation}}] = m.Kind == job.KindSuspect
	}
}

// checkKill checks a kill. If the cause is a broken link, the rank of the victim can continue
// without it. If the victim was stopped, another replica of the rank remains.
func (w *world) checkKill(a Kill) {
	m := w.head.members.byAgent[a.To]
	if m.ending == nil || m.fenced == 0 || w.head.phase != working {
		return
	}
	last := m.role == First && w.head.members.alive(m.process.Rank) == 1
	if strings.Contains(m.ending.detail, "leaves") {
		w.seen["a process that leaves is fenced"]++
		if last {
			w.failf("%s, the last of its rank, because it leaves", describe(a))
		}
		return
	}
	switch m.ending.cause {
	case job.CauseLink:
		w.seen["an end of a link is fenced"]++
		if last && w.state.Recovery.Complete == 0 {
			w.failf("%s, the last of its rank, because of a link", describe(a))
		}
		why := false
		for link, broken := range w.broken {
			for i, e := range link {
				other := w.head.members.holder(link[1-i].Process, link[1-i].Incarnation)
				why = why || broken && e == job.Endpoint{Process: m.process, Incarnation: m.incarnation} && !w.agent(other.from.Node).lost
			}
		}
		if !why {
			w.failf("%s, because of a link that is whole, or to a host that is lost", describe(a))
		}
	case job.CauseFenced:
		w.seen["a stopped process is fenced"]++
		running := false
		for _, x := range w.agents {
			for _, p := range x.all {
				running = running || p.process.Rank == m.process.Rank && p.from != m.from && w.head.members.byAgent[p.from].state.there() && w.now-p.since >= stoppedFor
			}
		}
		if last || !running {
			w.failf("%s, because it was stopped, although no replica of its rank is running", describe(a))
		}
	}
}

// checkVerdict checks that a process that is declared dead can no longer act.
func (w *world) checkVerdict(v job.Verdict) {
	for _, a := range w.agents {
		for _, p := range a.all {
			if p.process == v.Process && p.incarnation == v.Incarnation && !p.dead && !a.lost {
				w.failf("%v, %+v, is declared dead and still lives", p, v)
			}
		}
	}
}

// checkPlaced checks that a process which is started was placed, and that the
// slot is free.
func (w *world) checkPlaced(a Start) {
	at := w.state.Places[a.Process]
	if a.Role == Spare {
		at = w.state.Spares[a.Process]
	}
	if w.reliefs[job.Endpoint{Process: a.Process, Incarnation: a.Incarnation}] {
		return // the process was placed beside the one that it is to relieve
	}
	if at.Incarnation < a.Incarnation {
		w.failf("%+v is started without a kept placement: %+v", a, at)
	}
	for from, o := range w.outputs {
		if o.process == a.Process && from != a.To && !o.settled && !(o.muted && w.relieves(from, a.Process)) {
			w.failf("%+v is started while %v may still write", a, from)
		}
	}
}

// relieves reports whether a process, perhaps a spare, was placed to relieve the one in a slot.
func (w *world) relieves(from From, slot job.Process) bool {
	if from.ID != slot {
		return slices.ContainsFunc(slices.Collect(maps.Keys(w.reliefs)), func(r job.Endpoint) bool { return r.Process == slot })
	}
	return w.reliefs[job.Endpoint{Process: slot, Incarnation: from.Incarnation}]
}

// checkNoSpare checks that no spare waits on a host that stays.
func (w *world) checkNoSpare(text string) {
	for id, at := range w.state.Spares {
		log := w.agent(at.Node).log.Latest(id)
		if log == nil {
			continue
		}
		if p := log.With; at.Status == decision.Running && !w.state.Leaves(at.Node) && p.hello && !p.dead && !p.stuck && !p.agent.lost {
			w.failf("%s, although spare %v waits", text, p)
		}
	}
}
