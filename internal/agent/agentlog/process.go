package agentlog

import (
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// State is what an agent reports of a process to a successor of the head before it
// repeats anything.
type State struct {
	ID          job.Process `json:"id"` // with Incarnation the name by which the agent knows it
	Incarnation uint32      `json:"incarnation"`
	PID         int         `json:"pid"`    // 0: it is not started yet, or could not be
	Joined      bool        `json:"joined"` // it has proved itself
	Begun       bool        `json:"begun"`  // it was sent job.KindStart: all had joined
	// What it writes is output if it is Voiced, since the Resume of that Generation.
	Voiced     bool   `json:"voiced"`
	Generation uint32 `json:"generation"`
	Freed      bool   `json:"freed"` // it was sent job.KindRelease
}

// Name tells the processes of an agent apart: as what it was started, and in which
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

	history  []entry[S]   // in the order in which it was sent, only the latest of what replaces earlier ones
	said     replies[int] // which replies in the history a successor needs, by entry.reply
	numbered int          // replies so far

	// What was passed on to the process.
	heard  orders
	placed bool
	linked map[job.Process]uint32 // for each place, the incarnation of the latest process to which it got a link by a message
	epoch  uint64                 // of the last verdict
}

// Sent is something that the agent has sent to the head: a message of the process
// or, if Message is nil, what the agent has seen of it.
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

// Note keeps what the agent has seen of the process.
func (p *Process[S, X]) Note(seen S) {
	p.history = append(p.history, entry[S]{Sent: Sent[S]{Seen: seen}})
}

// Say keeps a message of the process, as far as a successor of the head needs it.
// now is the time on any clock that goes on for as long as the agent lives.
func (p *Process[S, X]) Say(m *job.Message, now time.Duration) {
	e := entry[S]{Sent: Sent[S]{Message: m}, at: now}
	switch m.Kind {
	case job.KindTrace: // the timeline is lost with the head
		return
	case job.KindStats: // each counts from the start of the process
		p.drop(func(old *entry[S]) bool { return old.is(job.KindStats) })
	case job.KindSuspect, job.KindMended: // the last one counts
		p.drop(func(old *entry[S]) bool { return old.is(job.KindSuspect) && *old.Message.Process == *m.Process })
		if m.Kind == job.KindMended { // as if the link had never ended
			return
		}
	case job.KindReply:
		if m.Reply.Kind == job.ReplyReady { // in the life that begins the program has not returned
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

// forget drops the replies that no successor needs.
func (p *Process[S, X]) forget() {
	said := p.said.list()
	p.drop(func(e *entry[S]) bool { return e.reply > 0 && !slices.Contains(said, e.reply) })
}

// Repeat returns what a successor of the head has to receive, in the order in which
// it was sent first. A message whose time matters tells how long ago that was.
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

// Pass reports whether the process is to receive a message of the head. It must not
// receive twice what a successor sends again; of kinds that are not named here a
// second one does no harm.
func (p *Process[S, X]) Pass(m *job.Message) bool {
	switch m.Kind {
	case job.KindSetup:
		if p.placed {
			return false
		}
		p.placed, p.epoch = true, m.Epoch // earlier verdicts do not concern it
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
		if !p.heard.pass(*m.Order) {
			return false
		}
		p.said.order(*m.Order)
		p.forget()
	case job.KindVerdict:
		if m.Verdict.Epoch <= p.epoch {
			return false
		}
		p.epoch = m.Verdict.Epoch
	case job.KindRelease:
		if p.Freed {
			return false
		}
		p.Freed = true
	}
	return true
}

// Resume reports whether the output of the process has to go on now, in that
// generation. It has not if an earlier head has ordered the same.
func (p *Process[S, X]) Resume(generation uint32) bool {
	if p.Voiced && generation <= p.Generation {
		return false
	}
	p.Voiced, p.Generation = true, generation
	return true
}
