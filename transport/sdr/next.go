package sdr

import "github.com/intrahpc/intra/transport"

// takeNext is the fast path for the most common messages: the payload comes with the
// message, the message is the next one of its stream, and the receive that was posted first
// for its source accepts it. It then does what eager would do, and returns the completed
// request. Otherwise it changes nothing and returns nil.
func (c *Core) takeNext(p int, h *transport.Header, payload []byte) *Request {
	pr, ctx, exact := &c.job.processes[p], c.contexts.recent, h.Flags&flagExact != 0
	if h.Kind != kindEager || h.Incarnation != pr.incarnation || !pr.alive || pr.rank == c.job.rank ||
		ctx == nil || ctx.id != h.Args[0] || ctx.exact != exact || ctx.freed || ctx.bound > 0 || ctx.any.first != nil ||
		c.outgoing.draining || c.cuts.now != nil || c.matching.observer != nil || pr.awaited > 0 {
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
		c.acks.acknowledge(s, n, payload, pr.replica, size+frameCost, false)
	}
	if of != nil {
		c.matching.keepPast(req, of.in(ctx.thread))
	}
	copy(req.buf, payload)
	s.taken = max(s.taken, n+1)
	req.buf = nil
	req.status, req.err = Status{Source: pr.rank, Tag: int(tag), Size: size}, nil
	c.requests.consumed(p, size+frameCost)
	return req
}
