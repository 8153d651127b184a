package agentlog

import (
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// State is an agent's report of a process to a new head. The agent sends it before it repeats
// anything.
type State struct {
	ID          job.Process `json:"id"` // with Incarnation, the name by which the agent knows the process
	Incarnation uint32      `json:"incarnation"`
	PID         int         `json:"pid"`    // 0: the process was not started yet, or failed to start
	Joined      bool        `json:"joined"` // the process has authenticated itself
	Begun       bool        `json:"begun"`  // the process was sent job.KindStart: all had joined
	// Voiced means that the output of the process counts, since the Resume of that Generation.
	Voiced     bool   `json:"voiced"`
	Generation uint32 `json:"generation"`
	Freed      bool   `json:"freed"` // the process was sent job.KindRelease
}

// Name identifies a process of an agent: the ID that it was started with, and its
// incarnation.
type Name struct {
	ID          job.Process
	Incarnation uint32
}

// Name returns the name by which the agent knows the process.
func (s *State) Name() Name { return Name{s.ID, s.Incarnation} }

// Process is the log of one process.
type Process[S, X any] struct {
	State
	With X

	history  []entry[S]   // in the order of sending; a later entry may replace an earlier one
	said     replies[int] // replies in the history that a new head needs, by entry.reply
	numbered int          // number of replies so far

	// State of the messages that were passed on to the process.
	orders orders
	placed bool
	linked map[job.Process]uint32 // for each slot, the latest incarnation to which a message has linked the process
	epoch  uint64                 // epoch of the last verdict
}

// Sent is a message that the agent has sent to the head: a message of the process or, if
// Message is nil, an observation of the agent.
type Sent[S any] struct {
	Message *job.Message
	Seen    S
}

type entry[S any] struct {
	Sent[S]
	reply int           // number of a reply about recovery, from 1
	at    time.Duration // when the agent sent it
}

// is reports whether an entry is a message of one of these kinds.
func (e *entry[S]) is(kinds ...job.Kind) bool {
	return e.Message != nil && slices.Contains(kinds, e.Message.Kind)
}

// Note records an observation of the process.
func (p *Process[S, X]) Note(seen S) {
	p.history = append(p.history, entry[S]{Sent: Sent[S]{Seen: seen}})
}

// Say records a message of the process, if a new head needs it. now is the time on any clock
// that runs as long as the agent lives.
func (p *Process[S, X]) Say(m *job.Message, now time.Duration) {
	e := entry[S]{Sent: Sent[S]{Message: m}, at: now}
	switch m.Kind {
	case job.KindTrace: // the timeline is lost with the head
		return
	case job.KindStats: // counts are cumulative, so the last message is enough
		p.drop(func(old *entry[S]) bool { return old.is(job.KindStats) })
	case job.KindSuspect, job.KindMended: // only the last message about a link counts
		p.drop(func(old *entry[S]) bool { return old.is(job.KindSuspect) && *old.Message.Process == *m.Process })
		if m.Kind == job.KindMended { // as if the link had never ended
			return
		}
	case job.KindReply:
		if m.Reply.Kind == job.ReplyReady { // a rollback restarts the program, so its earlier end does not count
			p.drop(func(old *entry[S]) bool { return old.is(job.KindFinish, job.KindDrained) })
		}
		p.numbered++
		e.reply = p.numbered
		p.said.say(*m.Reply, e.reply)
	}
	p.history = append(p.history, e)
	p.forget()
}

func (p *Process[S, X]) drop(is func(*entry[S]) bool) {
	p.history = slices.DeleteFunc(p.history, func(e entry[S]) bool { return is(&e) })
}

// forget drops the replies that no new head needs.
func (p *Process[S, X]) forget() {
	said := p.said.list()
	p.drop(func(e *entry[S]) bool { return e.reply > 0 && !slices.Contains(said, e.reply) })
}

// Repeat returns the messages for a new head, in the order of sending. In a message whose time
// matters, it sets how long ago the agent sent it.
func (p *Process[S, X]) Repeat(now time.Duration) []Sent[S] {
	all := make([]Sent[S], 0, len(p.history))
	for i := range p.history {
		e := &p.history[i]
		s := e.Sent
		if e.is(job.KindHandled) {
			m := *e.Message
			m.Ago = now - e.at
			s.Message = &m
		}
		all = append(all, s)
	}
	return all
}

// Pass reports whether the process has to receive a message of the head. A new head repeats
// messages, some of which the process must not receive twice. Repeating a kind that is not
// listed here does no harm.
func (p *Process[S, X]) Pass(m *job.Message) bool {
	switch m.Kind {
	case job.KindSetup:
		if p.placed {
			return false
		}
		p.placed, p.epoch = true, m.Epoch // earlier verdicts do not concern the process
	case job.KindConnect:
		q := m.Peers[0]
		if q.Incarnation <= p.linked[q.Process] {
			return false
		}
		if p.linked == nil {
			p.linked = make(map[job.Process]uint32)
		}
		p.linked[q.Process] = q.Incarnation
	case job.KindStart:
		if p.Begun {
			return false
		}
		p.Begun = true
	case job.KindOrder:
		if !p.orders.pass(*m.Order) {
			return false
		}
		p.said.order(*m.Order)
		p.forget()
	case job.KindVerdict:
		if m.Verdict.Epoch <= p.epoch {
			return false
		}
		p.epoch = m.Verdict.Epoch
		p.said.dead(m.Verdict.Process, m.Verdict.Incarnation)
		p.forget()
	case job.KindRelease:
		if p.Freed {
			return false
		}
		p.Freed = true
	}
	return true
}

// Resume reports whether the output of the process has to continue now, in that generation. It
// returns false if an earlier head has already ordered that.
func (p *Process[S, X]) Resume(generation uint32) bool {
	if p.Voiced && generation <= p.Generation {
		return false
	}
	p.Voiced, p.Generation = true, generation
	return true
}
