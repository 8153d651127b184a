package sdr

import (
	"errors"
	"fmt"
	"slices"

	"github.com/intrahpc/intra/transport"
)

// A program may wait for messages that never arrive, because the program of their source
// has returned. After a while such a wait asks a replica of that rank to report when it has
// finished. One question per stream is enough, and messages that arrive cause no cost. The
// answer contains the number of messages in the stream, so the asking process still waits for
// messages that are on their way. In the same way a send that waits to be received asks the
// destination. The destination answers when it knows that it will never receive the message.

// ErrFinished reports that a call would wait forever, because the programs of all ranks
// that it waits for have returned.
var ErrFinished = errors.New("waits for a rank that has finished")

// FinishedError wraps ErrFinished and names the ranks.
type FinishedError struct {
	Rank int // the rank that waits, in the job
	For  int // the rank that has finished, or Any if all possible senders have
}

// Error implements error.
func (e *FinishedError) Error() string {
	if e.For == Any {
		return fmt.Sprintf("rank %d waits for any other rank, and all have finished", e.Rank)
	}
	return fmt.Sprintf("rank %d waits for rank %d, which has finished", e.Rank, e.For)
}

// Unwrap implements errors.
func (e *FinishedError) Unwrap() error { return ErrFinished }

// ErrMismatch reports that the purpose of a message differs from that of its receive.
var ErrMismatch = errors.New("message for another purpose")

// Mismatch wraps ErrMismatch and describes how a message and its receive differ.
type Mismatch struct {
	Source       int // rank in the job
	Theirs, Mine int // purposes of the message and of the receive
}

// Error implements error.
func (m *Mismatch) Error() string {
	return fmt.Sprintf("message of rank %d for another purpose: %x, want %x", m.Source, m.Theirs, m.Mine)
}

// Unwrap implements errors.
func (m *Mismatch) Unwrap() error { return ErrMismatch }

// Values of Args[2] of kindAsk and kindFinished.
const (
	askSent = iota
	askTaken
)

// ask is a question that this process will answer when its program has
// returned.
type ask struct {
	p       int // process that asks
	context uint64
	exact   bool
	what    uint64 // askSent or askTaken
	number  uint64 // number of a message of p
}

// finishing detects waits that cannot end because programs have returned.
type finishing struct {
	job      *job
	out      *outbox
	contexts *contexts
	outgoing *outgoing
	matching *matching
	asks     []ask // from processes that wait for this rank to finish
}

// Hopeless returns a *FinishedError if req, which is not complete, can never complete.
// Otherwise it asks the processes that req waits for to report when they have finished,
// unless it has asked them before.
func (f *finishing) Hopeless(req *Request) error {
	switch {
	case req.endOf != nil:
		return f.hopelessScript(req.endOf)
	case req.sends != nil:
		return f.hopelessSend(req.sends)
	case req.place.line == nil: // req is not posted
		return nil
	}
	return f.hopelessReceive(req)
}

// hopelessScript implements Hopeless for a script: a round that lacks one message never
// ends.
func (f *finishing) hopelessScript(s *Script) (err error) {
	for rank := range f.job.ranks {
		if in := s.ctx.in[rank]; in != nil {
			for r := range in.posted.receives() {
				if r.script == s && err == nil {
					err = f.hopelessReceive(r)
				}
			}
		}
		if out := s.ctx.out[rank]; out != nil {
			for _, m := range out.kept {
				if m != nil && m.req != nil && m.req.script == s && err == nil {
					err = f.hopelessSend(m)
				}
			}
		}
	}
	return err
}

// hopelessReceive implements Hopeless for a posted receive, or a probe.
func (f *finishing) hopelessReceive(req *Request) error {
	if req.source != Any {
		if f.nothingFrom(req, req.source) {
			return &FinishedError{f.job.rank, req.source}
		}
		return nil
	}
	others := false
	for rank := range f.job.ranks {
		switch {
		case rank == f.job.rank && req.ctx.in[rank].offers(req): // a message of the rank to itself may match once the leader has decided
			return nil
		case rank == f.job.rank || req.ctx.member != nil && !req.ctx.member[rank]:
		case !f.nothingFrom(req, rank):
			return nil // hopelessReceive asks the next rank when this one has finished
		default:
			others = true
		}
	}
	if !others { // the rank is alone, and its other goroutines may send
		return nil
	}
	return &FinishedError{f.job.rank, Any}
}

// nothingFrom reports whether no message of a rank will ever match a posted receive that is
// not bound to a message.
func (f *finishing) nothingFrom(req *Request, rank int) bool {
	if rank == f.job.rank {
		return false
	}
	s := req.ctx.inStream(rank)
	r := &f.job.ranks[rank]
	departed := r.through && r.live == 0 // the rank has finished, and all its messages are here
	if !s.finished && !departed {
		f.askAbout(s)
		return false
	}
	if req.ctx.exact {
		return !s.received.has(req.number) && s.live[req.number] == nil && (!s.finished || req.number >= s.total)
	}
	if s.finished && s.due < s.total {
		return false // some messages of the rank have not arrived yet
	}
	return !s.offers(req)
}

// offers reports whether a stream has an unmatched message that req accepts.
func (s *inStream) offers(req *Request) bool {
	if s == nil {
		return false
	}
	for _, m := range s.live { // messages that are known and not matched
		if m.req == nil && req.accepts(m.number, m.tag) {
			return true
		}
	}
	for m := range s.unexpected.messages() {
		if req.accepts(m.number, m.tag) {
			return true
		}
	}
	return false
}

// Through records that a rank has finished and that all processes have received its
// messages. This matters only when the rank has lost its last replica.
func (f *finishing) Through(rank int) {
	f.job.ranks[rank].through = true
	f.out.ends++
}

// askAbout asks the replica that serves this one how many messages there are in
// a stream.
func (f *finishing) askAbout(s *inStream) {
	if s.asked != 0 {
		return
	}
	k := f.job.server(f.job.ranks[s.rank].live, s.rank, f.job.rank, f.job.replica, s.ctx.exact)
	if k < 0 {
		return // no replica is left, so the job rolls back or ends
	}
	p := f.job.ranks[s.rank].first + k
	s.asked = p + 1
	f.question(p, s.ctx, askSent, 0)
}

// hopelessSend implements Hopeless for a message that waits to be received.
func (f *finishing) hopelessSend(m *Message) error {
	rank := m.stream.rank
	if m.unwanted {
		return &FinishedError{f.job.rank, rank}
	}
	if rank == f.job.rank || m.asked != 0 {
		return nil
	}
	for d := range each(m.lacking & f.job.ranks[rank].live) {
		p := f.job.ranks[rank].first + d
		m.asked = p + 1
		f.question(p, m.stream.ctx, askTaken, m.number)
		break
	}
	return nil
}

func (f *finishing) question(p int, ctx *Context, what, number uint64) {
	h := transport.Header{Kind: kindAsk}
	h.Args[0], h.Args[1], h.Args[2] = ctx.id, number, what
	if ctx.exact {
		h.Flags = flagExact
	}
	f.out.send(p, h, nil)
}

// asked records a question. It discards older questions about messages that have been
// received since, because these need no answer.
func (f *finishing) asked(p int, h *transport.Header) {
	f.asks = slices.DeleteFunc(f.asks, func(a ask) bool {
		ctx := f.contexts.byID[a.context]
		if a.what != askTaken || ctx == nil {
			return false
		}
		s := ctx.in[f.job.processes[a.p].rank]
		return s != nil && s.received.has(a.number)
	})
	f.asks = append(f.asks, ask{p: p, context: h.Args[0], exact: h.Flags&flagExact != 0, what: h.Args[2], number: h.Args[1]})
	if f.job.draining {
		f.answer()
	}
}

// answer answers the questions that can be answered, once the program has returned.
func (f *finishing) answer() {
	if len(f.asks) == 0 {
		return
	}
	open := f.asks[:0]
	for _, a := range f.asks {
		number, known := f.reply(a)
		if !known {
			open = append(open, a)
			continue
		}
		h := transport.Header{Kind: kindFinished}
		h.Args[0], h.Args[1], h.Args[2] = a.context, number, a.what
		if a.exact {
			h.Flags = flagExact
		}
		f.out.send(a.p, h, nil)
	}
	f.asks = open
}

// reply returns Args[1] of the answer to a question, and whether there is an answer by now.
func (f *finishing) reply(a ask) (number uint64, known bool) {
	rank := f.job.processes[a.p].rank
	ctx, seen := f.contexts.byID[a.context]
	if a.what == askSent {
		switch {
		case !seen:
			return 0, true // this rank never had the context
		case ctx == nil:
			return ackAll, true // the context is closed, so every live replica has received all messages
		case ctx.plans > 0:
			return 0, false // the collectives under way post more messages
		case ctx.out[rank] == nil:
			return 0, true
		}
		return ctx.out[rank].next, true
	}
	if ctx == nil || ctx.plans > 0 || ctx.in[rank] == nil {
		return 0, false // the message has been acknowledged, will be received, or has yet to arrive
	}
	for m := range ctx.in[rank].unexpected.messages() {
		if m.number == a.number && !m.whole {
			return a.number, true
		}
	}
	return 0, false
}

// receiveEnd handles the answer to a question.
func (f *finishing) receiveEnd(p int, h *transport.Header) {
	ctx := f.contexts.byID[h.Args[0]]
	if ctx == nil {
		return
	}
	rank := f.job.processes[p].rank
	if h.Args[2] == askTaken {
		if s := ctx.out[rank]; s != nil {
			if m := s.find(h.Args[1]); m != nil {
				m.unwanted = true
			}
		}
	} else {
		s := ctx.inStream(rank)
		s.finished, s.total = true, h.Args[1]
		if s.total == ackAll { // the answer was sent after all messages
			s.total = s.due
			if ctx.exact {
				s.total = s.received.low
			}
		}
	}
	f.out.ends++
	f.out.wake = true
}

// GiveUp completes a request with err, the error that Hopeless returned for it. Messages
// that a script has posted stay posted.
func (f *finishing) GiveUp(req *Request, err error) {
	switch m := req.sends; {
	case m != nil: // no replica of the destination receives the message
		m.req, m.lacking = nil, 0
		defer f.outgoing.finish(m)
	case req.endOf != nil:
		req.endOf.ctx.plans-- // the script posts no more messages
	case req.place.line != nil:
		req.place.leave()
		req.ctx.unbind(req)
		f.matching.rematch(req.ctx)
	}
	f.out.complete(req, Status{}, err)
}

// Awaited returns what an incomplete request waits for.
func (f *finishing) Awaited(req *Request) Awaited {
	switch {
	case req.endOf != nil:
		return f.awaitedScript(req.endOf)
	case req.sends != nil:
		return Awaited{Ranks: []int{req.sends.stream.rank}, Tag: req.sends.tag, Tagged: true, Moving: req.sends.inflight > 0}
	case req.ctx == nil:
		return Awaited{Moving: true} // the request is being completed
	}
	a := Awaited{Tag: req.tag, Tagged: true, Moving: req.bound != nil}
	if req.source != Any {
		a.Ranks = []int{req.source}
		return a
	}
	a.One = true
	for rank := range f.job.ranks {
		if rank != f.job.rank && (req.ctx.member == nil || req.ctx.member[rank]) {
			a.Ranks = append(a.Ranks, rank)
		}
	}
	return a
}

// awaitedScript returns what a script waits for: all incomplete messages of the current
// round.
func (f *finishing) awaitedScript(s *Script) Awaited {
	var a Awaited
	for rank := range f.job.ranks {
		lacks := false
		if in := s.ctx.in[rank]; in != nil {
			for r := range in.posted.receives() {
				lacks = lacks || r.script == s
			}
		}
		if out := s.ctx.out[rank]; out != nil && !lacks {
			lacks = slices.ContainsFunc(out.kept, func(m *Message) bool {
				return m != nil && m.req != nil && m.req.script == s && m.inflight == 0
			})
		}
		if lacks {
			a.Ranks = append(a.Ranks, rank)
		}
	}
	a.Moving = len(a.Ranks) == 0
	return a
}
