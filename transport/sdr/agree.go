package sdr

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/intrahpc/intra/transport"
)

// The replicas of a rank receive the same messages, but not in the same order. What a
// program sees of that order they decide together, unless it asserts that its messages do
// not depend on it (SendDeterministic): which message a receive from any source gets, and
// what a test, a probe or a wait for any of several requests comes to.
//
// The lowest replica that lives decides, and tells the others. Each of them says to all that
// it holds the decision, as soon as that has arrived. A decision is settled once all that live
// hold it, and takes effect nowhere before: no call returns what it brings, no payload is asked
// for because of it. So nothing that a program does after a decision can be known outside of
// the rank while a death could still undo the decision, and whoever leads next holds all that
// any replica has acted on. This is the primary-backup approach with its output commit, one
// round trip between replicas for a decision; no replica waits until the program of another one
// gets anywhere.
//
// Where a decision has its place in the program says its key: the number of the receive, or of
// the question, in its context. All replicas begin the same ones in the same order. They count
// from the last cut on, at which all decisions are carried out.

// decisionKey is the place of a decision in the program.
type decisionKey struct {
	context uint64
	kind    uint64 // decidesReceive or decidesQuestion
	number  uint64 // of those of this kind in the context, since the last cut
}

// The kinds of decisions.
const (
	decidesReceive  = iota // value: rank and number of a message, 8 bytes each
	decidesQuestion        // value: what the layer above makes of it
)

// decision is one that is not carried out, or not settled.
type decision struct {
	key     decisionKey
	maker   int    // replica that has made it, or makes it its own
	number  uint64 // among those of its maker
	value   []byte
	settled bool
	req     *Request // that is held until it is settled, see Request.held
}

// agreement is what the replicas of this rank have decided since the last cut.
type agreement struct {
	due   map[decisionKey]*decision // not carried out
	open  []*decision               // not settled, in the order in which they came
	maker int                       // the highest replica that has decided: the lower ones are dead
	made  uint64                    // decisions of maker, if it is this process
	held  [][]uint64                // per maker and replica: of those decisions, that one holds those below
	later []laterFrame              // of replicas that have passed a cut which this one has yet to
}

type laterFrame struct {
	from int
	earlyFrame
}

const (
	receiveBytes  = 16       // the value of decidesReceive
	decisionBytes = 64 << 10 // bounds that of a decision
)

func newAgreement(degree int) *agreement {
	a := &agreement{due: make(map[decisionKey]*decision), held: make([][]uint64, degree)}
	for k := range a.held {
		a.held[k] = make([]uint64, degree)
	}
	return a
}

// agree has the replicas of this rank decide together what depends on time.
func (c *Core) agree() {
	if degree := c.ranks[c.rank].degree; degree > 1 {
		c.agreed = newAgreement(degree)
	}
}

// SendDeterministic says that what the program does outside of its ranks does not depend on the
// order in which messages of several ranks arrive: nothing has to be decided. All ranks say so
// before they have sent anything, or looked for a message from any source.
func (c *Core) SendDeterministic() error {
	if c.used {
		return errUsed
	}
	c.agreed = nil
	return nil
}

// leads reports whether this process decides for its rank.
func (c *Core) leads() bool { return bits.TrailingZeros64(c.ranks[c.rank].live) == c.replica }

// follows reports whether another process decides for its rank.
func (c *Core) follows() bool { return c.agreed != nil && !c.leads() }

// siblings are the other replicas of this rank that live.
func (c *Core) siblings() uint64 { return c.ranks[c.rank].live &^ (1 << c.replica) }

// enrol gives a receive from any source its place among those of its context, and has it obey
// what has been decided about it.
func (c *Core) enrol(req *Request) {
	if c.agreed == nil {
		return
	}
	req.number = req.ctx.anyReceives
	req.ctx.anyReceives++
	c.obey(req)
}

// obey makes a receive from any source one of the message that it has to get, and reports whether
// that is known. A follower leaves what is not settled: another leader may decide otherwise.
func (c *Core) obey(req *Request) bool {
	key := decisionKey{req.ctx.id, decidesReceive, req.number}
	d := c.agreed.due[key]
	if d == nil || !d.settled && !c.leads() {
		return false
	}
	delete(c.agreed.due, key)
	req.source, req.number, req.chosen = int(binary.LittleEndian.Uint64(d.value)), binary.LittleEndian.Uint64(d.value[8:]), true
	if !d.settled {
		d.req, req.held = req, true
	}
	return true
}

// choose decides that a receive from any source gets a message. Whoever dies, it waits for that
// one from now on: the source has sent it, or another replica of it will.
func (c *Core) choose(req *Request, s *inStream, number uint64) {
	if c.agreed == nil || req.source != Any {
		return
	}
	key := decisionKey{req.ctx.id, decidesReceive, req.number}
	req.source, req.number, req.chosen = s.rank, number, true
	if c.siblings() == 0 {
		return
	}
	value := binary.LittleEndian.AppendUint64(make([]byte, 0, receiveBytes), uint64(s.rank))
	req.held = true
	c.decide(&decision{key: key, value: binary.LittleEndian.AppendUint64(value, number), req: req})
}

// Inquire returns the place of a question that the program comes to in a context, for Answer and
// Answered. All replicas ask the same ones in the same order, each one before the next.
func (c *Core) Inquire(ctx *Context) (number uint64) {
	c.used = true
	ctx.questions++
	return ctx.questions - 1
}

// MayAnswer reports whether it is this process that has to answer a question.
func (c *Core) MayAnswer(ctx *Context, number uint64) bool {
	return c.leads() && c.agreed.due[decisionKey{ctx.id, decidesQuestion, number}] == nil
}

// Answer decides what a question comes to, for all replicas.
func (c *Core) Answer(ctx *Context, number uint64, value []byte) {
	d := &decision{key: decisionKey{ctx.id, decidesQuestion, number}, value: value}
	c.agreed.due[d.key] = d
	c.decide(d)
}

// Answered returns the answer once it is settled, and forgets it.
func (c *Core) Answered(ctx *Context, number uint64) (value []byte, settled bool) {
	key := decisionKey{ctx.id, decidesQuestion, number}
	d := c.agreed.due[key]
	if d == nil || !d.settled {
		return nil, false
	}
	delete(c.agreed.due, key)
	return d.value, true
}

// decide makes a decision, or makes one of a dead leader that of this process, and tells it to
// all.
func (c *Core) decide(d *decision) {
	a := c.agreed
	if a.maker != c.replica {
		a.rise(c.replica)
	}
	d.maker, d.number = c.replica, a.made
	a.made++
	if !slices.Contains(a.open, d) {
		a.open = append(a.open, d)
	}
	for k := range each(c.siblings()) {
		h := transport.Header{Kind: kindDecision}
		h.Args[0], h.Args[1], h.Args[2], h.Args[3] = d.key.context, d.key.number, d.number, d.key.kind
		c.send(c.ranks[c.rank].first+k, h, d.value)
	}
	c.count()
}

// rise makes replica k the one that decides from now on.
func (a *agreement) rise(k int) { a.maker, a.made = k, 0 }

// concerns reports whether a frame of another replica of this rank is about what is decided now.
// One of a replica that has passed a cut which this one has yet to is kept until then; older ones
// are of no use.
func (c *Core) concerns(p int, h *transport.Header, payload []byte) (bool, error) {
	pr := &c.processes[p]
	if pr.rank != c.rank || c.agreed == nil {
		return false, violation(pr, h, "decision for a rank that needs none")
	}
	if h.Args[5] > c.passed {
		c.agreed.later = append(c.agreed.later, laterFrame{p, earlyFrame{*h, slices.Clone(payload)}})
	}
	return h.Args[5] == c.passed, nil
}

// heardDecision takes a decision of process p.
func (c *Core) heardDecision(p int, h *transport.Header, payload []byte) error {
	if now, err := c.concerns(p, h, payload); !now {
		return err
	}
	a, pr := c.agreed, &c.processes[p]
	key := decisionKey{h.Args[0], h.Args[3], h.Args[1]}
	if key.kind == decidesReceive && (len(payload) != receiveBytes || binary.LittleEndian.Uint64(payload) >= uint64(len(c.ranks))) || key.kind > decidesQuestion {
		return violation(pr, h, "decision")
	}
	switch {
	case pr.replica < a.maker:
		return nil // it is dead: who knows that has decided since
	case pr.replica > a.maker:
		a.rise(pr.replica)
	}
	if !c.carriedOut(key) {
		d := a.due[key]
		if d == nil {
			d = &decision{key: key}
			a.due[key] = d
			a.open = append(a.open, d)
		}
		if !d.settled {
			d.maker, d.number, d.value = pr.replica, h.Args[2], slices.Clone(payload)
		}
	}
	for k := range each(c.siblings()) {
		h := transport.Header{Kind: kindHolds, Args: [6]uint64{1: h.Args[2] + 1, 2: uint64(pr.replica)}}
		c.send(c.ranks[c.rank].first+k, h, nil)
	}
	c.count()
	return nil
}

// carriedOut reports whether a decision was settled, and has taken effect, before a new leader
// has told it again.
func (c *Core) carriedOut(key decisionKey) bool {
	ctx, known := c.contexts[key.context]
	if ctx == nil {
		return known // closed
	}
	if key.kind == decidesQuestion {
		return key.number+1 < ctx.questions
	}
	return key.number < ctx.anyReceives && ctx.undecided(key.number) == nil
}

// undecided returns the receive from any source with this number that waits for a decision, nil
// if there is none.
func (ctx *Context) undecided(number uint64) *Request {
	for r := range ctx.any.receives() {
		if r.number == number {
			return r
		}
	}
	return nil
}

// heardHolds: process p holds so many decisions of their maker, which may be dead by now.
func (c *Core) heardHolds(p int, h *transport.Header) error {
	if now, err := c.concerns(p, h, nil); !now {
		return err
	}
	if h.Args[2] >= uint64(len(c.agreed.held)) {
		return violation(&c.processes[p], h, "decisions of no replica")
	}
	held := &c.agreed.held[h.Args[2]][c.processes[p].replica]
	*held = max(*held, h.Args[1])
	c.count()
	return nil
}

// count settles the decisions that all replicas of this rank hold which live. Who makes one holds
// it, and so does this process.
func (c *Core) count() {
	for _, d := range slices.Clone(c.agreed.open) {
		held := true
		for k := range each(c.siblings() &^ (1 << d.maker)) {
			held = held && d.number < c.agreed.held[d.maker][k]
		}
		if held && !d.settled {
			c.settleDecision(d)
		}
	}
}

// settleDecision has a decision take effect.
func (c *Core) settleDecision(d *decision) {
	d.settled = true
	c.agreed.open = slices.DeleteFunc(c.agreed.open, func(o *decision) bool { return o == d })
	c.news = true
	if req := d.req; req != nil {
		d.req = nil
		c.unhold(req)
		return
	}
	if ctx := c.contexts[d.key.context]; ctx != nil && d.key.kind == decidesReceive {
		if req := ctx.undecided(d.key.number); req != nil {
			c.carryOut(req)
		}
	}
}

// unhold lets a receive end, or ask for its payload, whose message is settled.
func (c *Core) unhold(req *Request) {
	req.held = false
	if req.ended {
		req.ended = false
		c.completed = append(c.completed, req)
	} else if m := req.bound; m != nil && m.offers != 0 && c.wants(m) {
		c.ask(m)
	}
}

// carryOut gives a posted receive from any source what has been decided, if it has.
func (c *Core) carryOut(req *Request) {
	if !c.obey(req) {
		return
	}
	req.place.leave()
	c.postRecv(req)
	c.rematch(req.ctx)
}

// claimed reports whether a message of the source may be that of a receive from any source which
// was posted before req and waits for a decision. Then neither it nor what comes after it is for
// req yet.
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

// rematch matches the messages of a context that were claimed: each one, in the order of its
// source, with the receive that was posted first.
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

// bereave: a replica of this rank has died. If this process leads now, it makes the decisions its
// own that it holds and that others may not hold, and goes on.
func (c *Core) bereave() {
	a := c.agreed
	if a == nil {
		return
	}
	if c.leads() && a.maker != c.replica {
		for _, d := range slices.Clone(a.open) {
			c.decide(d)
		}
		for _, ctx := range slices.Clone(c.order) {
			var decided []*Request // all of them, before a message can be given to one
			for req := range ctx.any.receives() {
				if c.obey(req) {
					req.place.leave()
					decided = append(decided, req)
				}
			}
			for _, req := range decided {
				c.postRecv(req)
			}
			c.rematch(ctx)
			c.ripen(ctx)
		}
		c.news = true // questions that wait for an answer
	}
	c.count()
}

// agreeAnew begins after a cut, at which all decisions before it have been carried out. It returns
// what others have said since, who have passed the cut before.
func (c *Core) agreeAnew() []laterFrame {
	if c.agreed == nil {
		return nil
	}
	later := c.agreed.later
	c.agreed = newAgreement(len(c.agreed.held))
	for _, ctx := range c.order {
		ctx.anyReceives, ctx.questions, ctx.claimed = 0, 0, false
	}
	return later
}
