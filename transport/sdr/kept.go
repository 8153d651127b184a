package sdr

import "github.com/intrahpc/intra/transport"

// Sent records that the link to process p no longer holds the payload of m. If err is nil,
// the link has taken the payload over in full, and it reaches p unless one of the two
// processes dies.
func (o *outgoing) Sent(m *Message, p int, err error) {
	m.inflight--
	if err == nil {
		m.lacking &^= 1 << o.job.processes[p].replica
	}
	o.finish(m)
}

// detach completes the request of a message with a copy, if only other replicas still have
// to send the message. If processes outnumber cores, this process then need not wait until
// the other replicas get a core.
func (o *outgoing) detach(m *Message) {
	if m.sync || m.req == nil || m.inflight != 0 || len(m.data) > o.job.limits.Detach {
		return
	}
	s := m.stream
	if o.job.served(s.rank, m.lacking, s.ctx.exact) != 0 {
		return
	}
	if r := &o.job.ranks[s.rank]; len(m.data) > o.job.limits.Eager && r.retained+len(m.data)+frameCost <= o.job.limits.Retain {
		o.copyOut(m)
	}
}

// retire ends the requests of all messages that are kept: each message becomes a copy.
func (o *outgoing) retire() {
	for _, ctx := range o.contexts.order {
		for _, s := range ctx.out {
			if s == nil {
				continue
			}
			for _, m := range s.kept {
				if m != nil && !m.bookmark {
					o.keepOnly(m)
				}
			}
		}
	}
	for rank := range o.job.ranks {
		o.updateWant(rank)
	}
}

// keepOnly makes m a copy whose request has ended. Links may still use its former memory.
func (o *outgoing) keepOnly(m *Message) {
	m.req = nil
	if m.copied {
		return
	}
	r := &o.job.ranks[m.stream.rank]
	if m.stream.rank != o.job.rank && o.eagerly(m) {
		r.waiting--
	}
	o.copyOut(m)
}

// finish forgets m if every live replica of its destination has it.
func (o *outgoing) finish(m *Message) {
	if m.lacking != 0 || m.inflight != 0 {
		if !m.copied {
			o.detach(m)
		}
		return
	}
	s := m.stream
	s.drop(m)
	r := &o.job.ranks[s.rank]
	r.unfinished--
	o.unfinished--
	switch {
	case m.bookmark:
	case m.copied:
		r.retained -= len(m.data) + frameCost
		o.buffers.put(m.data)
		o.out.complete(m.req, Status{}, nil) // a synchronous send of a later run of the program may wait for it
	default:
		if o.eagerly(m) {
			r.waiting--
		}
		o.out.complete(m.req, Status{}, nil)
	}
	o.history.drop(m.past)
	o.reuseMessage(m)
	o.updateWant(s.rank)
	o.contexts.ended(s.ctx)
}

// acknowledged handles an acknowledgement of process p.
func (o *outgoing) acknowledged(p int, h *transport.Header, payload []byte) error {
	pr := &o.job.processes[p]
	ctx := o.contexts.get(h.Args[0], h.Flags&flagExact != 0)
	if ctx == nil {
		return nil
	}
	s := o.contexts.outStream(ctx, pr.rank)
	payload, err := o.comparer.receiveSums(p, h, s, payload)
	if err != nil {
		return err
	}
	set := &s.acked[pr.replica]
	low := set.low // messages below it were not lacking before
	switch {
	case h.Args[5] < o.out.passed:
		return nil // the message may have been discarded at the cut
	case h.Args[5] > o.out.passed:
		decodeAck(h, payload, &s.later[pr.replica])
	}
	decodeAck(h, payload, set)
	d := uint64(1) << pr.replica
	from, to := s.span(low, set.end())
	for _, m := range s.kept[from:to] { // this loop does the work of sweep without calls, which would be slow for most messages
		if m == nil || m.lacking&d == 0 || !set.has(m.number) {
			continue
		}
		if m.lacking &^= d; m.lacking == 0 && m.inflight == 0 {
			o.finish(m)
		}
	}
	return nil
}

// sweep calls f for the messages kept in s and ends those that are done.
func (o *outgoing) sweep(s *outStream, f func(m *Message)) {
	for _, m := range s.kept {
		if m == nil {
			continue
		}
		if f(m); m.lacking == 0 && m.inflight == 0 {
			o.finish(m)
		}
	}
}

// abandon stops keeping messages with numbers below number.
func (o *outgoing) abandon(s *outStream, number uint64) {
	o.sweep(s, func(m *Message) {
		if m.number < number {
			m.lacking, m.first = 0, 0
		}
	})
}

// substitute sends the messages that may be missing at the replicas that this process
// serves from now on [lines 21 to 25].
func (o *outgoing) substitute(before uint64) {
	if o.job.mirror {
		return
	}
	for _, ctx := range o.contexts.order {
		for rank, s := range ctx.out {
			if s == nil {
				continue
			}
			for d := range each(o.job.ranks[rank].live) {
				if !o.job.serves(rank, d, ctx.exact) || o.job.server(before, o.job.rank, rank, d, ctx.exact) == o.job.replica {
					continue
				}
				for _, m := range s.kept {
					if m != nil && m.lacking>>d&1 != 0 {
						o.transmit(m, d)
					}
				}
			}
		}
	}
	for rank := range o.job.ranks {
		o.updateWant(rank)
	}
}

// updateWant notifies the replicas of a rank whether this process waits for their
// acknowledgements.
func (o *outgoing) updateWant(rank int) {
	r := &o.job.ranks[rank]
	if rank == o.job.rank {
		return
	}
	want := r.waiting > 0 || o.job.draining && r.unfinished > 0
	if !want && !r.notified {
		return
	}
	r.notified = want
	for d := range each(r.live) {
		pr := &o.job.processes[r.first+d]
		if pr.wanted == want || want && o.job.serves(rank, d, false) && o.job.serves(rank, d, true) {
			continue
		}
		pr.wanted = want
		h := transport.Header{Kind: kindWant}
		if want {
			h.Args[0] = 1
		}
		o.out.send(r.first+d, h, nil)
	}
}

// Drained reports whether no message is kept. Then every live destination has all messages
// that this process sent, or would have to send in place of another replica.
func (o *outgoing) Drained() bool { return o.unfinished == 0 }

// Retained returns how many messages are kept, and the bytes of their copies.
func (o *outgoing) Retained() (messages, bytes int) {
	for i := range o.job.ranks {
		bytes += o.job.ranks[i].retained
	}
	return o.unfinished, bytes
}

func (o *outgoing) newMessage() *Message {
	if n := len(o.messages); n > 0 {
		m := o.messages[n-1]
		o.messages = o.messages[:n-1]
		return m
	}
	return new(Message)
}

func (o *outgoing) reuseMessage(m *Message) {
	*m = Message{}
	if len(o.messages) < 256 {
		o.messages = append(o.messages, m)
	}
}
