package sdr

import (
	"cmp"
	"maps"
	"slices"
)

// retire withdraws all receives of the program. A message that was bound to one of them and is not
// whole returns to its place among the unmatched messages. If a link is still writing such a
// message into the memory of its receive, the message counts as received when the link is done.
func (x *matching) retire() {
	x.journal.retired = true
	for _, ctx := range x.contexts.order {
		for r := range ctx.any.receives() {
			x.withdraw(r)
		}
		for _, s := range ctx.in {
			if s == nil {
				continue
			}
			for r := range s.posted.receives() {
				x.withdraw(r)
			}
			for _, n := range slices.Sorted(maps.Keys(s.live)) {
				switch m := s.live[n]; {
				case m.req == nil:
				case m.filling:
					m.req = m.req.standIn()
				default:
					x.unmatch(m)
				}
			}
			for m := range s.unexpected.messages() {
				if m.local != nil {
					x.outgoing.keepOnly(m.local)
				}
			}
		}
		ctx.claimed = false
	}
	for _, d := range x.agreed.open {
		if req := d.req; req != nil {
			x.undecide(d, req)
		}
	}
}

// undecide takes a decision that is not settled from a receive: the next run of the program
// carries it out.
func (x *matching) undecide(d *decision, req *Request) {
	if d.req = nil; x.agreed.due[d.key] == nil {
		x.agreed.due[d.key] = d
	}
	if m := req.local; m != nil { // that message has been received
		req.local, m.req = nil, nil
		x.endLocal(m, &Request{})
	}
}

func (x *matching) withdraw(r *Request) {
	r.place.leave()
	r.ctx.unbind(r)
}

// standIn returns a request that gets the message of r in its place.
func (r *Request) standIn() *Request {
	s := &Request{ctx: r.ctx, buf: r.buf, source: r.source, tag: r.tag, number: r.number, order: r.order, chosen: r.chosen, bound: r.bound}
	r.bound = nil
	return s
}

// unmatch returns a message that is not whole to its place among the unmatched messages.
func (x *matching) unmatch(m *arrival) {
	m.req.ctx.unbind(m.req)
	m.req.bound, m.req = nil, nil
	behind := m.stream.unexpected.last
	for behind != nil && behind.message.number > m.number {
		behind = behind.prev
	}
	m.stream.unexpected.insert(behind, &m.place)
}

// giveBack returns messages that an earlier run of the program has received to the unmatched
// messages.
func (x *matching) giveBack(received []receivedMessage) {
	back := make(map[*inStream][]*arrival)
	var order []*inStream
	for _, r := range received {
		m := x.newArrival(r.stream, r.number, r.tag, len(r.data))
		m.whole, m.from, m.cut = true, -1, x.out.passed
		m.data, m.hasData = r.data, true
		if back[r.stream] == nil {
			order = append(order, r.stream)
		}
		back[r.stream] = append(back[r.stream], m)
	}
	for _, s := range order {
		all := back[s]
		for m := range s.unexpected.messages() {
			m.place.leave()
			all = append(all, m)
		}
		slices.SortFunc(all, func(a, b *arrival) int { return cmp.Compare(a.number, b.number) })
		for _, m := range all {
			s.unexpected.push(&m.place)
		}
	}
}
