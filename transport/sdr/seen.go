package sdr

import (
	"encoding/binary"
	"slices"
)

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
func (c *Core) keepPast(req *Request, past []byte) {
	switch {
	case len(past) == 0:
	case req.script != nil:
		req.script.causalPast = c.merge(req.script.causalPast, past)
	case req.awaited:
		c.learn(past)
	default:
		req.causalPast, req.age = append(c.buffers.get(len(past))[:0], past...), c.age
	}
}

// See says that the program sees the completion of req.
func (c *Core) See(req *Request) {
	if req.causalPast != nil && req.age == c.age {
		c.learn(req.causalPast)
	}
	c.forget(req)
}

// forget frees the past of what completed req before.
func (c *Core) forget(req *Request) {
	if req.causalPast != nil {
		c.buffers.put(req.causalPast)
		req.causalPast = nil
	}
}

// Visible reports whether the completion of req, which is Done, may be shown to
// a program that does not wait for it alone. After a change to true by another
// goroutine of the program, waiters are woken.
func (c *Core) Visible(req *Request) bool {
	if req.causalPast == nil || req.age != c.age || c.ripe(req.causalPast) {
		return true
	}
	c.hidden = true
	return false
}

// learn adds the past of a message that the program sees to that of this
// process.
func (c *Core) learn(past []byte) {
	if c.ripe(past) {
		c.absorb(past)
		return
	}
	c.ahead = append(c.ahead, slices.Clone(past))
}

// mature adds what was seen before its time, and is not any more, to the past
// of this process. It is called before an operation is counted: the operation
// that a message depends on does not depend on the message.
func (c *Core) mature() {
	c.ahead = slices.DeleteFunc(c.ahead, func(past []byte) bool {
		if !c.ripe(past) {
			return false
		}
		c.absorb(past)
		return true
	})
}

// BeginCollective counts a collective that the program begins in ctx. Its
// messages depend on what the program has seen by now, and on each other.
func (c *Core) BeginCollective(ctx *Context, s *Script) {
	c.Operate(ctx)
	ctx.plans++
	s.ctx = ctx
	c.buffers.put(s.causalPast)
	s.causalPast = c.causalPast(ctx.thread)
}

// EndCollective completes a collective; the program sees what its messages
// have brought when it sees that.
func (c *Core) EndCollective(s *Script) {
	r := &s.done.Request
	c.forget(r)
	r.causalPast, r.age, s.causalPast = s.causalPast, c.age, nil
	c.complete(r, Status{}, nil)
	if s.ctx.plans--; c.draining {
		c.answer()
	}
}

// merge adds an encoded past to another one.
func (c *Core) merge(into, past []byte) []byte {
	for size := c.threadSize(); len(past) >= size; past = past[size:] {
		counts := findCounts(into, size, binary.LittleEndian.Uint64(past))
		if counts == nil {
			into = append(into, past[:size]...)
			continue
		}
		for i := 0; i < len(counts); i += 8 {
			if n := binary.LittleEndian.Uint64(past[8+i:]); n > binary.LittleEndian.Uint64(counts[i:]) {
				binary.LittleEndian.PutUint64(counts[i:], n)
			}
		}
	}
	return into
}

// findCounts returns the counters of a thread in an encoded past, or nil.
func findCounts(past []byte, size int, thread uint64) []byte {
	for ; len(past) >= size; past = past[size:] {
		if binary.LittleEndian.Uint64(past) == thread {
			return past[8:size]
		}
	}
	return nil
}
