package sdr

// acknowledge is called when a message has been received completely, whether
// or not the program has asked for it [SDR, Algorithm 1, line 15: two
// processes that send to each other would deadlock otherwise]. The replica
// that serves this one needs no acknowledgement, the others get it at once if
// they wait for it, and else together with later ones.
func (c *Core) acknowledge(s *inStream, number uint64, payload []byte, from, bytes int, atOnce bool) {
	r := &c.ranks[s.rank]
	if r.degree == 1 || r.live == 0 {
		return
	}
	var targets uint64
	substitute := -1
	switch {
	case !c.mirror:
		if s.among != r.live {
			substitute = c.regroup(s)
		}
		targets = s.others
	case atOnce: // the others have only offered the message
		targets = r.live &^ (1 << from)
	}
	if c.sum != nil {
		c.note(s, number, payload, from)
		if substitute >= 0 { // behind all hashes that it is told
			c.tellOne(s, substitute)
		}
	}
	if targets == 0 {
		return
	}
	now := targets & r.impatient
	s.unacked++
	s.unackedB += bytes
	if atOnce || s.unacked >= ackEvery || s.unackedB >= ackBytes {
		now = targets
	}
	if now == 0 {
		return
	}
	if now == targets {
		s.unacked, s.unackedB = 0, 0
	}
	for d := range each(now) {
		c.ackOne(s, d)
	}
}

// regroup finds out which replicas of the source get acknowledgements, after a death or at the
// first message. It returns the one that serves this process in the place of another one, or -1.
func (c *Core) regroup(s *inStream) (substitute int) {
	r := &c.ranks[s.rank]
	server := c.server(r.live, s.rank, c.rank, c.replica, s.ctx.exact)
	s.among, s.others = r.live, r.live&^(1<<server)
	if server == c.server(1<<r.degree-1, s.rank, c.rank, c.replica, s.ctx.exact) || s.ctx == c.cuts {
		return -1
	}
	return server
}

// ackOne tells one replica of the source what has been received.
func (c *Core) ackOne(s *inStream, replica int) {
	c.sendAck(s.ctx, c.ranks[s.rank].first+replica, &s.received)
}

// ackTo tells all live replicas of a rank; without a set, that the context is
// closed.
func (c *Core) ackTo(ctx *Context, rank int, set *numbers) {
	r := &c.ranks[rank]
	if rank == c.rank {
		return
	}
	for d := range each(r.live) {
		c.sendAck(ctx, r.first+d, set)
	}
}

func (c *Core) sendAck(ctx *Context, p int, set *numbers) {
	a := c.frame(p, kindAck, ctx, ackAll)
	h := &a.Header
	if set != nil {
		a.Payload = encodeAck(h, set)
	}
	a.Payload = c.tell(ctx, p, h, a.Payload)
	if tells(h) {
		c.telling++
		c.processes[p].sent++
	}
}

// wanted: process p says whether it waits for acknowledgements.
func (c *Core) wanted(p int, on bool) {
	pr := &c.processes[p]
	if !on {
		c.ranks[pr.rank].impatient &^= 1 << pr.replica
		return
	}
	c.ranks[pr.rank].impatient |= 1 << pr.replica
	for _, ctx := range c.order {
		if s := ctx.in[pr.rank]; s != nil && s.unacked > 0 {
			c.ackOne(s, pr.replica)
		}
	}
}
