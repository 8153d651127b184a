package sdr

import "slices"

// A message enters the causal past of a process when the program sees it, not
// when it has filled a receive: what the program sends before it looks does
// not depend on it, and a replica that is behind would wait for ever if it
// claimed so. The program sees a message when a call returns that waited for it
// or received it, when a probe shows it, and when a test, or a wait for any of
// several requests, reports its receive. Messages inside a collective belong
// to the past of that collective, which the program sees when it sees the end.
//
// A replica that is behind may hold messages that without replicas do not
// exist before the rank has begun some later operation. Probes, tests and
// waits for any of several leave those out, like receives from any source. A
// call that waits for one of them gets it: programs without replicas wait
// there for a message too. Then it enters the past of what follows that
// operation only.

// keepPast holds the past of the message that has completed req until the
// program sees it.
func (c *Core) keepPast(req *Request, of *past) {
	switch {
	case of == nil:
	case req.script != nil:
		req.script.past = c.joined(req.script.past, of)
	case req.awaited:
		c.learn(of)
	default:
		req.past, req.age = c.take(of), c.age
	}
}

// joined adds a past to one that this rank is going to send, which may be nil.
func (c *Core) joined(into, of *past) *past {
	if into == nil {
		into = c.newPast(of.thread, of.base)
	}
	c.merge(into, of)
	return into
}

// See says that the program sees the completion of req.
func (c *Core) See(req *Request) {
	if req.past != nil && req.age == c.age {
		c.learn(req.past)
	}
	c.forget(req)
}

// forget frees the past of what completed req before.
func (c *Core) forget(req *Request) {
	if req.past != nil {
		c.drop(req.past)
		req.past = nil
	}
}

// Visible reports whether the completion of req, which is Done, may be shown to
// a program that does not wait for it alone. After a change to true by another
// goroutine of the program, waiters are woken.
func (c *Core) Visible(req *Request) bool {
	if req.past == nil || req.age != c.age || c.ripe(req.past) {
		return true
	}
	c.hidden = true
	return false
}

// learn adds the past of a message that the program sees to that of this
// process.
func (c *Core) learn(of *past) {
	if c.ripe(of) {
		c.absorb(of)
		return
	}
	c.ahead = append(c.ahead, c.take(of))
}

// mature adds what was seen before its time, and is not any more, to the past
// of this process. It is called before an operation is counted: the operation
// that a message depends on does not depend on the message.
func (c *Core) mature() {
	c.ahead = slices.DeleteFunc(c.ahead, func(of *past) bool {
		if !c.ripe(of) {
			return false
		}
		c.absorb(of)
		c.drop(of)
		return true
	})
}

// Sync says what the end of a collective implies at a rank.
type Sync uint8

// The kinds of collectives. Those of the same communicator, which has all ranks,
// begin epochs: all ranks begin them in the same order. The others are SyncNone.
const (
	// SyncNone: it implies nothing.
	SyncNone Sync = iota
	// SyncElsewhere: at another rank it implies that all have begun it.
	SyncElsewhere
	// SyncHere: at this rank it implies that all have begun it.
	SyncHere
	// SyncAll: at every rank it does.
	SyncAll
)

// BeginCollective counts a collective that the program begins in ctx. Its
// messages depend on what the program has seen by now, and on each other. Those
// of one that synchronises all ranks say no more than what its end does not imply:
// what others have done since they began it, which has then come on another way.
func (c *Core) BeginCollective(ctx *Context, s *Script) {
	c.operate(ctx, s.Sync != SyncNone)
	ctx.plans++
	s.ctx, s.Failed = ctx, false
	c.drop(s.past)
	s.past, s.epoch = nil, 0
	if ctx.thread == nil {
		return
	}
	s.epoch = ctx.thread.own.epoch
	if s.Sync == SyncAll {
		s.past = c.causalPast(ctx.thread, s.epoch)
	} else {
		s.past = c.causalPast(ctx.thread, 0)
	}
}

// EndCollective completes a collective; the program sees what its messages
// have brought when it sees that.
func (c *Core) EndCollective(s *Script) {
	r := &s.done.Request
	c.forget(r)
	switch {
	case s.Failed && s.Sync == SyncAll: // it claims what it was to imply
		c.drop(s.past)
		s.past = nil
	case s.Sync == SyncHere && !s.Failed && c.causal && s.ctx.thread != nil:
		s.past = c.joined(s.past, &past{thread: s.ctx.thread.id, base: s.epoch})
	}
	r.past, r.age, s.past = s.past, c.age, nil
	c.complete(r, Status{}, nil)
	if s.ctx.plans--; c.draining {
		c.answer()
	}
}
