package sdr

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/intrahpc/intra/transport"
)

// What replicas send is compared where Core.sum is set: the acknowledgement that a
// receiver sends to the other replicas of the sender says the hash of what it has
// received, and whose frame that was, and they compare it with that of their own copy. It
// stands beside the protocol, which does not look at it.
//
// The receiver alone knows whose frame it has taken. Replicas hear of a death at different
// times: one that sends in the place of a dead process cannot tell whether a receiver takes
// the message from it, or has taken it from the dead one before and has yet to report that.
// So a comparison waits for each receiver, until it has reported the message or has said that
// it reports no more to this process, which sends to it (flagServed). That comes over the same
// link, behind all reports. All that was received before a cut is reported before the cut ends,
// see Engine.SumsHeard; what lies behind the cut is reported anew after it, as some of it
// may have been taken back, and others may have joined.

// Difference is a message of which the replicas of its sender have sent different
// contents.
type Difference struct {
	From, To int // ranks
	Number   uint64
	Tag      int
	Bytes    int
	Point    uint64 // the safe point behind which it was posted, as Config.Point said
	Sent     []Sent
	Asserted string // where the program asserts to be send-deterministic, if it is compared for that
}

// Sent is what came from one replica.
type Sent struct {
	Replica     int
	Incarnation uint32 // of the process that sent it
	Hash        uint64
}

func (d *Difference) String() string {
	var all []string
	for _, s := range d.Sent {
		all = append(all, fmt.Sprintf("replica %d: %016x", s.Replica, s.Hash))
	}
	return fmt.Sprintf("the replicas of rank %d have sent message %d (tag %d, %d bytes) to rank %d with different contents (%s)",
		d.From, d.Number, d.Tag, d.Bytes, d.To, strings.Join(all, ", "))
}

// Minority is what came from the replicas that have sent something else than most, and at
// least two; nothing if nobody has the majority. One that has sent to several counts once.
func (d *Difference) Minority() []Sent {
	for _, right := range d.Sent {
		var agree, others []Sent
		for _, s := range d.Sent {
			to := &agree
			if s.Hash != right.Hash {
				to = &others
			}
			if !slices.ContainsFunc(*to, func(o Sent) bool { return o.Replica == s.Replica }) {
				*to = append(*to, s)
			}
		}
		if len(agree) >= 2 && len(agree) > len(others) {
			return others
		}
	}
	return nil
}

// received is a message whose hash other replicas of its sender have to be told.
type received struct {
	number, hash uint64
	from         int    // replica whose frame it was
	targets      uint64 // replicas that are to be told
}

const (
	// toldBytes is the size of what an acknowledgement says of one message: number, hash, and
	// replica whose frame it was.
	toldBytes = 24
	maxTold   = 4096 // hashes in one acknowledgement
)

// comparison is that of the messages of one stream with what replicas of their
// destination have received.
type comparison struct {
	own    map[uint64]*posted // by number
	early  map[uint64][]told  // what was told of messages that are not posted yet
	silent uint64             // replicas of the destination that tell nothing more before the next cut,
	later  uint64             // and those that have passed a cut which this process has yet to, and tell nothing after it
}

// posted is a message that was posted here, and of which something is to be told.
type posted struct {
	Difference
	want    uint64 // replicas of the destination that have not told
	differs bool
}

// told is what a replica of the destination has told.
type told struct {
	replica int
	cut     uint64 // that it had passed
	Sent
}

// note keeps the hash of what was received in a frame of replica from for those who will be
// told: all but the one that serves this process, whose frames it takes. One that is dead by now,
// or has taken the place of a process whose death is not known here, is another one. Only where
// messages are compared is there one.
func (c *Core) note(s *inStream, number uint64, payload []byte, from int) {
	targets := c.ranks[s.rank].live
	if targets&^s.others == 1<<from {
		targets = s.others
	}
	if targets != 0 && s.ctx != c.cuts {
		s.sums = append(s.sums, received{number, c.sum(payload), from, targets})
	}
}

// noteAgain has all be told that was received from behind the cut which has just ended: what
// was told of it before does not count.
func (c *Core) noteAgain(s *inStream) {
	s.sums, s.among = s.sums[:0], 0
	if c.sum == nil || s.unacked == 0 || c.ranks[s.rank].live == 0 { // nothing lies behind the cut, or the rank has no live replica to report to
		return
	}
	c.regroup(s)
	again := func(m *arrival) {
		if m.whole && m.number >= s.before {
			c.note(s, m.number, m.data, m.from)
		}
	}
	for m := range s.unexpected.messages() {
		again(m)
	}
	for _, n := range slices.Sorted(maps.Keys(s.live)) {
		again(s.live[n])
	}
}

// forgetTarget takes a dead replica of a rank out of those that are to be told.
func (s *inStream) forgetTarget(replica int) {
	s.sums = slices.DeleteFunc(s.sums, func(r received) bool { return r.targets&^(1<<replica) == 0 })
	for i := range s.sums {
		s.sums[i].targets &^= 1 << replica
	}
}

// tell appends to the payload of an acknowledgement the hashes that a replica has to be
// told, and puts their number into the header.
func (c *Core) tell(ctx *Context, p int, h *transport.Header, payload []byte) []byte {
	pr := &c.processes[p]
	if c.sum == nil || pr.rank >= len(ctx.in) || ctx.in[pr.rank] == nil {
		return payload
	}
	s := ctx.in[pr.rank]
	rest, more := s.sums[:0], false
	for _, r := range s.sums {
		switch d := uint64(1) << pr.replica; {
		case r.targets&d == 0:
		case h.Args[3] == maxTold:
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
	if !more && pr.replica == c.server(c.ranks[pr.rank].live, pr.rank, c.rank, c.replica, ctx.exact) {
		h.Flags |= flagServed
	}
	return payload
}

// TellSums tells the other replicas of the senders the hashes of all that has been
// received and was not told yet: what is wrong may make everybody wait, and then no
// acknowledgement is due any more.
func (e *Engine) TellSums() {
	e.mu.Lock()
	e.core.tellAll()
	e.flushAndUnlock()
}

// TellSumsNow is TellSums, and returns when the links have handed that over: it is heard
// even if this process is killed then, however wrong it is.
func (e *Engine) TellSumsNow(ctx context.Context) error {
	e.TellSums()
	return e.waitUntil(ctx, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.core.telling == 0 || e.aborted
	})
}

// SumsHeard is TellSums, and returns when all that live have heard that: what is wrong they have
// found by then, unless they have yet to post it. The error is that of ctx, or of the engine.
// It returns at once where messages are not compared.
func (e *Engine) SumsHeard(ctx context.Context) error {
	e.mu.Lock()
	compares := e.core.sum != nil
	e.mu.Unlock()
	if !compares {
		return nil
	}
	e.TellSums()
	err := e.waitUntil(ctx, func() bool {
		e.mu.Lock()
		defer e.flushAndUnlock()
		return e.aborted || e.err != nil || e.core.confirmed()
	})
	if err != nil {
		return err
	}
	return e.failure()
}

// tells reports whether a frame tells hashes.
func tells(h *transport.Header) bool { return h.Kind == kindAck && h.Args[3] > 0 }

// tellAll tells everybody all that is to be told, before something ends or when a while
// has passed.
func (c *Core) tellAll() {
	for _, ctx := range c.order {
		for rank, s := range ctx.in {
			if s == nil {
				continue
			}
			var targets uint64
			for _, r := range s.sums {
				targets |= r.targets
			}
			for d := range each(targets & c.ranks[rank].live) {
				c.tellOne(s, d)
			}
		}
	}
}

// tellOne tells one replica of the source what has been received, and all hashes that it is to
// be told.
func (c *Core) tellOne(s *inStream, replica int) {
	for told := false; !told; {
		c.ackOne(s, replica)
		told = !slices.ContainsFunc(s.sums, func(r received) bool { return r.targets>>replica&1 != 0 })
	}
}

// heard compares what process p tells with the own copies, and returns what is left of
// the payload.
func (c *Core) heard(p int, h *transport.Header, s *outStream, payload []byte) ([]byte, error) {
	if h.Args[3] > uint64(len(payload)/toldBytes) {
		return nil, violation(&c.processes[p], h, "hashes that are missing")
	}
	at := len(payload) - toldBytes*int(h.Args[3])
	if c.sum == nil || h.Args[5] < c.passed { // of before a cut: it was compared, or is told again
		return payload[:at], nil
	}
	own := &c.ranks[c.rank]
	replica := c.processes[p].replica
	for b := payload[at:]; len(b) > 0; b = b[toldBytes:] {
		number, hash, from := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])
		if from >= uint64(own.degree) {
			return nil, violation(&c.processes[p], h, "hash of a frame of no replica")
		}
		t := told{replica, h.Args[5], Sent{Replica: int(from), Hash: hash}}
		if m := s.compared.own[number]; m != nil && t.cut == c.passed {
			c.compare(s, m, t)
		} else if s.ctx.exact || number >= s.next || t.cut > c.passed {
			if s.compared.early == nil {
				s.compared.early = make(map[uint64][]told)
			}
			s.compared.early[number] = append(s.compared.early[number], t)
		}
	}
	if h.Flags&flagServed != 0 || h.Args[1] == ackAll {
		c.fallsSilent(s, replica, h.Args[5])
	}
	if s.ctx.freed {
		c.close(s.ctx)
	}
	return payload[:at], nil
}

// fallsSilent: a replica of the destination that has passed that cut tells nothing more until it
// passes another one.
func (c *Core) fallsSilent(s *outStream, replica int, cut uint64) {
	of := &s.compared
	switch d := uint64(1) << replica; {
	case cut > c.passed:
		of.later |= d
	case of.silent&d == 0:
		of.silent |= d
		c.awaitFewer(s, c.awaited(s))
	}
}

// awaited are the replicas of the destination of a stream that tell what they take from
// others than this process: all that live but those to which this process alone has sent
// since the last cut, and those that have said that they tell nothing more.
func (c *Core) awaited(s *outStream) (set uint64) {
	all := uint64(1)<<c.ranks[c.rank].degree - 1
	for d := range each(c.ranks[s.rank].live &^ s.compared.silent) {
		if c.server(all, c.rank, s.rank, d, s.ctx.exact) != c.replica {
			set |= 1 << d
		}
	}
	return set
}

// posts notes what this process would send, to compare it with what others have.
func (c *Core) posts(s *outStream, number uint64, tag int, data []byte) {
	if c.sum == nil || c.mirror || c.ranks[c.rank].degree == 1 {
		return
	}
	want, early := c.awaited(s), s.compared.early[number]
	if want == 0 && len(early) == 0 {
		return
	}
	m := &posted{Difference: Difference{From: c.rank, To: s.rank, Number: number, Tag: tag, Bytes: len(data), Asserted: c.assertedAt}, want: want}
	if c.point != nil {
		m.Point = c.point()
	}
	m.Sent = append(make([]Sent, 0, 2), Sent{c.replica, c.incarnation, c.sum(data)})
	if s.compared.own == nil {
		s.compared.own = make(map[uint64]*posted)
	}
	s.compared.own[number] = m
	delete(s.compared.early, number)
	c.compare(s, m, early...)
}

// compare compares a message with what receivers have told. Between two cuts a place has one
// life, which is the one whose frame it was.
func (c *Core) compare(s *outStream, m *posted, all ...told) {
	for _, t := range all {
		m.want &^= 1 << t.replica
		t.Incarnation = c.processes[c.ranks[c.rank].first+t.Sent.Replica].incarnation
		m.Sent = append(m.Sent, t.Sent)
		m.differs = m.differs || t.Hash != m.Sent[0].Hash
	}
	c.compared(s, m)
}

// compared ends the comparison of a message if nobody is to tell more.
func (c *Core) compared(s *outStream, m *posted) {
	if m.want != 0 {
		return
	}
	delete(s.compared.own, m.Number)
	if m.differs {
		d := m.Difference
		slices.SortStableFunc(d.Sent, func(a, b Sent) int { return a.Replica - b.Replica })
		c.differences = append(c.differences, &d)
	}
}

// awaitFewer ends the comparisons of a stream for which none of these replicas has yet to tell
// something.
func (c *Core) awaitFewer(s *outStream, awaited uint64) {
	for _, n := range slices.Sorted(maps.Keys(s.compared.own)) { // in order, to be the same in every run
		m := s.compared.own[n]
		m.want &= awaited
		c.compared(s, m)
	}
}

// expectFewer ends the comparisons for which nobody is to tell more after a death.
func (c *Core) expectFewer() {
	if c.sum == nil {
		return
	}
	for _, ctx := range slices.Clone(c.order) {
		for _, s := range ctx.out {
			if s != nil && len(s.compared.own) > 0 {
				c.awaitFewer(s, c.awaited(s))
			}
		}
		if ctx.freed {
			c.close(ctx)
		}
	}
}

// compareBehind restarts the comparisons of a stream at the end of a cut. All that was
// received of what was sent before it has been told.
func (c *Core) compareBehind(s *outStream) {
	c.awaitFewer(s, 0)
	of := &s.compared
	for n, all := range of.early {
		if all = slices.DeleteFunc(all, func(t told) bool { return t.cut < c.cut.number }); len(all) > 0 {
			of.early[n] = all
		} else {
			delete(of.early, n)
		}
	}
	of.silent, of.later = of.later, 0
}
