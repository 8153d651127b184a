package sdr

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/intrahpc/intra/transport"
)

const (
	ackEvery = 32 // messages that may wait for a lazy acknowledgement
	ackBytes = 64 << 10
)

// acks reports to the replicas of other ranks which messages this process has received.
type acks struct {
	job       *job
	out       *outbox
	contexts  *contexts
	comparer  *comparer
	sumFrames int // frames with hashes that links still hold
}

// acknowledge runs when a message has been received completely, even if the program has not
// posted its receive yet. Otherwise two processes that send to each other would deadlock
// [SDR, Algorithm 1, line 15]. The replica that serves this process gets no
// acknowledgement. A replica that waits for acknowledgements gets one at once; other replicas get
// acknowledgements in batches.
func (a *acks) acknowledge(s *inStream, number uint64, payload []byte, from, bytes int, atOnce, compared bool) {
	r := &a.job.ranks[s.rank]
	if r.degree == 1 || r.live == 0 {
		return
	}
	var targets uint64
	substitute := -1
	switch {
	case !a.job.mirror:
		if s.among != r.live {
			substitute = a.regroup(s)
		}
		targets = s.others
	case atOnce: // the other replicas have only offered the message
		targets = r.live &^ (1 << from)
	}
	if compared && a.comparer.sum != nil {
		a.comparer.involved = true
		a.note(s, number, payload, from)
		if substitute >= 0 { // sendSums sends all hashes for the substitute, then flagServed
			a.sendSums(s, substitute)
		}
		if a.job.draining { // programs of other ranks may have returned, too: no later message would carry the hashes
			for k := range each(r.live &^ (1 << from)) {
				a.sendSums(s, k)
			}
		}
	}
	if targets == 0 {
		return
	}
	now := targets & r.impatient
	s.unacked++
	s.unackedB += bytes
	if atOnce || s.unacked >= ackEvery || s.unackedB >= ackBytes {
		now = targets
	}
	if now == 0 {
		return
	}
	if now == targets {
		s.unacked, s.unackedB = 0, 0
	}
	for d := range each(now) {
		a.ackOne(s, d)
	}
}

// regroup determines which replicas of the source get acknowledgements. It is called at the
// first message and after changes of the live replicas. It returns the replica that serves
// this process in place of a dead one, or -1.
func (a *acks) regroup(s *inStream) (substitute int) {
	r := &a.job.ranks[s.rank]
	server := a.job.server(r.live, s.rank, a.job.rank, a.job.replica, s.ctx.exact)
	s.among, s.others = r.live, r.live&^(1<<server)
	if server == a.job.server(1<<r.degree-1, s.rank, a.job.rank, a.job.replica, s.ctx.exact) || s.ctx == a.contexts.bookmarks {
		return -1
	}
	return server
}

// ackOne acknowledges to one replica of the source all messages that have been received.
func (a *acks) ackOne(s *inStream, replica int) {
	a.sendAck(s.ctx, a.job.ranks[s.rank].first+replica, &s.received)
}

// ackTo acknowledges the messages in set to all live replicas of a rank. A nil set means
// that the context is closed.
func (a *acks) ackTo(ctx *Context, rank int, set *numbers) {
	r := &a.job.ranks[rank]
	if rank == a.job.rank {
		return
	}
	for d := range each(r.live) {
		a.sendAck(ctx, r.first+d, set)
	}
}

func (a *acks) sendAck(ctx *Context, p int, set *numbers) {
	f := a.out.frame(p, kindAck, ctx, ackAll)
	h := &f.Header
	if set != nil {
		f.Payload = encodeAck(h, set)
	}
	f.Payload = a.appendSums(ctx, p, h, f.Payload)
	if carriesSums(h) {
		a.sumFrames++
		a.job.processes[p].sent++
	}
}

// wanted records whether process p waits for acknowledgements. If it does, wanted sends it the
// acknowledgements that are due.
func (a *acks) wanted(p int, on bool) {
	pr := &a.job.processes[p]
	if !on {
		a.job.ranks[pr.rank].impatient &^= 1 << pr.replica
		return
	}
	a.job.ranks[pr.rank].impatient |= 1 << pr.replica
	for _, ctx := range a.contexts.order {
		if s := ctx.in[pr.rank]; s != nil && s.unacked > 0 {
			a.ackOne(s, pr.replica)
		}
	}
}

// note records the hash of a message, and to which replicas of its source it is to be reported.
// from is the replica whose frame has delivered the message. If from serves this process, it
// needs no report, and all other live replicas get one. If it does not, because it is dead by
// now or has replaced a process whose death is not known here, all live replicas get one.
// Callers check that the message is compared.
func (a *acks) note(s *inStream, number uint64, payload []byte, from int) {
	targets := a.job.ranks[s.rank].live
	if targets&^s.others == 1<<from {
		targets = s.others
	}
	if targets != 0 && s.ctx != a.contexts.bookmarks {
		s.sums = append(s.sums, received{number, a.comparer.sum(payload), from, targets})
	}
}

// noteAgain schedules a report on every message received from beyond the cut that has just
// ended: reports before the end of the cut do not count.
func (a *acks) noteAgain(s *inStream) {
	s.sums, s.among = s.sums[:0], 0
	if a.comparer.sum == nil || s.unacked == 0 || a.job.ranks[s.rank].live == 0 { // nothing was received from beyond the cut, or the rank has no live replica to report to
		return
	}
	a.regroup(s)
	again := func(m *arrival) {
		if m.whole && m.compared && m.number >= s.before {
			a.note(s, m.number, m.data, m.from)
		}
	}
	for m := range s.unexpected.messages() {
		again(m)
	}
	for _, n := range slices.Sorted(maps.Keys(s.live)) {
		again(s.live[n])
	}
}

// received is a message whose hash is to be reported to other replicas of its sender.
type received struct {
	number, hash uint64
	from         int    // replica that sent the frame
	targets      uint64 // replicas to which the report was not sent yet
}

// appendSums appends the hashes for process p to the payload of an acknowledgement, and writes
// their number into the header. If p serves this process and has got all of its hashes,
// appendSums sets flagServed.
func (a *acks) appendSums(ctx *Context, p int, h *transport.Header, payload []byte) []byte {
	pr := &a.job.processes[p]
	if !a.comparer.involved || pr.rank >= len(ctx.in) || ctx.in[pr.rank] == nil {
		return payload
	}
	s := ctx.in[pr.rank]
	rest, more := s.sums[:0], false
	for _, r := range s.sums {
		switch d := uint64(1) << pr.replica; {
		case r.targets&d == 0:
		case h.Args[3] == maxReports:
			more = true
		default:
			h.Args[3]++
			for _, v := range []uint64{r.number, r.hash, uint64(r.from)} {
				payload = binary.LittleEndian.AppendUint64(payload, v)
			}
			r.targets &^= d
		}
		if r.targets != 0 {
			rest = append(rest, r)
		}
	}
	s.sums = rest
	if !more && pr.replica == a.job.server(a.job.ranks[pr.rank].live, pr.rank, a.job.rank, a.job.replica, ctx.exact) {
		h.Flags |= flagServed
	}
	return payload
}

// carriesSums reports whether a frame carries hashes.
func carriesSums(h *transport.Header) bool { return h.Kind == kindAck && h.Args[3] > 0 }

// sendAllSums sends every live replica all hashes that are still due to it.
func (a *acks) sendAllSums() {
	for _, ctx := range a.contexts.order {
		for rank, s := range ctx.in {
			if s == nil {
				continue
			}
			var targets uint64
			for _, r := range s.sums {
				targets |= r.targets
			}
			for d := range each(targets & a.job.ranks[rank].live) {
				a.sendSums(s, d)
			}
		}
	}
}

// sendSums acknowledges to one replica of the source all messages that have been received,
// and sends that replica all hashes that are still due to it.
func (a *acks) sendSums(s *inStream, replica int) {
	for sent := false; !sent; {
		a.ackOne(s, replica)
		sent = !slices.ContainsFunc(s.sums, func(r received) bool { return r.targets>>replica&1 != 0 })
	}
}
