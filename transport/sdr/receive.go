package sdr

import (
	"encoding/binary"
	"fmt"

	"github.com/intrahpc/intra/transport"
)

// incoming handles the messages that other ranks send.
type incoming struct {
	job      *job
	out      *outbox
	history  *history
	contexts *contexts
	requests *requests
	buffers  *buffers
	acks     *acks
	matching *matching
}

// Begin handles the header of a frame from process p, which has arrived. It returns memory
// for the payload, or nil.
func (in *incoming) Begin(p int, h *transport.Header) []byte {
	if h.Kind != kindData || in.job.refused(p, h) {
		return nil
	}
	m := in.expected(p, h)
	if m == nil || m.req == nil || m.size != int(h.Size) || len(m.req.buf) < m.size {
		return nil // End copies the part that fits
	}
	m.filling = true
	return m.req.buf[:m.size]
}

// expected returns the message whose payload was requested from process p.
func (in *incoming) expected(p int, h *transport.Header) *arrival {
	pr := &in.job.processes[p]
	ctx := in.contexts.byID[h.Args[0]]
	if ctx == nil || ctx.in[pr.rank] == nil {
		return nil
	}
	m := ctx.in[pr.rank].live[h.Args[1]]
	if m == nil || m.whole || m.granted != pr.replica {
		return nil
	}
	return m
}

// eager handles a message that arrived together with its payload.
func (in *incoming) eager(p int, s *inStream, h *transport.Header, payload []byte, of *past) error {
	n, tag := h.Args[1], int(h.Args[2])
	replica := in.job.processes[p].replica
	cost := len(payload) + frameCost
	if s.received.has(n) {
		in.confirm(s, h, of)
		in.requests.consumed(p, cost)
		return nil
	}
	if m := s.known(n); m != nil { // another replica has offered it
		if m.size != len(payload) || m.tag != tag {
			return violation(&in.job.processes[p], h, "differs from what another replica sent")
		}
		in.confirm(s, h, of)
		if !m.filling {
			in.whole(m, replica, p, payload)
			return nil
		}
		if !m.hasData { // kept in case the other replica dies in the middle
			in.matching.keepCopy(m, payload)
			m.from = replica
		}
		in.requests.consumed(p, cost)
		return nil
	}
	s.received.add(n)
	in.acks.acknowledge(s, n, payload, replica, cost, false, h.Flags&flagCompared != 0)
	if !s.ctx.exact && n != s.due {
		m := in.matching.newArrival(s, n, tag, len(payload))
		m.whole, m.from, m.cut, m.compared = true, replica, h.Args[5], h.Flags&flagCompared != 0
		in.requests.hold(m, p)
		in.matching.keepCopy(m, payload)
		m.past = in.history.take(of)
		s.live[n] = m
		return nil
	}
	s.due++
	if req := in.matching.takePosted(s, n, tag, of); req != nil {
		in.matching.fill(req, s, replica, n, tag, payload, of)
		in.requests.consumed(p, cost)
	} else {
		m := in.matching.newArrival(s, n, tag, len(payload))
		m.whole, m.from, m.cut, m.compared = true, replica, h.Args[5], h.Flags&flagCompared != 0
		in.requests.hold(m, p)
		in.matching.keepCopy(m, payload)
		m.past = in.history.take(of)
		in.matching.enqueue(m)
	}
	in.matching.advance(s)
	return nil
}

// offer handles the announcement of a message.
func (in *incoming) offer(p int, s *inStream, h *transport.Header, of *past) error {
	n, tag, size := h.Args[1], int(h.Args[2]), int(h.Args[3])
	replica := in.job.processes[p].replica
	if s.received.has(n) {
		in.confirm(s, h, of)
		in.acks.ackOne(s, replica)
		return nil
	}
	if m := s.live[n]; m != nil {
		if m.size != size || m.tag != tag {
			return violation(&in.job.processes[p], h, "differs from what another replica sent")
		}
		in.confirm(s, h, of)
		m.offers |= 1 << replica
		if in.requests.wants(m) {
			in.requests.ask(m)
		}
		return nil
	}
	m := in.matching.newArrival(s, n, tag, size)
	m.offers, m.comes, m.cut, m.compared = 1<<replica, h.Flags&flagComes != 0, h.Args[5], h.Flags&flagCompared != 0
	m.past = in.history.take(of)
	s.live[n] = m
	if s.ctx.exact || n == s.due {
		s.due++
		in.matching.deliver(m)
		in.matching.advance(s)
	}
	if in.requests.pulling && s.live[n] == m {
		in.requests.ask(m)
	}
	return nil
}

// data handles a payload that was requested.
func (in *incoming) data(p int, s *inStream, h *transport.Header, payload []byte) error {
	if s.received.has(h.Args[1]) {
		return nil // an eager copy has arrived meanwhile
	}
	m := in.expected(p, h)
	if m == nil || m.size != len(payload) {
		return violation(&in.job.processes[p], h, "payload that was not asked for")
	}
	if m.hasData { // the message was kept in case this transfer broke off
		in.buffers.put(m.data)
		m.data, m.hasData = nil, false
	}
	m.filling = false
	in.whole(m, in.job.processes[p].replica, -1, payload)
	return nil
}

// whole completes the reception of a known message with the payload from a replica of its
// source. eager is the process whose credit the message holds, or -1.
func (in *incoming) whole(m *arrival, replica, eager int, payload []byte) {
	s := m.stream
	s.received.add(m.number)
	in.acks.acknowledge(s, m.number, payload, replica, m.size, true, m.compared)
	m.whole, m.from = true, replica
	in.requests.unawait(m)
	if eager >= 0 {
		in.requests.hold(m, eager)
	}
	switch {
	case m.req != nil:
		delete(s.live, m.number)
		in.matching.fill(m.req, s, replica, m.number, m.tag, payload, m.past)
		in.matching.release(m)
		return
	case m.queued():
		delete(s.live, m.number)
	}
	in.matching.keepCopy(m, payload)
}

// Torn handles the loss of the link from process p inside the payload of a frame for which
// Begin returned memory.
func (in *incoming) Torn(p int, h *transport.Header) {
	if h.Kind != kindData || in.job.refused(p, h) {
		return
	}
	if m := in.expected(p, h); m != nil {
		in.torn(m)
	}
}

func (in *incoming) torn(m *arrival) {
	if !m.filling {
		return
	}
	m.filling = false
	if in.matching.journal.retired && !m.hasData {
		in.matching.unmatch(m)
	}
	if m.hasData { // an eager copy of another replica arrived while this one was being written
		data := m.data
		m.data, m.hasData = nil, false
		in.whole(m, m.from, -1, data)
		in.buffers.put(data)
	}
}

// splitPast splits the content of a frame into payload and causal history, see
// history.read.
func (in *incoming) splitPast(p int, h *transport.Header, b []byte) (payload []byte, of *past, err error) {
	base, word := h.Args[3], h.Args[4]
	if word == 0 && (h.Kind != kindEager || base == 0) {
		return b, nil, nil
	}
	n := pastBytes(h)
	if n > uint64(len(b)) {
		return nil, nil, fmt.Errorf("%w: %d bytes of causal past in a frame of %d", violation(&in.job.processes[p], h, "causal past"), n, len(b))
	}
	cut := len(b) - int(n)
	payload, list := b[:cut], b[cut:]
	if h.Kind != kindEager { // Args[3] of an offer is its size, so the base precedes the list
		var n int
		if base, n = binary.Uvarint(list); n <= 0 {
			return nil, nil, violation(&in.job.processes[p], h, "causal past")
		}
		list = list[n:]
	}
	if of = in.history.read(p, in.job.processes[p].rank, base, word, list); of == nil {
		return nil, nil, violation(&in.job.processes[p], h, "causal past")
	}
	return payload, of, nil
}
