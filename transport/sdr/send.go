package sdr

import (
	"encoding/binary"
	"slices"

	"github.com/intrahpc/intra/transport"
)

// outgoing holds the messages of this process to other ranks, and sends them.
type outgoing struct {
	job        *job
	out        *outbox
	history    *history
	contexts   *contexts
	comparer   *comparer
	buffers    *buffers
	messages   []*Message // for reuse
	unfinished int        // messages kept
}

// SendNow sends a small message that only one process lacks, if its link accepts the
// message at once. It keeps nothing and needs no request. number is that of the message in
// an exact context; otherwise the message gets the next number. SendNow reports whether it
// has sent the message. If not, it has changed nothing.
func (o *outgoing) SendNow(ctx *Context, data []byte, dst int, number uint64, tag int) bool {
	if o.job.replicated || o.out.now == nil || dst == o.job.rank || len(data) > o.job.limits.Eager || len(o.out.actions) > 0 {
		return false
	}
	s := o.contexts.outStream(ctx, dst)
	p := o.job.ranks[dst].first
	pr := &o.job.processes[p]
	cost := len(data) + frameCost
	if !ctx.exact {
		number = s.next
	}
	if !pr.alive || pr.credit < cost || s.acked[0].has(number) {
		return false
	}
	a := &o.out.direct
	h := &a.Header
	h.Channel, h.Kind, h.Flags, h.Incarnation = transport.ChannelMessage, kindEager, 0, o.out.incarnation
	h.Args = [6]uint64{ctx.id, number, uint64(tag), 0, 0, o.out.passed}
	if ctx.exact {
		h.Flags = flagExact
	}
	a.Kind, a.To, a.Payload = ActSend, p, data
	taken := o.out.now(a)
	a.Payload = nil
	if !taken {
		return false
	}
	o.job.spend(pr, cost)
	pr.sent++
	s.next, o.contexts.used = max(s.next, number+1), true
	return true
}

// message returns a new message of a stream. req is complete when the message is.
func (o *outgoing) message(s *outStream, req *Request, data []byte, number uint64, tag int, sync bool) *Message {
	m := o.newMessage()
	m.stream, m.number, m.tag, m.data, m.sync, m.req = s, number, tag, data, sync, req
	if req != nil {
		req.sends = m
	}
	s.next = max(s.next, number+1)
	return m
}

// post sends a message to another rank.
func (o *outgoing) post(m *Message) {
	s, req := m.stream, m.req
	r := &o.job.ranks[s.rank]
	o.comparer.posts(s, m.number, m.tag, m.data)
	if m.lacking = s.lacking(r.live, m.number); m.lacking == 0 {
		o.reuseMessage(m)
		o.out.complete(req, Status{}, nil)
		return
	}
	small := o.eagerly(m)
	if small && r.retained+len(m.data)+frameCost <= o.job.limits.Retain {
		o.copyOut(m)
	} else if small {
		r.waiting++
	}
	if req.script != nil {
		m.past = req.script.past.clone(o.history)
	} else {
		m.past = o.history.causalPast(s.ctx.domain, 0)
	}
	if r := o.history.reference; r != nil && m.past != nil {
		r.Sent(m.past.reference, len(m.past.list))
	} else if r != nil {
		r.Sent(0, 0)
	}
	o.dispatch(m)
	o.updateWant(s.rank)
}

// lacking returns the live replicas that are not known to have a message. If this replica
// lags behind the others of its rank, some destinations may already have the message.
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
func (o *outgoing) dispatch(m *Message) {
	s := m.stream
	s.keep(m)
	o.job.ranks[s.rank].unfinished++
	o.unfinished++
	served := o.job.served(s.rank, m.lacking, s.ctx.exact)
	if !m.bookmark {
		m.first = served
	}
	for d := range each(served) {
		if o.transmit(m, d); m.inflight > 0 && o.out.sendNow() {
			m.inflight--
			m.lacking &^= 1 << d
		}
	}
	o.finish(m)
}

// copyOut completes the request of m with a copy of its data.
func (o *outgoing) copyOut(m *Message) {
	data := o.buffers.get(len(m.data))
	copy(data, m.data)
	m.data, m.copied = data, true
	o.job.ranks[m.stream.rank].retained += len(data) + frameCost
	o.out.complete(m.req, Status{}, nil)
	m.req = nil
}

// transmit sends m to replica d of its destination, or offers it if it is
// large or the receiver's room for unmatched messages is used up.
func (o *outgoing) transmit(m *Message, d int) {
	p := o.job.ranks[m.stream.rank].first + d
	if o.eagerly(m) && o.job.processes[p].credit >= len(m.data)+frameCost {
		o.sendEager(m, p)
		return
	}
	m.offered |= 1 << d
	a := o.out.frame(p, kindOffer, m.stream.ctx, m.number)
	a.Payload = o.pastList(m, true)
	h := &a.Header
	h.Flags |= o.comparer.mark()
	if o.eagerly(m) {
		h.Flags |= flagComes
		o.lacksRoom(m.stream, p)
	}
	if h.Args[2], h.Args[3] = uint64(m.tag), uint64(len(m.data)); m.past != nil {
		h.Args[4] = m.past.word(len(a.Payload))
	}
}

// eagerly reports whether m is sent unrequested to a receiver that has room.
func (o *outgoing) eagerly(m *Message) bool { return !m.sync && len(m.data) <= o.job.limits.Eager }

// sendEager sends m to process p, which has room for it.
func (o *outgoing) sendEager(m *Message, p int) {
	pr := &o.job.processes[p]
	m.offered &^= 1 << pr.replica
	o.job.spend(pr, len(m.data)+frameCost)
	a := o.sendPayload(m, p, kindEager)
	h := &a.Header
	h.Flags |= o.comparer.mark()
	if h.Args[2] = uint64(m.tag); m.past != nil {
		a.CausalPast = o.pastList(m, false)
		h.Args[3], h.Args[4] = m.past.base, m.past.word(len(a.CausalPast))
	}
}

// sendPayload appends a frame with the payload of m to process p.
func (o *outgoing) sendPayload(m *Message, p int, kind uint8) *Action {
	m.inflight++
	o.job.processes[p].sent++
	a := o.out.frame(p, kind, m.stream.ctx, m.number)
	a.Payload = m.data
	d := uint64(1) << o.job.processes[p].replica
	a.Message, a.First = m, m.first&d != 0
	m.first &^= d
	return a
}

// grant handles the request of process p for the payload of a message that was offered to
// it.
func (o *outgoing) grant(p int, h *transport.Header) {
	pr := &o.job.processes[p]
	ctx := o.contexts.get(h.Args[0], h.Flags&flagExact != 0)
	if ctx == nil || ctx.out[pr.rank] == nil {
		return
	}
	m := ctx.out[pr.rank].find(h.Args[1])
	d := uint64(1) << pr.replica
	if m == nil || m.lacking&m.offered&d == 0 {
		return // the process has got the message from another replica, or there was room for it
	}
	m.offered &^= d
	o.sendPayload(m, p, kindData)
}

// pastBytes returns the size of the causal history in an eager message or an offer.
func pastBytes(h *transport.Header) uint64 { return h.Args[4] & maxList }

// pastList returns the bytes of the causal history of m that follow the payload in a frame.
// In an offer the base precedes the list.
func (o *outgoing) pastList(m *Message, offer bool) []byte {
	switch {
	case m.past == nil:
		return nil
	case !offer && o.history.reference == nil:
		return m.past.list
	}
	var b []byte // a copy, because m may end before the link has sent the offer
	if offer {
		b = binary.AppendUvarint(nil, m.past.base)
	}
	b = append(b, m.past.list...)
	if o.history.reference != nil {
		b = binary.LittleEndian.AppendUint64(b, m.past.reference)
	}
	return b
}

// push sends the messages that were offered to process p for lack of room, until its room
// is used up.
func (o *outgoing) push(p int) {
	pr := &o.job.processes[p]
	d := uint64(1) << pr.replica
	for len(pr.short) > 0 {
		s := pr.short[0]
		s.compact()
		for _, m := range s.kept {
			if m == nil || m.offered&m.lacking&d == 0 || !o.eagerly(m) {
				continue
			}
			if pr.credit < len(m.data)+frameCost {
				return
			}
			o.sendEager(m, p)
		}
		s.short &^= d
		pr.short = slices.Delete(pr.short, 0, 1)
	}
}

// lacksRoom records that a message of s was only offered to process p, which has no room
// for it.
func (o *outgoing) lacksRoom(s *outStream, p int) {
	pr := &o.job.processes[p]
	if d := uint64(1) << pr.replica; s.short&d == 0 {
		s.short |= d
		pr.short = append(pr.short, s)
	}
}
