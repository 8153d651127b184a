package sdr

import "github.com/intrahpc/intra/transport"

// takeNext is the fast path for the most common kind of message: the payload comes with the
// message, the message is the next one of its stream, and it matches the receive that was
// posted first for its source. takeNext then has the same effect as eager, and returns the
// completed request. For any other frame it changes nothing and returns nil.
func (c *Core) takeNext(p int, h *transport.Header, payload []byte) *Request {
	pr, ctx, exact := &c.job.processes[p], c.contexts.recent, h.Flags&flagExact != 0
	if h.Kind != kindEager || h.Incarnation != pr.incarnation || !pr.alive || pr.rank == c.job.rank ||
		ctx == nil || ctx.id != h.Args[0] || ctx.exact != exact || ctx.freed || ctx.bound > 0 || ctx.any.first != nil ||
		c.job.draining || c.cuts.now != nil || c.matching.observer != nil || pr.awaited > 0 || c.journal.on {
		return nil
	}
	s, n, tag := ctx.in[pr.rank], h.Args[1], h.Args[2]
	if s == nil || n != s.received.low || len(s.received.words) > 0 || len(s.live) > 0 || n != s.due && !exact ||
		s.posted.first == nil || tag > tagLimit(exact) {
		return nil
	}
	req := s.posted.first.receive
	if req.held || !req.accepts(n, int(tag)) || exact && int(tag) != req.tag {
		return nil
	}
	var of *past
	if h.Args[3] != 0 || h.Args[4] != 0 {
		var err error
		if payload, of, err = c.incoming.splitPast(p, h, payload); err != nil {
			return nil // the slow path reports the error
		}
	}
	size := len(payload)
	if size > len(req.buf) || size > maxEager {
		return nil
	}
	req.place.leave()
	s.received.low++
	s.due++
	if c.job.ranks[pr.rank].degree > 1 {
		c.acks.acknowledge(s, n, payload, pr.replica, size+frameCost, false, h.Flags&flagCompared != 0)
	}
	if of != nil {
		c.matching.keepPast(req, of.in(ctx.domain))
	}
	copy(req.buf, payload)
	s.taken = max(s.taken, n+1)
	req.buf = nil
	req.status, req.err = Status{Source: pr.rank, Tag: int(tag), Size: size}, nil
	c.requests.consumed(p, size+frameCost)
	return req
}

// End handles a whole frame from process p. An error means that no sound process sends such
// a frame.
func (c *Core) End(p int, h *transport.Header, payload []byte) error {
	if req := c.takeNext(p, h, payload); req != nil {
		c.out.completed = append(c.out.completed, req)
		return nil
	}
	return c.end(p, h, payload)
}

// end is End of a frame that takeNext has not handled.
func (c *Core) end(p int, h *transport.Header, payload []byte) error {
	if c.job.refused(p, h) {
		return nil
	}
	pr := &c.job.processes[p]
	if err := checkHeader(h); err != nil {
		return err
	}
	if h.Incarnation > pr.incarnation {
		return pr.hold(h, payload)
	}
	if c.requests.pulling {
		c.cuts.now.fresh = true
	}
	switch h.Kind {
	case kindWant:
		c.acks.wanted(p, h.Args[0] != 0)
		return nil
	case kindCredit:
		pr.credit += int(min(h.Args[0], uint64(c.job.limits.Window-pr.credit)))
		pr.busy = false
		c.outgoing.push(p)
		c.job.spent = c.job.anyLow()
		return nil
	case kindArrived:
		return c.outgoing.arrived(p, h)
	case kindAsk:
		c.finishing.asked(p, h)
		return nil
	case kindFinished:
		c.finishing.receiveEnd(p, h)
		return nil
	case kindDecision, kindHolds:
		return c.matching.handleDecision(p, h, payload)
	}
	if pr.rank == c.job.rank {
		return violation(pr, h, "message from the own rank")
	}
	ctx := c.contexts.get(h.Args[0], h.Flags&flagExact != 0)
	if ctx != nil && ctx.exact != (h.Flags&flagExact != 0) {
		return violation(pr, h, "wrong kind of context")
	}
	switch h.Kind {
	case kindAck:
		return c.outgoing.acknowledged(p, h, payload)
	case kindGrant:
		c.outgoing.grant(p, h)
		return nil
	}
	if ctx == nil { // the context is closed, so the message will never be received
		if h.Kind == kindEager {
			c.requests.consumed(p, len(payload)-int(pastBytes(h))+frameCost)
		}
		c.acks.ackTo(&Context{id: h.Args[0], exact: h.Flags&flagExact != 0}, pr.rank, nil)
		return nil
	}
	s := ctx.inStream(pr.rank)
	if s.received.far(h.Args[1]) {
		return violation(pr, h, "number too far ahead")
	}
	if h.Kind == kindData {
		return c.incoming.data(p, s, h, payload)
	}
	payload, of, err := c.incoming.splitPast(p, h, payload)
	if err != nil {
		return err
	}
	if h.Kind == kindOffer {
		err = c.incoming.offer(p, s, h, of)
	} else {
		err = c.incoming.eager(p, s, h, payload, of)
		c.requests.askAgain(p)
	}
	if c.job.draining {
		c.finishing.answer()
	}
	return err
}
