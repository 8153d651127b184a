package sdr

// acknowledge runs when a message has been received completely, whether or not the program
// has posted its receive: otherwise two processes that send to each other would deadlock
// [SDR, Algorithm 1, line 15]. The replica that serves this process gets no
// acknowledgement. A replica that waits for acknowledgements gets one at once; the others
// get theirs in batches.
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
	case atOnce: // the other replicas have only offered the message
		targets = r.live &^ (1 << from)
	}
	if c.sum != nil {
		c.note(s, number, payload, from)
		if substitute >= 0 { // tellOne sends all its hashes, then flagServed
			c.tellOne(s, substitute)
		}
		if c.draining { // other programs may have returned, too, and wait for no later message
			for k := range each(r.live &^ (1 << from)) {
				c.tellOne(s, k)
			}
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

// regroup determines which replicas of the source get acknowledgements, at the first
// message and when the live replicas have changed. It returns the replica that serves this
// process in place of a dead one, or -1.
func (c *Core) regroup(s *inStream) (substitute int) {
	r := &c.ranks[s.rank]
	server := c.server(r.live, s.rank, c.rank, c.replica, s.ctx.exact)
	s.among, s.others = r.live, r.live&^(1<<server)
	if server == c.server(1<<r.degree-1, s.rank, c.rank, c.replica, s.ctx.exact) || s.ctx == c.cuts {
		return -1
	}
	return server
}

// ackOne reports to one replica of the source what has been received.
func (c *Core) ackOne(s *inStream, replica int) {
	c.sendAck(s.ctx, c.ranks[s.rank].first+replica, &s.received)
}

// ackTo sends set to all live replicas of a rank. A nil set means that the context is
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

// wanted records whether process p waits for acknowledgements, and sends it those that are
// due.
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
