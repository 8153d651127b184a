package sdr

import (
	"encoding/binary"
)

// A receive from any source waits in Context.any until its message is chosen: by the leader from what
// has arrived, by a follower from the decision of the leader. From then on it is a receive of this
// very message, whichever replica of the source sends it.
//
// A follower may hold messages that the leader will give to a receive from any source. It
// must not match them with receives that were posted later: it claims them, and matches
// them again when the decision arrives.

// numberReceive gives a receive from any source its number in its context, and the message that has
// been decided for it, if one has.
func (c *Core) numberReceive(req *Request) {
	if c.agreed == nil {
		return
	}
	req.number = req.ctx.anyReceives
	req.ctx.anyReceives++
	c.number(decisionKey{req.ctx.id, decidesReceive, req.number})
	c.obey(req)
}

// obey turns a receive from any source into one of the message that was decided for it, and reports
// whether one was. A follower ignores decisions that are not settled, as another leader may decide
// otherwise.
func (c *Core) obey(req *Request) bool {
	key := decisionKey{req.ctx.id, decidesReceive, req.number}
	d := c.agreed.due[key]
	if d == nil || !d.settled && !c.leads() {
		return false
	}
	delete(c.agreed.due, key)
	c.carries(key, d.value)
	req.source, req.number, req.chosen = int(binary.LittleEndian.Uint64(d.value)), binary.LittleEndian.Uint64(d.value[8:]), true
	if !d.settled {
		d.req, req.held = req, true
	}
	return true
}

// choose decides that a receive from any source gets a message. The decision stands even if the sender
// dies in the middle of the message: another replica of the source sends it.
func (c *Core) choose(req *Request, s *inStream, number uint64) {
	if c.agreed == nil || req.source != Any {
		return
	}
	key := decisionKey{req.ctx.id, decidesReceive, req.number}
	req.source, req.number, req.chosen = s.rank, number, true
	value := binary.LittleEndian.AppendUint64(make([]byte, 0, receiveBytes), uint64(s.rank))
	value = binary.LittleEndian.AppendUint64(value, number)
	c.carries(key, value)
	if c.siblings() == 0 {
		return
	}
	req.held = true
	c.decide(&decision{key: key, value: value, req: req})
}

// undecided returns the posted receive from any source with this number, nil if there is none.
func (ctx *Context) undecided(number uint64) *Request {
	for r := range ctx.any.receives() {
		if r.number == number {
			return r
		}
	}
	return nil
}

// unhold completes a receive whose decision is settled, or requests its payload.
func (c *Core) unhold(req *Request) {
	req.held = false
	if m := req.local; m != nil {
		req.local = nil
		c.endLocal(m, req)
	}
	if req.ended {
		req.ended = false
		c.out.completed = append(c.out.completed, req)
	} else if m := req.bound; m != nil && m.offers != 0 && c.requests.wants(m) {
		c.requests.ask(m)
	}
}

// carryOut matches a posted receive from any source with the message that was decided for it.
func (c *Core) carryOut(req *Request) {
	if !c.obey(req) {
		return
	}
	req.place.leave()
	c.postRecv(req)
	c.rematch(req.ctx)
}

// claimed reports whether the leader may give a message to a receive from any source that was posted
// before req. Then req can take neither this message nor a later one of the same source yet.
func (c *Core) claimed(m *arrival, req *Request) bool {
	ctx := m.stream.ctx
	if ctx.any.first == nil || !c.follows() {
		return false
	}
	p := ctx.any.find(m.place.key)
	if p == nil || !req.probe && p.receive.order > req.order {
		return false
	}
	ctx.claimed = true
	return true
}

// rematch matches the messages of a context that were claimed, each one with the receive that was
// posted first, in the order in which its source sent them.
func (c *Core) rematch(ctx *Context) {
	if !ctx.claimed {
		return
	}
	ctx.claimed = ctx.any.first != nil
	for _, s := range ctx.in {
		if s == nil {
			continue
		}
		for m := range s.unexpected.messages() {
			if req := c.takePosted(s, m.number, m.tag, m.past); req != nil {
				m.place.leave()
				c.bind(m, req)
			}
		}
	}
}
