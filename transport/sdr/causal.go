package sdr

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/intrahpc/intra/transport"
)

// A process may send to replicas that lag behind those it receives from: it serves several
// replicas if ranks differ in degree or replicas have died. A receive from any source of a
// lagging replica could then match a message that exists only because another replica of
// the same rank has already completed that receive. No run without replicas does that.
// Where the replicas of a rank agree on such receives (agree.go), it cannot happen.
// Elsewhere every message of a replicated job carries its causal history: a vector clock
// that counts the operations (sends posted, collectives begun) of each rank on which the
// message depends. A receive from any source matches only messages that do not depend on
// operations which its own replica has yet to begin. Receives from one source need no such
// check: they match in the order of the stream.
//
// The end of an allreduce of all ranks depends on all that any of them did before. So the
// clock of a rank counts the operations since the last such collective, which begins an
// epoch. A vector clock then consists of one epoch that all ranks have begun, and a list of
// the ranks that are known to have done more since. It orders events as one counter for
// each rank would, but its size depends only on what has been exchanged since.

// thread is a clock domain, in which operations are counted. The communicators that one
// goroutine uses share a domain. Dup begins a new one, because the operations of different
// goroutines interleave differently at every replica.
type thread struct {
	id      uint64
	own     clock     // clock of this rank
	known   knowledge // clocks of the other ranks, in the causal history of this process
	users   int       // contexts of this process that belong to it
	closed  bool      // it had been closed already when a context joined it
	changes uint64    // number of changes of own and known
}

// enterThread adds ctx to a clock domain.
func (c *Core) enterThread(ctx *Context, id uint64) {
	ctx.thread = c.findThread(id)
	if ctx.thread == nil { // the domain was closed: only a program that uses a freed communicator gets here
		ctx.thread = &thread{id: id, closed: true}
	}
	ctx.thread.users++
}

// leaveThread removes a context from its clock domain, and closes the domain after its last
// context.
func (c *Core) leaveThread(l *thread) {
	if l == nil {
		return
	}
	if l.users--; l.users > 0 {
		return
	}
	if c.reference != nil {
		c.reference.Close(l.id)
	}
	c.threadOf[l.id] = nil
	c.changes++
	for i, o := range c.threads {
		if o == l {
			c.threads = append(c.threads[:i], c.threads[i+1:]...)
			return
		}
	}
}

// findThread returns the clock domain with this id, and creates it if it is new. It returns
// nil if the domain was closed.
func (c *Core) findThread(id uint64) *thread {
	l, known := c.lookUp(id)
	if !known {
		l = &thread{id: id}
		c.threadOf[id] = l
		c.threads = append(c.threads, l)
	}
	return l
}

// lookUp returns the clock domain with this id, nil if it was closed, and whether it has
// ever existed. Most programs have only one.
func (c *Core) lookUp(id uint64) (l *thread, known bool) {
	if len(c.threads) > 0 && c.threads[0].id == id {
		return c.threads[0], true
	}
	l, known = c.threadOf[id]
	return l, known
}

// NoAnySource asserts that no rank ever receives or probes from any source, so that
// messages carry no causal history. All ranks call it before they send anything or look for
// a message from any source.
func (c *Core) NoAnySource() error {
	if c.used {
		return errUsed
	}
	c.noAny, c.causal = true, false
	return nil
}

// operate counts an operation that the program begins in ctx: a send, or a collective,
// which may begin an epoch. Then it matches receives from any source with the messages that
// were held back for this operation.
func (c *Core) operate(ctx *Context, epoch bool) {
	c.used = true
	if !c.causal || ctx.thread == nil {
		return
	}
	if len(c.ahead) > 0 {
		c.mature()
	}
	if epoch {
		ctx.thread.own = clock{epoch: ctx.thread.own.epoch + 1}
	} else {
		ctx.thread.own.count++
	}
	c.changed(ctx.thread)
	if c.reference != nil {
		c.reference.Operate(ctx.thread.id)
	}
	if c.hidden {
		c.hidden, c.out.news = false, true
	}
	for i := 0; i < len(c.aside); {
		o := c.aside[i]
		c.ripen(o)
		if i < len(c.aside) && c.aside[i] == o { // ripen has not removed it
			i++
		}
	}
}

// ripen matches the receives from any source of a context with messages that have become
// deliverable.
func (c *Core) ripen(ctx *Context) {
	for req := range ctx.any.receives() {
		if m := c.unexpected(req); m != nil {
			req.place.leave()
			c.match(m, req)
		} else {
			c.setAsideFor(req)
		}
	}
}

// setAsideFor records the messages that a posted receive from any source has to leave: of
// each source, the first one that it accepts.
func (c *Core) setAsideFor(req *Request) {
	if !c.causal {
		return
	}
	for _, s := range req.ctx.in {
		if s == nil {
			continue
		}
		if p := s.unexpected.find(req.place.key); p != nil {
			c.setAside(p.message)
		}
	}
}

// setAside records that a message is held back, if it depends on an operation that this
// replica has yet to begin.
func (c *Core) setAside(m *arrival) {
	ctx := m.stream.ctx
	if m.unripe || ctx.any.first == nil || c.ripe(m.past.in(ctx)) {
		return
	}
	m.unripe = true
	if ctx.aside++; ctx.aside == 1 {
		c.aside = append(c.aside, ctx)
	}
}

// readmit records that a message is no longer held back.
func (c *Core) readmit(m *arrival) {
	if !m.unripe {
		return
	}
	m.unripe = false
	ctx := m.stream.ctx
	if ctx.aside--; ctx.aside == 0 {
		i := slices.Index(c.aside, ctx)
		c.aside = slices.Delete(c.aside, i, i+1)
	}
}

// pastOf returns the causal history of the message that req posts now.
func (c *Core) pastOf(ctx *Context, req *Request) *past {
	if s := req.script; s != nil {
		return s.past.clone(c)
	}
	return c.causalPast(ctx.thread, 0)
}

// causalPast returns the causal history of the operation that a clock domain has begun
// last. A message that the program saw early (Core.ahead) belongs to it only if all
// operations of this rank in the domain on which that message depends came before this
// operation. The result leaves out what the start of the epoch base implies.
func (c *Core) causalPast(of *thread, base uint64) *past {
	if !c.causal {
		return nil
	}
	p := c.newPast(of.id, max(base, of.known.base))
	list := p.list
	if of.closed {
		p.base = 0
	} else {
		own := c.mine(of, p.base)
		if own.near(p.base) {
			p.own.rank, p.own.clock, own.clock = own.rank, own.clock, clock{}
		}
		if len(of.known.above) > 0 || own.clock != (clock{}) {
			list = appendKnown(list, of, p.base, own)
		}
	}
	p.list = append(list, c.restOf(of)...)
	p.made = c.changes
	if c.reference != nil {
		p.reference = c.reference.Past()
	}
	for _, seen := range c.ahead {
		needs := seen.of(c.job.rank, of.id)
		earlier := needs.less(of.own)
		if c.reference != nil {
			c.reference.Earlier(seen.reference, of.id, earlier)
		}
		if earlier {
			c.merge(p, seen)
		}
	}
	if p.empty() {
		c.drop(p)
		return nil
	}
	return p
}

// mine returns the entry of this rank in a clock domain. Its clock is 0 if base implies it,
// or if the rank has a single replica: then no other replica lags behind.
func (c *Core) mine(l *thread, base uint64) entry {
	e := entry{rank: c.job.rank}
	if k := (knowledge{base: base}); c.job.ranks[c.job.rank].degree > 1 && k.exceeded(l.own) {
		e.clock = l.own
	}
	return e
}

// appendKnown encodes the entries of a clock domain, and own unless its clock is 0.
func appendKnown(b []byte, l *thread, base uint64, own entry) []byte {
	k := knowledge{base: base}
	add := own.clock != clock{}
	before := -1
	for _, e := range l.known.above {
		if add && own.rank < e.rank {
			b, before, add = appendEntry(b, base, before, own), own.rank, false
		}
		if k.exceeded(e.clock) {
			b, before = appendEntry(b, base, before, e), e.rank
		}
	}
	if add {
		b = appendEntry(b, base, before, own)
	}
	return b
}

// merge adds the causal history p to one that this rank is going to send.
func (c *Core) merge(into, p *past) {
	if !c.implied(into, p) {
		d := make(decoded, 0, 4)
		d.add(into)
		d.add(p)
		d.encode(into, c.job.rank)
	}
	if c.reference != nil {
		into.reference = c.reference.Merge(into.reference, p.reference)
	}
}

// ripe reports whether a message with this causal history is deliverable: it depends on no
// operation that this replica has yet to begin.
func (c *Core) ripe(p *past) bool {
	if p == nil {
		return true
	}
	ripe := c.begun(p)
	if c.reference != nil {
		c.reference.Ripe(p.reference, ripe)
	}
	return ripe
}

// begun reports whether this replica has begun all its operations that a causal history
// contains.
func (c *Core) begun(p *past) bool {
	if !p.scanned {
		c.scan(p)
	}
	if !c.hasBegun(p.thread, p.needs) {
		return false
	}
	if !p.more || p.rest.begun(c.age) {
		return true
	}
	for id, r := range p.threads() {
		needs := clock{epoch: r.base}
		for e, ok := r.next(); ok; e, ok = r.next() {
			if e.rank == c.job.rank {
				needs = e.clock
			}
		}
		if !c.hasBegun(id, needs) {
			return false
		}
	}
	p.rest.setBegun(c.age)
	return true
}

// hasBegun reports whether this replica has reached a clock in a domain. A closed domain
// counts as beyond every clock.
func (c *Core) hasBegun(thread uint64, needs clock) bool {
	if needs == (clock{}) {
		return true
	}
	l, known := c.lookUp(thread)
	return known && (l == nil || !l.own.less(needs))
}

// absorb adds the causal history of a message that the program has seen to that of this
// process.
func (c *Core) absorb(p *past) {
	if p == nil {
		return
	}
	if c.reference != nil {
		c.reference.Absorb(p.reference)
	}
	if l := c.findThread(p.thread); l != nil {
		news := l.known.raise(p.base)
		if p.hasOwn() && p.own.rank != c.job.rank {
			news = l.known.learn(p.own) || news
		}
		if news {
			c.changed(l)
		}
	}
	if len(p.list) == 0 {
		return
	}
	known, first := p.rest.absorbed(c.age), true
	for id, r := range p.threads() {
		if known && !first {
			return
		}
		first = false
		l := c.findThread(id)
		if l == nil {
			continue
		}
		news := l.known.raise(r.base)
		i := 0
		for e, ok := r.next(); ok; e, ok = r.next() {
			if e.rank != c.job.rank {
				news = l.known.join(&i, e) || news
			}
		}
		if news {
			c.changed(l)
		}
	}
	p.rest.setAbsorbed(c.age, c.changes)
}

// splitPast separates the content of a frame into payload and causal history. The history
// belongs to the core until the next frame arrives; take makes it last longer.
func (c *Core) splitPast(p int, h *transport.Header, b []byte) (payload []byte, of *past, err error) {
	word := h.Args[4]
	if word == 0 && (h.Kind != kindEager || h.Args[3] == 0) {
		return b, nil, nil
	}
	n := pastBytes(h)
	if n > uint64(len(b)) {
		return nil, nil, fmt.Errorf("%w: %d bytes of causal past in a frame of %d", violation(&c.job.processes[p], h, "causal past"), n, len(b))
	}
	cut := len(b) - int(n)
	payload, list := b[:cut], b[cut:]
	if of = c.incoming; of == nil {
		of = c.roomForPast()
		c.incoming = of
	}
	of.thread, of.reference = 0, 0
	if c.reference != nil && len(list) >= 8 {
		cut = len(list) - 8
		list, of.reference = list[:cut], binary.LittleEndian.Uint64(list[cut:])
	}
	if h.Kind == kindEager {
		of.base = h.Args[3]
	} else { // Args[3] of an offer is its size, so the base comes before the list
		base, n := binary.Uvarint(list)
		if n <= 0 {
			return nil, nil, violation(&c.job.processes[p], h, "causal past")
		}
		of.base, list = base, list[n:]
	}
	of.list = append(of.list[:0], list...)
	of.setOwn(c.job.processes[p].rank, word)
	if !c.scanFrom(p, of) {
		return nil, nil, violation(&c.job.processes[p], h, "causal past")
	}
	return payload, of, nil
}

// tellSent reports to the reference what a message carries.
func (c *Core) tellSent(p *past) {
	if p == nil {
		p = new(past)
	}
	c.reference.Sent(p.reference, len(p.list))
}

// pastBytes returns the size of the causal history in an eager message or an offer.
func pastBytes(h *transport.Header) uint64 { return h.Args[4] & maxList }

// pastList returns the causal history of m as a frame carries it, behind the payload. In an
// offer the base comes first.
func (c *Core) pastList(m *Message, offer bool) []byte {
	switch {
	case m.past == nil:
		return nil
	case !offer && c.reference == nil:
		return m.past.list
	}
	var b []byte // a copy: m may end before the link has sent the offer
	if offer {
		b = binary.AppendUvarint(nil, m.past.base)
	}
	b = append(b, m.past.list...)
	if c.reference != nil {
		b = binary.LittleEndian.AppendUint64(b, m.past.reference)
	}
	return b
}
