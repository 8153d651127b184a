package sdr

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/intrahpc/intra/transport"
)

// A receive from any source waits in Context.any until its message is chosen. The leader
// chooses among the messages that have arrived; a follower obeys the decision of the
// leader. From then on the receive accepts only this message, from any replica of the
// source.
//
// A follower may hold messages that the leader will give to a receive from any source. It
// must not match them with receives that were posted later. So it marks them as claimed,
// and matches them again when the decision arrives.

// numberReceive gives a receive from any source its number in its context. If its message
// has already been decided, numberReceive applies the decision.
func (x *matching) numberReceive(req *Request) {
	if x.agreed == nil {
		return
	}
	ctx := req.ctx
	if !ctx.inRun || ctx.runTag != req.tag {
		ctx.endRun()
		ctx.inRun, ctx.runTag = true, req.tag
	}
	req.number, req.run = ctx.anyReceives, ctx.run
	ctx.anyReceives++
	x.agreed.number(decisionKey{ctx.id, decidesReceive, req.number})
	x.obey(req)
}

// endRun ends the current run of receives: the next receive from any source begins another
// one.
func (ctx *Context) endRun() {
	ctx.run++
	ctx.inRun = false
}

// obey applies a decision about a receive from any source, which then accepts only the
// decided message, and reports whether there was one. A follower ignores decisions that are
// not settled, because another leader may decide differently.
func (x *matching) obey(req *Request) bool {
	key := decisionKey{req.ctx.id, decidesReceive, req.number}
	d := x.agreed.due[key]
	if d != nil && d.run != req.run && !x.agreed.replays() { // the decision was made ahead, for a receive of another run
		delete(x.agreed.due, key)
		x.agreed.open = slices.DeleteFunc(x.agreed.open, func(o *decision) bool { return o == d })
		return false
	}
	if d == nil || !d.settled && !x.agreed.leads() {
		return false
	}
	delete(x.agreed.due, key)
	x.agreed.carries(key, req.run, d.value)
	req.source, req.number, req.chosen = int(binary.LittleEndian.Uint64(d.value)), binary.LittleEndian.Uint64(d.value[8:]), true
	if !d.settled {
		d.req, req.held = req, true
	}
	return true
}

// choose decides that a receive from any source gets a message. The decision stands even if the sender
// dies in the middle of the message: another replica of the source sends it.
func (x *matching) choose(req *Request, s *inStream, number uint64) {
	if x.agreed == nil || req.source != Any {
		return
	}
	key := decisionKey{req.ctx.id, decidesReceive, req.number}
	var ahead []*decision
	if x.job.siblings() != 0 {
		ahead = x.decideAhead(req, s, number)
	}
	req.source, req.number, req.chosen = s.rank, number, true
	value := receiveValue(s.rank, number)
	x.agreed.carries(key, req.run, value)
	if x.job.siblings() == 0 {
		return
	}
	req.held = true
	x.agreed.decide(&decision{key: key, run: req.run, value: value, req: req}, ahead...)
}

func receiveValue(rank int, number uint64) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(make([]byte, 0, receiveBytes), uint64(rank)), number)
}

// mostAhead bounds the decisions that are made ahead at a time.
const mostAhead = 63

// decideAhead returns decisions for the receives that follow req. They assign the messages
// that have arrived in order of arrival; messages of one source stay in the order in which
// they were sent. req gets the message with the given number of stream from. It has to be
// the last receive of its run so far, and no other receive from any source may wait.
func (x *matching) decideAhead(req *Request, from *inStream, number uint64) (ahead []*decision) {
	ctx := req.ctx
	if !ctx.inRun || req.run != ctx.run || req.number+1 != ctx.anyReceives || ctx.any.first != nil {
		return nil
	}
	type place struct {
		m     *arrival
		order uint64 // when the message and all earlier ones of its source had begun to arrive
	}
	var arrived []place
	for _, s := range ctx.in {
		if s == nil || s.unexpected.first == nil || s.passed(req) {
			continue
		}
		n, order := 0, uint64(0)
		for p := s.unexpected.find(req.key()); p != nil && n < mostAhead; p = p.after(req.key()) {
			m := p.message
			if s == from && m.number == number { // the message of req may still be in the line
				continue
			}
			order = max(order, m.order)
			arrived = append(arrived, place{m, order})
			n++
		}
	}
	slices.SortStableFunc(arrived, func(a, b place) int { return cmp.Compare(a.order, b.order) })
	for i, p := range arrived[:min(len(arrived), mostAhead)] {
		d := &decision{key: decisionKey{ctx.id, decidesReceive, req.number + 1 + uint64(i)}, run: req.run, value: receiveValue(p.m.stream.rank, p.m.number)}
		if x.agreed.due[d.key] != nil { // an earlier leader, or an earlier run of the program, has decided it
			break
		}
		x.agreed.due[d.key] = d
		ahead = append(ahead, d)
	}
	return ahead
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
func (x *matching) unhold(req *Request) {
	req.held = false
	if m := req.local; m != nil {
		req.local = nil
		x.endLocal(m, req)
	}
	if req.ended {
		req.ended = false
		x.out.completed = append(x.out.completed, req)
	} else if m := req.bound; m != nil && m.offers != 0 && x.requests.wants(m) {
		x.requests.ask(m)
	}
}

// carryOut matches a posted receive from any source with the message that was decided for it.
func (x *matching) carryOut(req *Request) {
	if !x.obey(req) {
		return
	}
	req.place.leave()
	x.postRecv(req)
	x.rematch(req.ctx)
}

// claimed reports whether the leader may give a message to a receive from any source that
// was posted before req. Until that is decided, req can match neither this message nor a
// later one of the same source.
func (x *matching) claimed(m *arrival, req *Request) bool {
	ctx := m.stream.ctx
	if ctx.any.first == nil || !x.waitsToChoose(ctx) {
		return false
	}
	p := ctx.any.find(m.place.key)
	if p == nil || !req.probe && p.receive.order > req.order {
		return false
	}
	ctx.claimed = true
	return true
}

// rematch matches the claimed messages of a context again. It goes through them in the
// order in which each source sent them, and matches each with the receive that was posted
// first.
func (x *matching) rematch(ctx *Context) {
	if !ctx.claimed {
		return
	}
	ctx.claimed = ctx.any.first != nil
	for _, s := range ctx.in {
		if s == nil {
			continue
		}
		for m := range s.unexpected.messages() {
			if req := x.takePosted(s, m.number, m.tag, m.past); req != nil {
				m.place.leave()
				x.bind(m, req)
			}
		}
	}
}

// waitsToChoose reports whether this process must not choose messages for the receives from
// any source of a context. One reason is that another replica leads. The other is that an
// earlier leader has answered questions that the program has yet to ask. That leader had
// chosen no message for the receives that it left undecided, and may have cancelled one of
// them.
func (x *matching) waitsToChoose(ctx *Context) bool {
	return x.agreed != nil && (!x.agreed.leads() || x.agreed.answered[ctx.id] > 0)
}

// CatchUp is called when the program has acted on the answer to its last question, or does not
// wait for it any more. Once the program has acted on all answers of earlier leaders, CatchUp
// matches the receives that had to wait.
func (x *matching) CatchUp(ctx *Context) {
	delete(x.agreed.due, decisionKey{ctx.id, decidesQuestion, ctx.questions - 1})
	ctx.acted = ctx.questions
	if n := x.agreed.answered[ctx.id]; n > 0 && ctx.questions >= n {
		delete(x.agreed.answered, ctx.id)
		x.rematch(ctx)
		x.matchDeliverable(ctx)
	}
}

// handleDecision handles a frame of process p about decisions.
func (x *matching) handleDecision(p int, h *transport.Header, payload []byte) (err error) {
	switch {
	case x.agreed == nil:
		return violation(&x.job.processes[p], h, "decision for a rank that makes none")
	case h.Kind == kindDecision:
		err = x.agreed.handleDecision(p, h, payload)
	default:
		err = x.agreed.handleHolds(p, h)
	}
	x.carrySettled()
	return err
}

// carrySettled carries out the decisions that have become settled.
func (x *matching) carrySettled() {
	settled := x.agreed.settled
	x.agreed.settled = nil
	for _, d := range settled {
		if req := d.req; req != nil {
			d.req = nil
			x.unhold(req)
		} else if ctx := x.contexts.byID[d.key.context]; ctx != nil {
			if req := ctx.undecided(d.key.number); req != nil {
				x.carryOut(req)
			}
		}
	}
}

// lostSibling handles the death of another replica of this rank. If this process becomes
// the leader, it adopts the decisions that it holds and that its siblings may lack. All
// posted receives apply the decisions before any message is matched: otherwise a receive
// could take the message that a decision gives to another one.
func (x *matching) lostSibling() {
	a := x.agreed
	if a == nil {
		return
	}
	if a.leads() && a.maker != x.job.replica {
		a.foresee()
		for _, d := range slices.Clone(a.open) {
			a.decide(d)
		}
		for _, ctx := range x.contexts.order {
			var decided []*Request
			for req := range ctx.any.receives() {
				if x.obey(req) {
					req.place.leave()
					decided = append(decided, req)
				}
			}
			for _, req := range decided {
				x.postRecv(req)
			}
			x.rematch(ctx)
			x.matchDeliverable(ctx)
		}
		x.out.wake = true // questions wait for an answer
	}
	a.settleHeld()
	x.carrySettled()
}
