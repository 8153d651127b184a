package sdr

// Recv posts a receive of a message from rank src of the job, or Any, with
// tag, or Any [SDR, Algorithm 1, line 10]. Messages of one source match in the
// order in which they were sent. buf belongs to the core until req is
// complete.
func (c *Core) Recv(ctx *Context, req *Request, buf []byte, src, tag int) {
	c.clock++
	c.contexts.used = c.contexts.used || src == Any
	c.forget(req)
	req.ctx, req.buf, req.source, req.tag, req.order, req.back = ctx, buf, src, tag, c.clock, false
	req.chosen, req.held, req.ended, req.local = false, false, false, nil
	if src == Any {
		c.numberReceive(req)
	}
	c.postRecv(req)
}

// RecvExact posts a receive of the message with this number, in an exact
// context. A message that was sent for another purpose completes it with a
// *Mismatch.
func (c *Core) RecvExact(ctx *Context, req *Request, buf []byte, src int, number uint64, purpose int) {
	c.clock++
	req.ctx, req.buf, req.source, req.number, req.order, req.tag = ctx, buf, src, number, c.clock, purpose
	c.postRecv(req)
}

// postRecv matches req with a message that has arrived, or inserts it into the posted
// receives.
func (c *Core) postRecv(req *Request) {
	req.place.key = req.key()
	if m := c.unexpected(req); m != nil {
		c.match(m, req)
		return
	}
	req.place.receive = req
	l := &req.ctx.any
	if req.source != Any {
		l = &req.ctx.inStream(req.source).posted
	}
	behind := l.last
	for behind != nil && behind.receive.order > req.order {
		behind = behind.prev // a receive that lost its message returns to its old place
	}
	l.insert(behind, &req.place)
	if req.source == Any && !c.follows() {
		c.setAsideFor(req)
	}
}

// match gives a message that no receive had matched to req.
func (c *Core) match(m *arrival, req *Request) {
	ctx, ahead := req.ctx, m.unripe && req.source != Any
	m.place.leave()
	c.choose(req, m.stream, m.number)
	c.bind(m, req)
	if ahead { // a receive from any source may have waited for this message
		c.ripen(ctx)
	}
}

// unexpected returns the unmatched message that req gets, or nil. From a single source, req
// gets the first message that it accepts; from several sources, the one of these first
// messages that arrived first.
func (c *Core) unexpected(req *Request) *arrival {
	if req.source != Any {
		return c.first(req.ctx.in[req.source], req)
	}
	if !req.probe && c.follows() {
		return nil // the receive waits for the decision of the leader
	}
	var best *arrival
	for _, s := range req.ctx.in {
		if m := c.first(s, req); m != nil && (best == nil || m.order < best.order) {
			best = m
		}
	}
	return best
}

// takePosted removes and returns the receive that a message matches: of the receives that
// accept it, the one posted first. It ignores receives from any source if the message
// depends on operations that this replica has yet to begin.
func (c *Core) takePosted(s *inStream, number uint64, tag int, of *past) *Request {
	key := s.ctx.key(number, tag)
	at := s.posted.find(key)
	for at != nil && !at.receive.accepts(number, tag) { // a decision gives it another message
		at = at.after(key)
	}
	for p := s.ctx.any.find(key); p != nil; p = p.after(key) {
		if at != nil && p.receive.order > at.receive.order {
			break
		}
		if c.follows() { // the leader may give this message to it
			s.ctx.claimed = true
			return nil
		}
		if s.passed(p.receive) {
			continue
		}
		if c.history.ripe(of.in(s.ctx.thread)) {
			at = p
		}
		break
	}
	if at == nil {
		return nil
	}
	at.leave()
	c.choose(at.receive, s, number)
	return at.receive
}

// bind gives a message to a receive, and requests the payload if it has not arrived.
func (c *Core) bind(m *arrival, req *Request) {
	switch {
	case m.local != nil:
		out := m.local
		c.fill(req, m.stream, c.job.replica, m.number, m.tag, out.data, nil)
		c.endLocal(out, req)
		c.release(m)
	case m.whole:
		c.fill(req, m.stream, m.from, m.number, m.tag, m.data, m.past)
		c.release(m)
	default:
		m.req, req.bound = req, m
		if req.source == Any && !req.back {
			req.ctx.bound++
		}
		if m.offers != 0 && c.requests.wants(m) {
			c.requests.ask(m)
		}
	}
}

// fill completes a receive with a whole message, which came from the given replica.
func (c *Core) fill(req *Request, s *inStream, replica int, number uint64, tag int, payload []byte, of *past) {
	c.keepPast(req, of.in(s.ctx.thread))
	n := len(payload)
	var err error
	if n > len(req.buf) {
		n, err = len(req.buf), ErrTruncate
	}
	if s.ctx.exact && tag != req.tag {
		err = &Mismatch{Source: s.rank, Theirs: tag, Mine: req.tag}
	}
	if n > 0 && &req.buf[0] != &payload[0] {
		copy(req.buf[:n], payload)
	}
	if c.observer != nil {
		c.observeMatch(s, replica, number, tag, len(payload))
	}
	s.taken = max(s.taken, number+1)
	s.ctx.unbind(req)
	if s.ctx.bound > 0 {
		if s.newest == nil {
			s.newest = make(map[int]uint64)
		}
		s.newest[tag] = max(s.newest[tag], req.order)
	}
	req.bound, req.buf = nil, nil
	c.out.complete(req, Status{Source: s.rank, Tag: tag, Size: n}, err)
	c.contexts.ended(s.ctx)
}

// unbind records that a receive ends, whether or not it was bound to an offer.
func (ctx *Context) unbind(req *Request) {
	if req.source == Any && (req.bound != nil || req.back) {
		ctx.bound--
		req.back = false
	}
}

// Probe looks for a message that a receive with this source and tag would match, and leaves
// it in place. The next such receive gets the message that a probe has shown, whichever
// replicas die. The program sees the message: it enters the causal history.
func (c *Core) Probe(ctx *Context, src, tag int) (Status, bool) {
	c.contexts.used = c.contexts.used || src == Any
	req := Request{ctx: ctx, source: src, tag: tag, probe: true}
	req.place.key = req.key()
	m := c.unexpected(&req)
	if m == nil {
		return Status{}, false
	}
	s := m.stream
	s.shown = max(s.shown, m.number+1)
	c.history.absorb(m.past.in(ctx.thread))
	return Status{Source: s.rank, Tag: m.tag, Size: m.size}, true
}

// Cancel withdraws a receive that no message has matched, and reports whether it could.
func (c *Core) Cancel(req *Request) bool {
	if req.place.line == nil {
		return false
	}
	req.place.leave()
	req.ctx.unbind(req)
	c.rematch(req.ctx)
	c.out.complete(req, Status{Source: Any, Tag: Any, Cancelled: true}, nil)
	c.contexts.ended(req.ctx)
	return true
}

// postLocal delivers a message of this rank to itself. It uses no link and no other
// replica.
func (c *Core) postLocal(m *Message) {
	ctx := m.stream.ctx
	s := ctx.inStream(c.job.rank)
	if req := c.takePosted(s, m.number, m.tag, nil); req != nil {
		c.fill(req, s, c.job.replica, m.number, m.tag, m.data, nil)
		c.endLocal(m, req)
		return
	}
	if !m.sync && len(m.data) <= c.job.limits.Eager && c.job.ranks[c.job.rank].retained+len(m.data)+frameCost <= c.job.limits.Retain {
		c.outgoing.copyOut(m)
	}
	a := c.newArrival(s, m.number, m.tag, len(m.data))
	a.local = m
	c.enqueue(a)
}

// endLocal ends a message of this rank to itself that req has received. While req is held, a
// synchronous send of the message must not end: its end would reveal the decision.
func (c *Core) endLocal(m *Message, req *Request) {
	if req.held {
		req.local = m
		return
	}
	if m.copied {
		c.job.ranks[c.job.rank].retained -= len(m.data) + frameCost
		c.buffers.put(m.data)
	} else {
		c.out.complete(m.req, Status{}, nil)
	}
	c.outgoing.reuseMessage(m)
}

// first returns the first message of a stream that req accepts, if req may have it now.
func (c *Core) first(s *inStream, req *Request) *arrival {
	if s == nil || s.unexpected.first == nil || s.passed(req) {
		return nil
	}
	if req.chosen {
		return s.numbered(req.number)
	}
	p := s.unexpected.find(req.place.key)
	if p == nil {
		return nil
	}
	m := p.message
	if (req.source != Any || req.probe) && c.claimed(m, req) {
		return nil
	}
	if (req.source == Any || req.probe) && !c.history.ripe(m.past.in(s.ctx.thread)) {
		c.hidden = c.hidden || req.probe
		return nil // nor may req take a later message
	}
	return m
}

// numbered finds the unmatched message with this number.
func (s *inStream) numbered(number uint64) *arrival {
	for m := range s.unexpected.messages() {
		if m.number >= number {
			if m.number > number {
				break
			}
			return m
		}
	}
	return nil
}

func (c *Core) newArrival(s *inStream, number uint64, tag, size int) *arrival {
	var m *arrival
	if n := len(c.arrivals); n > 0 {
		m = c.arrivals[n-1]
		c.arrivals = c.arrivals[:n-1]
	} else {
		m = new(arrival)
	}
	c.clock++
	*m = arrival{stream: s, number: number, tag: tag, size: size, granted: -1, eager: -1, order: c.clock}
	m.place.key, m.place.message = s.ctx.key(number, tag), m
	return m
}

// release ends the use of an arrival.
func (c *Core) release(m *arrival) {
	if m.hasData {
		c.buffers.put(m.data)
	}
	c.history.drop(m.past)
	c.readmit(m)
	c.requests.unawait(m)
	if m.eager >= 0 {
		c.job.processes[m.eager].held -= m.size + frameCost
		c.requests.consumed(m.eager, m.size+frameCost)
	}
	if len(c.arrivals) < 256 {
		*m = arrival{}
		c.arrivals = append(c.arrivals, m)
	}
}
