package sdr

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/intrahpc/intra/transport"
)

// The replicas of a rank receive the same messages, but each replica in an order of its own. A
// program sees that order where it receives or probes from any source, where it tests a request,
// and where it waits for any of several. So that all replicas see the same, they agree on it,
// unless the program asserts that its messages do not depend on it (SendDeterministic).
//
// The leader, the lowest live replica, makes a decision and sends it to its siblings. Each sibling
// acknowledges it to all others on arrival, wherever its program stands. A decision is settled once
// all live replicas hold it, and takes effect nowhere before: no call returns its result, and no
// payload is requested because of it. This is the output commit of primary-backup replication:
//
//   - Nothing that the program does after a decision leaves the rank while a death could still
//     undo the decision.
//   - Whichever replica leads next holds every decision on which any replica has acted. It makes
//     the decisions that it holds its own, and decides the others afresh.
//
// A decision costs one round trip between replicas.
//
// A key names the place of a decision in the program: the number of the receive, or of the
// question, in its context. All replicas reach the same keys in the same order. The numbers begin at
// 0 after each consistent cut, where every decision has been carried out.

// decisionKey is the place of a decision in the program.
type decisionKey struct {
	context uint64
	kind    uint64 // decidesReceive or decidesQuestion
	number  uint64 // counts the keys of this kind in the context since the last cut
}

// The kinds of decisions.
const (
	decidesReceive  = iota // value: rank and number of a message, 8 bytes each
	decidesQuestion        // value: for the layer above
)

// decision exists until it is both settled and carried out.
type decision struct {
	key     decisionKey
	maker   int    // replica that made it, or made it its own
	number  uint64 // counts the decisions of its maker
	value   []byte
	settled bool
	req     *Request // receive of this process that is held until the decision is settled; or nil
}

// agreement is the state of the decisions of this rank since the last cut.
type agreement struct {
	due   map[decisionKey]*decision // not carried out
	open  []*decision               // not settled, in order of arrival
	maker int                       // highest replica that is known to lead or to have led; all lower ones are dead
	made  uint64                    // decisions that this process has made as maker
	held  [][]uint64                // held[m][k]: replica k holds the decisions of maker m with lower numbers
	later []laterFrame              // frames of replicas that passed a cut before this process
}

type laterFrame struct {
	from int
	earlyFrame
}

const (
	receiveBytes  = 16      // the value of decidesReceive
	decisionBytes = 1 << 20 // bounds that of a decision
)

func newAgreement(degree int) *agreement {
	a := &agreement{due: make(map[decisionKey]*decision), held: make([][]uint64, degree)}
	for k := range a.held {
		a.held[k] = make([]uint64, degree)
	}
	return a
}

// agree makes this process agree with its siblings. It is called before anything else, at all
// processes. No replica then gets past a receive from any source before all its siblings know the
// decision, so that no message can depend on the completion of a receive that a replica has yet to
// choose a message for: messages need not carry their causal history.
func (c *Core) agree() {
	c.history.on = false
	if degree := c.job.ranks[c.job.rank].degree; degree > 1 || c.recorder != nil {
		c.agreed = newAgreement(degree)
	}
}

// SendDeterministic asserts that the messages and the output of the program do not depend on the
// order in which messages arrive, so that no decisions are needed. All ranks call it before they
// send anything or look for a message from any source.
func (c *Core) SendDeterministic() error {
	if c.contexts.used {
		return errUsed
	}
	c.agreed, c.history.on = nil, c.job.replicated && !c.noAny
	return nil
}

// leads reports whether this process makes the decisions of its rank.
func (c *Core) leads() bool {
	return !c.replays() && bits.TrailingZeros64(c.job.ranks[c.job.rank].live) == c.job.replica
}

// follows reports whether another replica makes the decisions of this rank.
func (c *Core) follows() bool { return c.agreed != nil && !c.leads() }

// siblings returns the other live replicas of this rank.
func (c *Core) siblings() uint64 { return c.job.ranks[c.job.rank].live &^ (1 << c.job.replica) }

// Inquire returns the number of the question that the program asks now in a context. A program asks
// one question of a context at a time, and all replicas ask the same ones in the same order.
func (c *Core) Inquire(ctx *Context) (number uint64) {
	c.contexts.used = true
	ctx.questions++
	c.number(decisionKey{ctx.id, decidesQuestion, ctx.questions - 1})
	return ctx.questions - 1
}

// MayAnswer reports whether this process has to answer a question.
func (c *Core) MayAnswer(ctx *Context, number uint64) bool {
	return c.leads() && c.agreed.due[decisionKey{ctx.id, decidesQuestion, number}] == nil
}

// Answer decides a question for all replicas.
func (c *Core) Answer(ctx *Context, number uint64, value []byte) {
	d := &decision{key: decisionKey{ctx.id, decidesQuestion, number}, value: value}
	c.agreed.due[d.key] = d
	c.decide(d)
}

// Answered returns the answer to a question once it is settled, and removes it.
func (c *Core) Answered(ctx *Context, number uint64) (value []byte, settled bool) {
	key := decisionKey{ctx.id, decidesQuestion, number}
	d := c.agreed.due[key]
	if d == nil || !d.settled {
		return nil, false
	}
	delete(c.agreed.due, key)
	c.carries(key, d.value)
	return d.value, true
}

// decide makes d a decision of this process, also if a dead leader made it before, and sends it to
// all siblings.
func (c *Core) decide(d *decision) {
	a := c.agreed
	if a.maker != c.job.replica {
		a.setMaker(c.job.replica)
	}
	d.maker, d.number = c.job.replica, a.made
	a.made++
	if !slices.Contains(a.open, d) {
		a.open = append(a.open, d)
	}
	for k := range each(c.siblings()) {
		h := transport.Header{Kind: kindDecision}
		h.Args[0], h.Args[1], h.Args[2], h.Args[3] = d.key.context, d.key.number, d.number, d.key.kind
		c.out.send(c.job.ranks[c.job.rank].first+k, h, d.value)
	}
	c.settleHeld()
}

// setMaker records that replica k leads.
func (a *agreement) setMaker(k int) { a.maker, a.made = k, 0 }

// concerns reports whether a sibling sent a frame since the last cut. Frames of a sibling
// that has passed the next cut already are kept until this process passes it. Older frames
// are obsolete.
func (c *Core) concerns(p int, h *transport.Header, payload []byte) (bool, error) {
	pr := &c.job.processes[p]
	if pr.rank != c.job.rank || c.agreed == nil {
		return false, violation(pr, h, "decision for a rank that makes none")
	}
	if h.Args[5] > c.out.passed {
		c.agreed.later = append(c.agreed.later, laterFrame{p, earlyFrame{*h, slices.Clone(payload)}})
	}
	return h.Args[5] == c.out.passed, nil
}

// handleDecision records a decision of process p and acknowledges it to all siblings.
func (c *Core) handleDecision(p int, h *transport.Header, payload []byte) error {
	if now, err := c.concerns(p, h, payload); !now {
		return err
	}
	a, pr := c.agreed, &c.job.processes[p]
	key := decisionKey{h.Args[0], h.Args[3], h.Args[1]}
	if key.kind == decidesReceive && (len(payload) != receiveBytes || binary.LittleEndian.Uint64(payload) >= uint64(len(c.job.ranks))) || key.kind > decidesQuestion {
		return violation(pr, h, "decision")
	}
	switch {
	case pr.replica < a.maker:
		return nil // the sender is dead: a later leader has decided since
	case pr.replica > a.maker:
		a.setMaker(pr.replica)
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
		c.out.send(c.job.ranks[c.job.rank].first+k, h, nil)
	}
	c.settleHeld()
	return nil
}

// carriedOut reports whether a decision has taken effect already. A new leader may send
// such a decision again.
func (c *Core) carriedOut(key decisionKey) bool {
	ctx, known := c.contexts.byID[key.context]
	switch {
	case ctx == nil: // closed: the program may still test requests of a freed communicator
		return known && key.kind == decidesReceive
	case key.kind == decidesQuestion:
		return key.number+1 < ctx.questions
	}
	return key.number < ctx.anyReceives && ctx.undecided(key.number) == nil
}

// handleHolds records the acknowledgement of process p. A decision that all live replicas
// hold is settled even if its maker is dead.
func (c *Core) handleHolds(p int, h *transport.Header) error {
	if now, err := c.concerns(p, h, nil); !now {
		return err
	}
	if h.Args[2] >= uint64(len(c.agreed.held)) {
		return violation(&c.job.processes[p], h, "decisions of no replica")
	}
	held := &c.agreed.held[h.Args[2]][c.job.processes[p].replica]
	*held = max(*held, h.Args[1])
	c.settleHeld()
	return nil
}

// settleHeld settles the decisions that all live replicas of this rank hold: their maker, this process,
// and all that have acknowledged them.
func (c *Core) settleHeld() {
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

// settleDecision makes a decision take effect.
func (c *Core) settleDecision(d *decision) {
	d.settled = true
	c.agreed.open = slices.DeleteFunc(c.agreed.open, func(o *decision) bool { return o == d })
	c.out.news = true
	if req := d.req; req != nil {
		d.req = nil
		c.unhold(req)
		return
	}
	if ctx := c.contexts.byID[d.key.context]; ctx != nil && d.key.kind == decidesReceive {
		if req := ctx.undecided(d.key.number); req != nil {
			c.carryOut(req)
		}
	}
}

// lostSibling handles the death of another replica of this rank. If this process leads from
// now on, it takes over the decisions that it holds and that its siblings may lack. All
// posted receives apply the decisions before any message is matched: otherwise a receive
// could take the message that a decision gives to another one.
func (c *Core) lostSibling() {
	a := c.agreed
	if a == nil {
		return
	}
	if c.leads() && a.maker != c.job.replica {
		for _, d := range slices.Clone(a.open) {
			c.decide(d)
		}
		for _, ctx := range c.contexts.order {
			var decided []*Request
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
		c.out.news = true // questions wait for an answer
	}
	c.settleHeld()
}

// resetAgreement starts again after a cut, where every decision has been carried out. It
// returns the frames of siblings that passed the cut before this process.
func (c *Core) resetAgreement() []laterFrame {
	if c.agreed == nil {
		return nil
	}
	later := c.agreed.later
	c.agreed = newAgreement(len(c.agreed.held))
	for _, ctx := range c.contexts.order {
		ctx.anyReceives, ctx.questions, ctx.claimed = 0, 0, false
	}
	return later
}
