package sdr

import (
	"encoding/binary"

	"github.com/intrahpc/intra/transport"
)

// Send posts a message with the next number of its stream [SDR, Algorithm 1, line 4]. dst
// is a rank of the job. If the message is small, and the copies kept for dst stay within
// their limit, it is copied and req is complete at once. Otherwise data belongs to the core
// until req is complete, which is when every live replica of dst has the message. With
// sync, req is not complete before a receive has matched the message.
func (c *Core) Send(ctx *Context, req *Request, data []byte, dst, tag int, sync bool) {
	c.operate(ctx, false)
	s := c.contexts.outStream(ctx, dst)
	n := s.next
	c.post(s, req, data, n, tag, sync)
}

// SendNow is Send of a small message that only one process lacks, if its link takes the
// message at once. It keeps nothing and needs no request. It reports whether it has sent
// the message; otherwise it has changed nothing.
func (c *Core) SendNow(ctx *Context, data []byte, dst, tag int) bool {
	return c.sendWithout(ctx, data, dst, 0, tag)
}

// SendExactNow is SendNow in an exact context, see SendExact.
func (c *Core) SendExactNow(ctx *Context, data []byte, dst int, number uint64, purpose int) bool {
	return c.sendWithout(ctx, data, dst, number, purpose)
}

// mayNow reports whether SendNow is possible, as far as that depends on this process alone.
func (c *Core) mayNow(dst int, data []byte) bool {
	return !c.job.replicated && c.out.now != nil && dst != c.job.rank && len(data) <= c.job.limits.Eager && len(c.out.actions) == 0
}

// sendWithout sends a message without a record of it. Its number is n in an exact context,
// otherwise the next one.
func (c *Core) sendWithout(ctx *Context, data []byte, dst int, n uint64, tag int) bool {
	if !c.mayNow(dst, data) {
		return false
	}
	s := c.contexts.outStream(ctx, dst)
	p := c.job.ranks[dst].first
	pr := &c.job.processes[p]
	cost := len(data) + frameCost
	if !ctx.exact {
		n = s.next
	}
	if !pr.alive || pr.credit < cost || s.acked[0].has(n) {
		return false
	}
	a := &c.out.direct
	h := &a.Header
	h.Channel, h.Kind, h.Flags, h.Incarnation = transport.ChannelMessage, kindEager, 0, c.out.incarnation
	h.Args = [6]uint64{ctx.id, n, uint64(tag), 0, 0, c.out.passed}
	if ctx.exact {
		h.Flags = flagExact
	}
	a.Kind, a.To, a.Payload = ActSend, p, data
	taken := c.out.now(a)
	a.Payload = nil
	if !taken {
		return false
	}
	c.job.spend(pr, cost)
	pr.sent++
	s.next, c.contexts.used = max(s.next, n+1), true
	return true
}

// SendExact posts the message with this number, in an exact context. Every
// replica uses the same numbers, each once, but may post them in any order.
// purpose, at most MaxPurpose, is compared with that of the receive.
func (c *Core) SendExact(ctx *Context, req *Request, data []byte, dst int, number uint64, purpose int) {
	c.post(c.contexts.outStream(ctx, dst), req, data, number, purpose, false)
}

func (c *Core) post(s *outStream, req *Request, data []byte, number uint64, tag int, sync bool) {
	m := c.newMessage()
	m.stream, m.number, m.tag, m.data, m.sync, m.req = s, number, tag, data, sync, req
	if req != nil {
		req.sends = m
	}
	s.next = max(s.next, number+1)
	r := &c.job.ranks[s.rank]
	if s.rank == c.job.rank {
		c.postLocal(m)
		return
	}
	c.posts(s, number, tag, data)
	if m.lacking = s.lacking(r.live, number); m.lacking == 0 {
		c.reuseMessage(m)
		c.out.complete(req, Status{}, nil)
		return
	}
	small := c.eagerly(m)
	if small && r.retained+len(data)+frameCost <= c.job.limits.Retain {
		c.copyOut(m)
	} else if small {
		r.waiting++
	}
	m.past = c.pastOf(s.ctx, req)
	if c.history.reference != nil {
		c.tellSent(m.past)
	}
	c.dispatch(m)
	c.updateWant(s.rank)
}

// lacking returns the live replicas that are not known to have a message. If this replica
// lags behind the others of its rank, some may have the message already.
func (s *outStream) lacking(live, number uint64) uint64 {
	for d := range each(live) {
		if s.acked[d].has(number) {
			live &^= 1 << d
		}
	}
	return live
}

// dispatch keeps m until every live replica of its destination has it, and sends it to
// those that this process serves.
func (c *Core) dispatch(m *Message) {
	s := m.stream
	s.keep(m)
	c.job.ranks[s.rank].unfinished++
	c.unfinished++
	served := c.job.served(s.rank, m.lacking, s.ctx.exact)
	if !m.bookmark {
		m.first = served
	}
	for d := range each(served) {
		if c.transmit(m, d); m.inflight > 0 && c.out.sendNow() {
			m.inflight--
			m.lacking &^= 1 << d
		}
	}
	c.finish(m)
}

// copyOut completes the request of m with a copy of its data.
func (c *Core) copyOut(m *Message) {
	data := c.buffers.get(len(m.data))
	copy(data, m.data)
	m.data, m.copied = data, true
	c.job.ranks[m.stream.rank].retained += len(data) + frameCost
	c.out.complete(m.req, Status{}, nil)
	m.req = nil
}

// transmit sends m to replica d of its destination, or offers it if it is
// large or the receiver's room for unmatched messages is used up.
func (c *Core) transmit(m *Message, d int) {
	p := c.job.ranks[m.stream.rank].first + d
	if c.eagerly(m) && c.job.processes[p].credit >= len(m.data)+frameCost {
		c.sendEager(m, p)
		return
	}
	m.offered |= 1 << d
	a := c.out.frame(p, kindOffer, m.stream.ctx, m.number)
	a.Payload = c.pastList(m, true)
	h := &a.Header
	if c.eagerly(m) {
		h.Flags |= flagComes
		c.lacksRoom(m.stream, p)
	}
	if h.Args[2], h.Args[3] = uint64(m.tag), uint64(len(m.data)); m.past != nil {
		h.Args[4] = m.past.word(len(a.Payload))
	}
}

// eagerly reports whether m is sent unrequested to a receiver that has room.
func (c *Core) eagerly(m *Message) bool { return !m.sync && len(m.data) <= c.job.limits.Eager }

// sendEager sends m to process p, which has room for it.
func (c *Core) sendEager(m *Message, p int) {
	pr := &c.job.processes[p]
	m.offered &^= 1 << pr.replica
	c.job.spend(pr, len(m.data)+frameCost)
	a := c.sendPayload(m, p, kindEager)
	h := &a.Header
	if h.Args[2] = uint64(m.tag); m.past != nil {
		a.CausalPast = c.pastList(m, false)
		h.Args[3], h.Args[4] = m.past.base, m.past.word(len(a.CausalPast))
	}
}

// sendPayload appends a frame with the payload of m to process p.
func (c *Core) sendPayload(m *Message, p int, kind uint8) *Action {
	m.inflight++
	c.job.processes[p].sent++
	a := c.out.frame(p, kind, m.stream.ctx, m.number)
	a.Payload = m.data
	d := uint64(1) << c.job.processes[p].replica
	a.Message, a.First = m, m.first&d != 0
	m.first &^= d
	return a
}

// grant handles the request of process p for the payload of a message that was offered to
// it.
func (c *Core) grant(p int, h *transport.Header) {
	pr := &c.job.processes[p]
	ctx := c.contexts.get(h.Args[0], h.Flags&flagExact != 0)
	if ctx == nil || ctx.out[pr.rank] == nil {
		return
	}
	m := ctx.out[pr.rank].find(h.Args[1])
	d := uint64(1) << pr.replica
	if m == nil || m.lacking&m.offered&d == 0 {
		return // it has got the message from another replica meanwhile, or there was room for it
	}
	m.offered &^= d
	c.sendPayload(m, p, kindData)
}

// Sent records that the link to process p no longer holds the payload of m. If err is nil,
// the link has taken it over in full, and it reaches p if both processes live.
func (c *Core) Sent(m *Message, p int, err error) {
	m.inflight--
	if err == nil {
		m.lacking &^= 1 << c.job.processes[p].replica
	}
	c.finish(m)
}

// detach completes the request of a message that only other replicas still have to send,
// with a copy. Where more processes run than there are cores, this one then need not wait
// until the other replicas have had their turn.
func (c *Core) detach(m *Message) {
	if m.sync || m.req == nil || m.inflight != 0 || len(m.data) > c.job.limits.Detach {
		return
	}
	s := m.stream
	if c.job.served(s.rank, m.lacking, s.ctx.exact) != 0 {
		return
	}
	if r := &c.job.ranks[s.rank]; len(m.data) > c.job.limits.Eager && r.retained+len(m.data)+frameCost <= c.job.limits.Retain {
		c.copyOut(m)
	}
}

// finish forgets m if every live replica of its destination has it.
func (c *Core) finish(m *Message) {
	if m.lacking != 0 || m.inflight != 0 {
		if !m.copied {
			c.detach(m)
		}
		return
	}
	s := m.stream
	s.drop(m)
	r := &c.job.ranks[s.rank]
	r.unfinished--
	c.unfinished--
	switch {
	case m.bookmark:
	case m.copied:
		r.retained -= len(m.data) + frameCost
		c.buffers.put(m.data)
	default:
		if c.eagerly(m) {
			r.waiting--
		}
		c.out.complete(m.req, Status{}, nil)
	}
	c.history.drop(m.past)
	c.reuseMessage(m)
	c.updateWant(s.rank)
	if s.ctx.freed {
		c.close(s.ctx)
	}
}

// acknowledged handles an acknowledgement of process p.
func (c *Core) acknowledged(p int, h *transport.Header, payload []byte) error {
	pr := &c.job.processes[p]
	ctx := c.contexts.get(h.Args[0], h.Flags&flagExact != 0)
	if ctx == nil {
		return nil
	}
	s := c.contexts.outStream(ctx, pr.rank)
	payload, err := c.heard(p, h, s, payload)
	if err != nil {
		return err
	}
	set := &s.acked[pr.replica]
	low := set.low // messages below it were not lacking before
	switch {
	case h.Args[5] < c.out.passed:
		return nil // the message that it acknowledges may have been taken back at the cut
	case h.Args[5] > c.out.passed:
		decodeAck(h, payload, &s.later[pr.replica])
	}
	decodeAck(h, payload, set)
	d := uint64(1) << pr.replica
	from, to := s.span(low, set.end())
	for _, m := range s.kept[from:to] { // like sweep, but most messages get here: a call for each would show
		if m == nil || m.lacking&d == 0 || !set.has(m.number) {
			continue
		}
		if m.lacking &^= d; m.lacking == 0 && m.inflight == 0 {
			c.finish(m)
		}
	}
	return nil
}

// sweep calls f for the messages kept in s and ends those that are done.
func (c *Core) sweep(s *outStream, f func(m *Message)) {
	for _, m := range s.kept {
		if m == nil {
			continue
		}
		if f(m); m.lacking == 0 && m.inflight == 0 {
			c.finish(m)
		}
	}
}

// updateWant notifies the replicas of a rank whose acknowledgements this process needs
// whether it waits for them.
func (c *Core) updateWant(rank int) {
	r := &c.job.ranks[rank]
	if rank == c.job.rank {
		return
	}
	want := r.waiting > 0 || c.draining && r.unfinished > 0
	if !want && !r.told {
		return
	}
	r.told = want
	for d := range each(r.live) {
		pr := &c.job.processes[r.first+d]
		if pr.wanted == want || want && c.job.serves(rank, d, false) && c.job.serves(rank, d, true) {
			continue
		}
		pr.wanted = want
		h := transport.Header{Kind: kindWant}
		if want {
			h.Args[0] = 1
		}
		c.out.send(r.first+d, h, nil)
	}
}

func (c *Core) newMessage() *Message {
	if n := len(c.messages); n > 0 {
		m := c.messages[n-1]
		c.messages = c.messages[:n-1]
		return m
	}
	return new(Message)
}

func (c *Core) reuseMessage(m *Message) {
	*m = Message{}
	if len(c.messages) < 256 {
		c.messages = append(c.messages, m)
	}
}

// pastOf returns the causal history of the message that req posts now.
func (c *Core) pastOf(ctx *Context, req *Request) *past {
	if s := req.script; s != nil {
		return s.past.clone(&c.history)
	}
	return c.history.causalPast(ctx.thread, 0)
}

// tellSent reports to the reference what a message carries.
func (c *Core) tellSent(p *past) {
	if p == nil {
		p = new(past)
	}
	c.history.reference.Sent(p.reference, len(p.list))
}

// pastBytes returns the size of the causal history in an eager message or an offer.
func pastBytes(h *transport.Header) uint64 { return h.Args[4] & maxList }

// pastList returns the causal history of m as a frame carries it, behind the payload. In an
// offer the base comes first.
func (c *Core) pastList(m *Message, offer bool) []byte {
	switch {
	case m.past == nil:
		return nil
	case !offer && c.history.reference == nil:
		return m.past.list
	}
	var b []byte // a copy: m may end before the link has sent the offer
	if offer {
		b = binary.AppendUvarint(nil, m.past.base)
	}
	b = append(b, m.past.list...)
	if c.history.reference != nil {
		b = binary.LittleEndian.AppendUint64(b, m.past.reference)
	}
	return b
}
