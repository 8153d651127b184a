package sdr

import (
	"encoding/binary"
	"fmt"

	"github.com/intrahpc/intra/transport"
)

// A process may send to replicas that are behind the ones it hears from: when
// it serves several of them because ranks differ in degree or replicas have
// died. A receive from any source of such a replica could then match a message
// that exists only because another replica of the same rank has completed that
// receive already; no run without replicas does that. So every message of a
// replicated job carries its causal past, as the number of operations (sends
// posted, collectives begun) of each rank on which it depends, and a receive
// from any source matches only what does not depend on operations that its
// own replica has yet to begin. Receives from one source need no such care:
// they match in the order of the stream.

// thread counts operations. Communicators that one goroutine uses share a thread;
// Dup begins a new one, since the operations of different goroutines come in
// another order at every replica.
type thread struct {
	id     uint64
	counts []uint64 // per rank: operations in the causal past of this process
	users  int      // contexts of this process that belong to it
}

// enterThread makes ctx one of the contexts of a thread.
func (c *Core) enterThread(ctx *Context, id uint64) {
	ctx.thread = c.findThread(id)
	if ctx.thread == nil { // the thread was closed: only a program that uses a freed communicator gets here
		ctx.thread = &thread{id: id, counts: make([]uint64, len(c.ranks))}
	}
	ctx.thread.users++
}

// leaveThread closes the thread when its last context is closed.
func (c *Core) leaveThread(l *thread) {
	if l == nil {
		return
	}
	if l.users--; l.users > 0 {
		return
	}
	c.threadOf[l.id] = nil
	for i, o := range c.threads {
		if o == l {
			c.threads = append(c.threads[:i], c.threads[i+1:]...)
			return
		}
	}
}

// findThread returns the thread with this id, which may be new; nil if it was
// closed.
func (c *Core) findThread(id uint64) *thread {
	l, known := c.lookUp(id)
	if !known {
		l = &thread{id: id, counts: make([]uint64, len(c.ranks))}
		c.threadOf[id] = l
		c.threads = append(c.threads, l)
	}
	return l
}

// lookUp returns the thread with this id, nil if it was closed, and whether
// there has been one. Most programs have only one.
func (c *Core) lookUp(id uint64) (l *thread, known bool) {
	if len(c.threads) > 0 && c.threads[0].id == id {
		return c.threads[0], true
	}
	l, known = c.threadOf[id]
	return l, known
}

// Operate counts an operation that the program begins in ctx: a send, or a
// collective. Receives from any source may match what waited for it.
func (c *Core) Operate(ctx *Context) {
	if !c.replicated || ctx.thread == nil {
		return
	}
	if len(c.ahead) > 0 {
		c.mature()
	}
	ctx.thread.counts[c.rank]++
	if c.hidden {
		c.hidden, c.news = false, true
	}
	if c.unripe == 0 {
		return
	}
	for _, o := range c.order {
		c.ripen(o)
	}
}

// ripen matches the receives from any source of a context with messages that
// may be matched by now.
func (c *Core) ripen(ctx *Context) {
	for i := 0; i < len(ctx.any.all()); {
		req := ctx.any.all()[i]
		s, at := c.unexpected(req)
		if at < 0 {
			i++
			continue
		}
		ctx.any.remove(i)
		m := s.unexpected.all()[at]
		s.unexpected.remove(at)
		c.bind(m, req)
	}
}

// pastOf encodes the causal past of a message that req posts now.
func (c *Core) pastOf(ctx *Context, req *Request) []byte {
	if s := req.script; s != nil {
		return append(c.buffers.get(len(s.causalPast))[:0], s.causalPast...)
	}
	return c.causalPast(ctx.thread)
}

// causalPast encodes the causal past of the operation that a thread has begun last. What
// was seen before its time belongs to it if that depends on earlier ones of
// the thread only.
func (c *Core) causalPast(of *thread) []byte {
	if !c.replicated {
		return nil
	}
	b := c.buffers.get(len(c.threads) * c.threadSize())[:0]
	for _, l := range c.threads {
		b = binary.LittleEndian.AppendUint64(b, l.id)
		for _, n := range l.counts {
			b = binary.LittleEndian.AppendUint64(b, n)
		}
	}
	for _, past := range c.ahead {
		if of != nil && c.needs(past, of) < of.counts[c.rank] {
			b = c.merge(b, past)
		}
	}
	return b
}

// needs returns how many operations of this rank in a thread a past contains.
func (c *Core) needs(past []byte, of *thread) uint64 {
	counts := findCounts(past, c.threadSize(), of.id)
	if counts == nil {
		return 0
	}
	return binary.LittleEndian.Uint64(counts[8*c.rank:])
}

func (c *Core) threadSize() int { return 8 + 8*len(c.ranks) }

// ripe reports whether a message with this past depends on nothing that this
// replica has yet to begin.
func (c *Core) ripe(past []byte) bool {
	for size := c.threadSize(); len(past) >= size; past = past[size:] {
		needs := binary.LittleEndian.Uint64(past[8+8*c.rank:])
		if needs == 0 {
			continue
		}
		l, known := c.lookUp(binary.LittleEndian.Uint64(past))
		if !known || l != nil && needs > l.counts[c.rank] {
			return false
		}
	}
	return true
}

// absorb adds the past of a message that the program has seen to that of this
// process.
func (c *Core) absorb(past []byte) {
	for size := c.threadSize(); len(past) >= size; past = past[size:] {
		l := c.findThread(binary.LittleEndian.Uint64(past))
		if l == nil {
			continue
		}
		for r := range l.counts {
			if r != c.rank {
				l.counts[r] = max(l.counts[r], binary.LittleEndian.Uint64(past[8+8*r:]))
			}
		}
	}
}

// splitPast separates what a frame carries into payload and past.
func (c *Core) splitPast(p int, h *transport.Header, b []byte) (payload, past []byte, err error) {
	n := h.Args[4]
	if n > uint64(len(b)) || n%uint64(c.threadSize()) != 0 || (n > 0) != c.replicated {
		return nil, nil, fmt.Errorf("%w: %d bytes of causal past in a frame of %d", violation(&c.processes[p], h, "causal past"), n, len(b))
	}
	cut := len(b) - int(n)
	return b[:cut], b[cut:], nil
}
