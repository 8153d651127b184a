package sdr

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/intrahpc/intra/transport"
)

// The replicas of a rank receive the same messages, but each replica in its own order. A
// program can see that order when it receives or probes from any source, tests a request,
// or waits for any of several requests. To make all replicas see the same order, they agree
// on it, unless the program asserts that its messages do not depend on it
// (SendDeterministic).
//
// The leader is the lowest live replica. It makes a decision and sends it to its siblings.
// Each sibling acknowledges it to all others on arrival, no matter what its program does
// then. A decision is settled once all live replicas hold it. Before that it has no effect
// on any replica: no call returns its result, and no payload is requested because of it.
// This is the output commit of primary-backup replication:
//
//   - Nothing that the program does after a decision leaves the rank while a death could still
//     undo the decision.
//   - The next leader holds every decision on which any replica has acted. It adopts the decisions
//     that it holds, and makes the others again. Its siblings discard decisions of earlier leaders
//     that it does not hold.
//   - It chooses no message for a receive before its program has acted on every answer that it
//     holds: the earlier leader may have cancelled that receive.
//
// A decision costs one round trip between replicas. To save round trips, the leader also
// makes decisions ahead: along with the decision about one receive, it assigns further
// messages that it holds to the next receives. Such decisions apply to a run of receives
// from any source with the same tag, without another receive or question of the context in
// between. All replicas count the runs of a context alike. A decision made ahead is void if
// the receive turns out to belong to another run.
//
// A key identifies a decision by its place in the program: the number of the receive, or of
// the question, in its context. All replicas reach the same keys in the same order. The
// numbers begin at 0 after each consistent cut, because at a cut every decision has been
// carried out.

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
	run     uint64 // Context.run of the receive for which it was made
	maker   int    // replica that made or adopted it
	number  uint64 // counts the decisions of its maker
	value   []byte
	settled bool
	req     *Request // receive of this process that is held until the decision is settled; or nil
}

// agreement makes the decisions of this rank, together with its siblings. It holds the
// decisions since the last cut.
type agreement struct {
	job      *job
	out      *outbox
	contexts *contexts
	journal  *journal
	recorder Recorder // nil: none
	decided
}

// decided is the state of the decisions since the last cut.
type decided struct {
	due     map[decisionKey]*decision // decisions that this process has yet to carry out
	open    []*decision               // decisions that are not settled, in order of arrival
	settled []*decision               // decisions on receives, settled since the last matching.carrySettled
	maker   int                       // highest replica that is known to lead or to have led; all lower ones are dead
	made    uint64                    // number of decisions that this process has made as maker
	held    [][]uint64                // held[m][k]: replica k holds the decisions of maker m with lower numbers
	later   []laterFrame              // frames of replicas that passed a cut before this process
	// answered[id] is the number of questions in a context that earlier leaders have
	// answered. It is set when this process becomes the leader, and removed when its
	// program has acted on all of these answers.
	answered map[uint64]uint64
}

type laterFrame struct {
	from int
	earlyFrame
}

const (
	receiveBytes  = 16      // the value of decidesReceive
	decisionBytes = 1 << 20 // bounds the value of decidesQuestion
)

func newDecided(degree int) decided {
	d := decided{due: make(map[decisionKey]*decision), held: make([][]uint64, degree)}
	for k := range d.held {
		d.held[k] = make([]uint64, degree)
	}
	return d
}

// leads reports whether this process makes the decisions of its rank.
func (a *agreement) leads() bool {
	return !a.replays() && bits.TrailingZeros64(a.job.ranks[a.job.rank].live) == a.job.replica
}

// Inquire returns the number of the question that the program asks now in a context. In
// each context a program asks one question at a time, and all replicas ask the same
// questions in the same order.
func (a *agreement) Inquire(ctx *Context) (number uint64) {
	a.contexts.used = true
	ctx.questions++
	ctx.endRun()
	a.number(decisionKey{ctx.id, decidesQuestion, ctx.questions - 1})
	return ctx.questions - 1
}

// MayAnswer reports whether this process has to answer a question.
func (a *agreement) MayAnswer(ctx *Context, number uint64) bool {
	return a.leads() && a.due[decisionKey{ctx.id, decidesQuestion, number}] == nil
}

// Answer decides a question for all replicas.
func (a *agreement) Answer(ctx *Context, number uint64, value []byte) {
	d := &decision{key: decisionKey{ctx.id, decidesQuestion, number}, value: value}
	a.due[d.key] = d
	a.decide(d)
	a.settleHeld()
}

// Answered returns the answer to a question once it is settled. The answer stays due until the
// program has acted on it (matching.CatchUp).
func (a *agreement) Answered(ctx *Context, number uint64) (value []byte, settled bool) {
	key := decisionKey{ctx.id, decidesQuestion, number}
	d := a.due[key]
	if d == nil || !d.settled {
		return nil, false
	}
	a.carries(key, d.run, d.value)
	return d.value, true
}

// decide sends d, and the decisions ahead about the next receives, to all siblings, with
// this process as their maker. A dead leader may have made these decisions before.
func (a *agreement) decide(d *decision, ahead ...*decision) {
	if a.maker != a.job.replica {
		a.setMaker(a.job.replica)
	}
	var values []byte
	for _, o := range append([]*decision{d}, ahead...) {
		o.maker, o.number = a.job.replica, a.made
		a.made++
		if !slices.Contains(a.open, o) {
			a.open = append(a.open, o)
		}
		values = append(values, o.value...)
	}
	for k := range each(a.job.siblings()) {
		h := transport.Header{Kind: kindDecision, Args: [6]uint64{d.key.context, d.key.number, d.number, d.key.kind, d.run}}
		a.out.send(a.job.ranks[a.job.rank].first+k, h, values)
	}
}

// foresee records the answers of earlier leaders when this process becomes the leader.
func (a *agreement) foresee() {
	a.answered = make(map[uint64]uint64)
	for key := range a.due {
		if key.kind == decidesQuestion {
			a.answered[key.context] = max(a.answered[key.context], key.number+1)
		}
	}
}

// setMaker records that replica k leads.
func (a *agreement) setMaker(k int) { a.maker, a.made = k, 0 }

// concerns reports whether a sibling sent a frame since the last cut. If the sibling has
// already passed the next cut, concerns keeps its frame until this process passes that cut.
// Older frames are obsolete.
func (a *agreement) concerns(p int, h *transport.Header, payload []byte) (bool, error) {
	pr := &a.job.processes[p]
	if pr.rank != a.job.rank {
		return false, violation(pr, h, "decision for a rank that makes none")
	}
	if h.Args[5] > a.out.passed {
		a.later = append(a.later, laterFrame{p, earlyFrame{*h, slices.Clone(payload)}})
	}
	return h.Args[5] == a.out.passed, nil
}

// handleDecision records the decisions of process p and acknowledges them to all siblings.
func (a *agreement) handleDecision(p int, h *transport.Header, payload []byte) error {
	if now, err := a.concerns(p, h, payload); !now {
		return err
	}
	pr := &a.job.processes[p]
	key := decisionKey{h.Args[0], h.Args[3], h.Args[1]}
	values := [][]byte{payload}
	if key.kind == decidesReceive {
		values = slices.Collect(slices.Chunk(payload, receiveBytes))
	}
	if len(values) == 0 {
		return violation(pr, h, "decision")
	}
	for _, v := range values {
		if key.kind == decidesReceive && (len(v) != receiveBytes || binary.LittleEndian.Uint64(v) >= uint64(len(a.job.ranks))) || key.kind > decidesQuestion {
			return violation(pr, h, "decision")
		}
	}
	switch {
	case pr.replica < a.maker:
		return nil // the sender is dead, and a later leader has decided since
	case pr.replica > a.maker:
		a.setMaker(pr.replica)
		a.dropUnheld(pr.replica)
	}
	number := h.Args[2]
	for _, v := range values {
		a.record(decision{key: key, run: h.Args[4], maker: pr.replica, number: number, value: v})
		key.number++
		number++
	}
	for k := range each(a.job.siblings()) {
		h := transport.Header{Kind: kindHolds, Args: [6]uint64{1: number, 2: uint64(pr.replica)}}
		a.out.send(a.job.ranks[a.job.rank].first+k, h, nil)
	}
	a.settleHeld()
	return nil
}

// record records a decision of another replica. It ignores one that is already carried out or
// settled, but replaces a settled decision that was made ahead for another run.
func (a *agreement) record(of decision) {
	if a.carriedOut(of.key) {
		return
	}
	d := a.due[of.key]
	switch {
	case d == nil:
		d = new(decision)
		a.due[of.key] = d
		a.open = append(a.open, d)
	case d.settled && d.run == of.run:
		return
	case d.settled:
		a.open = append(a.open, d)
	}
	*d = of
	d.value = slices.Clone(of.value)
}

// dropUnheld drops the decisions of dead leaders that leader k, which is alive, does not
// hold: k may decide differently, or cancel the receive. k has acknowledged all decisions
// that it holds before it made any.
func (a *agreement) dropUnheld(k int) {
	a.open = slices.DeleteFunc(a.open, func(d *decision) bool {
		unheld := d.maker < k && d.number >= a.held[d.maker][k]
		if unheld && a.due[d.key] == d {
			delete(a.due, d.key)
		}
		return unheld
	})
}

// carriedOut reports whether a decision has already taken effect. A new leader may send
// such a decision again.
func (a *agreement) carriedOut(key decisionKey) bool {
	if a.journal.retired { // the next run of the program may carry it out again
		return false
	}
	ctx, known := a.contexts.byID[key.context]
	switch {
	case ctx == nil: // closed: the program may still test requests of a freed communicator
		return known && key.kind == decidesReceive
	case key.kind == decidesQuestion:
		return key.number < ctx.acted
	}
	return key.number < ctx.anyReceives && ctx.undecided(key.number) == nil
}

// handleHolds records the acknowledgement of process p. A decision that all live replicas
// hold is settled even if its maker is dead.
func (a *agreement) handleHolds(p int, h *transport.Header) error {
	if now, err := a.concerns(p, h, nil); !now {
		return err
	}
	if h.Args[2] >= uint64(len(a.held)) {
		return violation(&a.job.processes[p], h, "decisions of no replica")
	}
	held := &a.held[h.Args[2]][a.job.processes[p].replica]
	*held = max(*held, h.Args[1])
	a.settleHeld()
	return nil
}

// settleHeld settles the decisions that all live replicas of this rank hold. The holders of a decision
// are its maker, this process, and the replicas that have acknowledged it.
func (a *agreement) settleHeld() {
	for _, d := range slices.Clone(a.open) {
		held := true
		for k := range each(a.job.siblings() &^ (1 << d.maker)) {
			held = held && d.number < a.held[d.maker][k]
		}
		if held && !d.settled {
			d.settled = true
			a.open = slices.DeleteFunc(a.open, func(o *decision) bool { return o == d })
			if a.out.wake = true; d.key.kind == decidesReceive {
				a.settled = append(a.settled, d)
			}
		}
	}
}

// reset starts again after a cut, where every decision has been carried out. It returns the
// frames of siblings that passed the cut before this process.
func (a *agreement) reset() []laterFrame {
	later := a.later
	a.decided = newDecided(len(a.held))
	for _, ctx := range a.contexts.order {
		ctx.ordered, ctx.claimed = ordered{}, false
	}
	return later
}

// number is called when the program reaches the place of a decision.
func (a *agreement) number(key decisionKey) {
	if a.recorder == nil {
		return
	}
	if value := a.recorder.Number(key.context, key.kind, key.number); value != nil {
		a.due[key] = &decision{key: key, value: value, settled: true}
	}
}

// carries is called when this process carries out a decision.
func (a *agreement) carries(key decisionKey, run uint64, value []byte) {
	if a.journal.on {
		a.journal.carries(key, run, value)
	}
	if a.recorder != nil {
		a.recorder.Decided(key.context, key.kind, key.number, value)
	}
}

func (a *agreement) replays() bool { return a.recorder != nil && a.recorder.Replays() }

// giveBack makes the next run of the program carry out decisions of an earlier run again.
func (a *agreement) giveBack(decided []carriedDecision) {
	for key := range a.due { // decisions that a new leader has repeated after the earlier run had ended
		if a.carriedOut(key) {
			delete(a.due, key)
		}
	}
	for _, d := range decided {
		if a.due[d.key] == nil { // else it is not settled yet
			a.due[d.key] = &decision{key: d.key, run: d.run, value: d.value, settled: true}
		}
	}
	if a.leads() {
		a.foresee() // the earlier run may have cancelled receives
	}
}
