package sdr

import (
	"maps"
	"slices"

	"github.com/intrahpc/intra/transport"
)

// A receiver has room for a limited number of bytes of unmatched small messages from each
// process (Limits.Window). A sender that has used up this room offers the next messages, so that
// the receiver can match them. When the sender gets credit, it sends as many of the offered
// messages as there is room for, oldest first. Requests by the receiver would cost a round trip
// for each message. So a receiver requests them only when its room is full of messages that it
// does not need yet.
//
// A sender that has room for any small message has already sent all messages that it had
// offered for lack of room. So a receiver can wait as long as its room is not used up by
// the messages that it holds and by room that it has yet to return. A missing message is on
// its way, or messages that precede it use up the room. In the second case the receiver requests
// the missing message when these arrive (askAgain).

// creditParts is the number of parts in which a receiver returns the room of a process. An
// active receiver needs less than paceTime for one part, so a sender that waits gets credit
// in time.
const creditParts = 16

// requests requests the payloads of offered messages, and accounts for the room that small
// messages occupy here.
type requests struct {
	job      *job
	out      *outbox
	contexts *contexts
	batch    int  // bytes of room that are returned at a time
	pulling  bool // a cut requests all payloads, also those that no receive wants yet
}

// roomy reports whether process p will have room here for any small message, once it has
// received all credit that was returned. It then sends all messages that it has offered for
// lack of room.
func (q *requests) roomy(p int) bool {
	pr := &q.job.processes[p]
	return pr.held+pr.owed+q.job.limits.Eager+frameCost <= q.job.limits.Window
}

// hold records that m uses room of process p until m is released.
func (q *requests) hold(m *arrival, p int) {
	m.eager = p
	q.job.processes[p].held += m.size + frameCost
}

// consumed records that an eager message of process p no longer needs room. It returns the
// room in batches.
func (q *requests) consumed(p, bytes int) {
	pr := &q.job.processes[p]
	if pr.owed += bytes; pr.owed >= q.batch {
		q.returnRoom(p)
	}
}

// returnRoom returns the room. It is a function of its own so that consumed can be inlined.
//
//go:noinline
func (q *requests) returnRoom(p int) {
	pr := &q.job.processes[p]
	if pr.alive {
		h := transport.Header{Kind: kindCredit}
		h.Args[0] = uint64(pr.owed)
		q.out.send(p, h, nil)
	}
	pr.owed = 0
}

// unawait records that m is no longer expected without a request.
func (q *requests) unawait(m *arrival) {
	if m.awaited > 0 {
		q.job.processes[m.awaited-1].awaited--
		m.awaited = 0
	}
}

// askAgain is called when process p may have used up its room. It requests the messages
// that p was expected to send without a request.
func (q *requests) askAgain(p int) {
	pr := &q.job.processes[p]
	if pr.awaited == 0 || q.roomy(p) {
		return
	}
	for _, ctx := range q.contexts.order {
		s := ctx.in[pr.rank]
		if s == nil {
			continue
		}
		for _, n := range slices.Sorted(maps.Keys(s.live)) {
			if m := s.live[n]; m.awaited == p+1 {
				q.ask(m)
			}
		}
	}
}

// wants reports whether the core should request the payload of an offered message.
func (q *requests) wants(m *arrival) bool {
	return m.granted < 0 && (m.req != nil && !m.req.held || q.pulling)
}

// ask requests the payload of a message from one of the replicas that offer it, preferably
// from the replica that serves this one. If the message will be sent without a request, ask
// does nothing, unless the sender may lack room here.
func (q *requests) ask(m *arrival) {
	r := &q.job.ranks[m.stream.rank]
	replica := q.job.server(m.offers, m.stream.rank, q.job.rank, q.job.replica, m.stream.ctx.exact)
	p := r.first + replica
	q.unawait(m)
	if m.comes && q.roomy(p) && !q.pulling {
		m.awaited = p + 1
		q.job.processes[p].awaited++
		return
	}
	m.granted = replica
	q.out.frame(p, kindGrant, m.stream.ctx, m.number)
}
