package simulation

import (
	"slices"

	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/job"
)

// mayBeLost reports whether another head could replace this one.
func (l *leader) mayBeLost() bool {
	return l.w.heirs > 0 && l.head != nil && l.booted && !l.head.Ended()
}

// succeeds reports whether another head may follow this one, so that agents record what it needs.
func (w *world) succeeds() bool { return w.heirs > 0 || w.spec.moves }

// isStruck decides at random whether the head is lost now, once in steady steps. If the plan says
// so (busy), the head is lost only while it handles a death, once in busy steps.
func (l *leader) isStruck(steady, busy int) bool {
	if !l.mayBeLost() {
		return false
	}
	if !l.w.spec.busy {
		return l.w.random.IntN(steady) == 0
	}
	return len(l.state.Verdicts) > 0 && (len(l.asked) > 0 || l.state.Recovery.Rolling) && l.w.random.IntN(busy) == 0
}

// loseHead ends the head. Some of its proposals and messages still arrive.
func (w *world) loseHead() {
	l := w.head
	w.heirs--
	w.seen["a head is lost"]++
	if len(l.state.Replaced) > 0 {
		w.seen["a head is lost after a replacement"]++
	}
	if l.state.Recovery.Rolling {
		w.seen["a head is lost in a rollback"]++
	}
	n := w.random.IntN(len(l.asked) + 1)
	if n < len(l.asked) {
		w.seen["a decision is lost"]++
	}
	for _, e := range l.asked[:n] {
		l.apply(e)
	}
	for n := w.random.IntN(len(l.start) + 1); n > 0; n-- {
		l.begin()
	}
	l.head, l.asked, l.next, l.start, l.late, l.deciding = nil, nil, nil, nil, nil, 0
	clear(l.quiets)
	for _, p := range w.processes {
		p.receive(w.random.IntN(len(p.mail) + 1))
		p.mail = nil
	}
	l.handing = false
	l.absent = w.random.IntN(2) * w.random.IntN(100)
}

// succeed starts the successor of the lost head. The successor knows the log, and the
// agents repeat the rest.
func (w *world) succeed() {
	l := w.head
	w.turnAway()
	for len(l.losing) > 0 {
		l.declareLost()
	}
	if w.spec.moves {
		w.settleHead()
	}
	for _, p := range w.processes {
		if p.lost {
			continue
		}
		for _, e := range p.says[p.held:] {
			p.note(e)
		}
		if p.says, p.held = nil, 0; !p.replaced() {
			p.repeat()
		}
	}
	l.term++
	l.truth.succeed(l)
	h, acts := head.Restore(l.config(), head.Succession{State: l.state.Clone(), Agents: w.resync(), Term: l.term, Joined: l.joined}, l.now())
	l.head = h
	l.perform(acts)
	for _, id := range w.nodes {
		if w.signalled[id] && w.there(id) { // the agent repeats its notice
			l.notified(id)
		}
	}
}

// spares counts the processes that wait for a slot, as far as the head can know of them.
func (l *leader) spares() (n int) {
	for _, p := range l.w.processes {
		if p.role == head.Spare && p.self == p.from.ID && !p.dead && !l.leaves(p) && !l.truth.promised[p.from.ID] && !slices.ContainsFunc(p.says, isJoined) {
			n++
		}
	}
	return n
}

// tooFewSpares reports whether no spare is left for one of the ranks that have
// lost all replicas.
func (l *leader) tooFewSpares() bool {
	missing := 0
	for rank := range l.w.spec.degrees {
		if l.alive(rank) == 0 {
			missing++
		}
	}
	return !l.w.spec.start && l.spares() < max(1, missing)
}

func isJoined(e head.Event) bool { _, is := e.(head.Joined); return is }

func endpoint(p job.Process, incarnation uint32) job.Endpoint {
	return job.Endpoint{Process: p, Incarnation: max(incarnation, firstLife)}
}
