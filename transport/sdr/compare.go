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

// If comparer.compares is set, the replicas of a rank compare the messages that they send.
// The sender marks these messages (flagCompared), because a receiver that has not reached
// the program's assertion yet must report them, too. The receiver acknowledges a message to
// the other replicas of the sender. The acknowledgement carries the hash of the message, and
// the replica whose frame delivered it. Each of these replicas compares the hash with that
// of its own copy. The rest of the protocol does not depend on the hashes.
//
// Only the receiver knows whose frame delivered a message, because replicas learn of a
// death at different times. A replica that sends in place of a dead process cannot know
// which of the two messages a receiver has accepted: that of the substitute, or an earlier
// one of the dead process that the receiver has yet to report.
//
// So a comparison waits for each receiver. It waits until the receiver has reported the
// message, or has announced that it reports nothing more to this process because this
// process now serves it (flagServed). The announcement uses the same link and follows all
// reports. Before the end of a cut, a receiver reports every message from before the cut,
// see Engine.SumsReceived. After the cut it reports the messages from beyond it again, because
// some of them may have been discarded at the cut, and replicas may have joined.

// Difference is a message that the replicas of its sender have sent with different
// contents.
type Difference struct {
	From, To int // ranks of the sender and of the receiver
	Number   uint64
	Tag      int
	Bytes    int
	Point    uint64 // last safe point before the message was posted, from Config.Point
	Sent     []Sent
	Asserted string // where the program asserts that it is send-deterministic, if that is why messages are compared
}

// Sent is the version of a message that one replica has sent.
type Sent struct {
	Replica     int
	Incarnation uint32 // incarnation of the process that sent it
	Hash        uint64
	None        bool // the replica has not sent the message
}

func (d *Difference) String() string {
	var all []string
	none := false
	for _, s := range d.Sent {
		if s.None {
			none = true
			all = append(all, fmt.Sprintf("replica %d: none", s.Replica))
		} else {
			all = append(all, fmt.Sprintf("replica %d: %016x", s.Replica, s.Hash))
		}
	}
	if none {
		return fmt.Sprintf("not all replicas of rank %d have sent message %d to rank %d (%s)", d.From, d.Number, d.To, strings.Join(all, ", "))
	}
	return fmt.Sprintf("the replicas of rank %d have sent message %d (tag %d, %d bytes) to rank %d with different contents (%s)",
		d.From, d.Number, d.Tag, d.Bytes, d.To, strings.Join(all, ", "))
}

// Minority returns the versions of the replicas outside the majority. A majority consists
// of at least two replicas with the same contents, and of more replicas than the rest.
// Without a majority the result is nil. A replica that has sent to several receivers counts
// once.
func (d *Difference) Minority() []Sent {
	for _, right := range d.Sent {
		var agree, others []Sent
		for _, s := range d.Sent {
			to := &agree
			if s.Hash != right.Hash || s.None != right.None {
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

const (
	// reportBytes is the size of one report in an acknowledgement: number, hash, and the
	// replica that sent the frame.
	reportBytes = 24
	maxReports  = 4096 // hashes in one acknowledgement
)

// comparison compares the messages of one stream with the messages that the replicas of its
// destination have received.
type comparison struct {
	own    map[uint64]*posted  // by number of the message
	early  map[uint64][]report // reports on messages that are not posted yet, by number
	silent uint64              // replicas of the destination that report nothing more before the next cut
	later  uint64              // replicas that will be silent after a cut that they have passed and this process has not
}

// comparer compares the messages that the replicas of this rank send.
type comparer struct {
	job         *job
	out         *outbox
	contexts    *contexts
	sum         func(payload []byte) uint64 // hash of a message; nil: no process of the job compares messages
	compares    bool                        // this process compares its messages with those of its siblings
	involved    bool                        // this process compares, or has got a message or a report from a process that does
	assertedAt  string                      // place of the call of AssertSendDeterministic in the program, if that call has set compares
	point       func() uint64               // the safe point of the program; nil: not known
	differences []*Difference
}

// posted is a message that this process has posted and that some receivers have yet to
// report.
type posted struct {
	Difference
	want    uint64 // replicas of the destination that have not reported
	differs bool
}

// report is a report from a replica of the destination.
type report struct {
	replica int
	cut     uint64 // the last cut that the replica had passed
	Sent
}

// forgetTarget removes a dead replica of a rank from the targets of all reports.
func (s *inStream) forgetTarget(replica int) {
	s.sums = slices.DeleteFunc(s.sums, func(r received) bool { return r.targets&^(1<<replica) == 0 })
	for i := range s.sums {
		s.sums[i].targets &^= 1 << replica
	}
}

// SendSums sends the hashes of all received messages that are not reported yet to the other
// replicas of their senders. It is needed when all ranks wait because of a wrong message:
// then no acknowledgement becomes due that could carry the hashes.
func (e *Engine) SendSums() {
	e.mu.Lock()
	e.core.acks.sendAllSums()
	e.flushAndUnlock()
}

// SendSumsNow is like SendSums, but returns only when the links have taken over the
// reports. The reports then arrive even if this process is killed.
func (e *Engine) SendSumsNow(ctx context.Context) error {
	e.SendSums()
	return e.waitUntil(ctx, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.core.acks.sumFrames == 0 || e.aborted
	})
}

// SumsReceived does what SendSums does. Then it waits until all live processes have received
// the reports, and until the receivers whose programs have returned have reported all messages
// that this process has sent. By then the processes have found every difference in messages
// that they have posted. The error is that of ctx, or of the engine. If no message that this
// process has sent or received is compared, SumsReceived returns at once.
func (e *Engine) SumsReceived(ctx context.Context) error {
	e.mu.Lock()
	involved := e.core.comparer.involved
	e.mu.Unlock()
	if !involved {
		return nil
	}
	e.SendSums()
	err := e.waitUntil(ctx, func() bool {
		e.mu.Lock()
		defer e.flushAndUnlock()
		return e.aborted || e.err != nil || e.core.outgoing.confirmed(ofHashes)
	})
	if err != nil {
		return err
	}
	return e.Failure()
}

// receiveSums compares the hashes that process p reports with those of this process's own
// messages. It returns the rest of the payload.
func (c *comparer) receiveSums(p int, h *transport.Header, s *outStream, payload []byte) ([]byte, error) {
	if h.Args[3] > uint64(len(payload)/reportBytes) {
		return nil, violation(&c.job.processes[p], h, "hashes that are missing")
	}
	at := len(payload) - reportBytes*int(h.Args[3])
	if c.sum == nil || h.Args[5] < c.out.passed { // the message was compared before the cut, or is reported again
		return payload[:at], nil
	}
	c.involved = c.involved || at < len(payload)
	own := &c.job.ranks[c.job.rank]
	replica := c.job.processes[p].replica
	for b := payload[at:]; len(b) > 0; b = b[reportBytes:] {
		number, hash, from := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])
		if from >= uint64(own.degree) {
			return nil, violation(&c.job.processes[p], h, "hash of a frame of no replica")
		}
		t := report{replica, h.Args[5], Sent{Replica: int(from), Hash: hash}}
		if m := s.compared.own[number]; m != nil && t.cut == c.out.passed {
			c.compare(s, m, t)
		} else if s.ctx.exact || number >= s.next || t.cut > c.out.passed {
			if s.compared.early == nil {
				s.compared.early = make(map[uint64][]report)
			}
			s.compared.early[number] = append(s.compared.early[number], t)
		}
	}
	if c.job.draining {
		c.neverSent(s)
	}
	if h.Flags&flagServed != 0 || h.Args[1] == ackAll {
		c.fallsSilent(s, replica, h.Args[5])
	}
	c.contexts.ended(s.ctx)
	return payload[:at], nil
}

// begin makes this process compare the messages that it posts from now on. at is where the
// program asserts that it is send-deterministic, "" if the job compares all messages.
func (c *comparer) begin(at string) {
	c.compares, c.involved, c.assertedAt = true, true, at
}

// fallsSilent records that a replica of the destination has passed a cut and reports
// nothing more until it passes another one.
func (c *comparer) fallsSilent(s *outStream, replica int, cut uint64) {
	of := &s.compared
	switch d := uint64(1) << replica; {
	case cut > c.out.passed:
		of.later |= d
	case of.silent&d == 0:
		of.silent |= d
		c.awaitFewer(s, c.awaited(s))
	}
}

// awaited returns the replicas of the destination whose reports a comparison waits for:
// those that may receive a message from another replica of this rank. These are the live
// replicas, with two exceptions. One is a replica to which only this process has sent since
// the last cut. The other is a replica that has announced that it reports nothing more.
func (c *comparer) awaited(s *outStream) (set uint64) {
	all := uint64(1)<<c.job.ranks[c.job.rank].degree - 1
	for d := range each(c.job.ranks[s.rank].live &^ s.compared.silent) {
		if c.job.server(all, c.job.rank, s.rank, d, s.ctx.exact) != c.job.replica {
			set |= 1 << d
		}
	}
	return set
}

// mark returns the flags of the messages of this process.
func (c *comparer) mark() uint16 {
	if c.compares {
		return flagCompared
	}
	return 0
}

// posts records a message of this process, to compare it with the reports of receivers.
func (c *comparer) posts(s *outStream, number uint64, tag int, data []byte) {
	if !c.compares || c.job.mirror || c.job.ranks[c.job.rank].degree == 1 {
		return
	}
	want, early := c.awaited(s), s.compared.early[number]
	if want == 0 && len(early) == 0 {
		return
	}
	m := &posted{Difference: Difference{From: c.job.rank, To: s.rank, Number: number, Tag: tag, Bytes: len(data), Asserted: c.assertedAt}, want: want}
	if c.point != nil {
		m.Point = c.point()
	}
	m.Sent = append(make([]Sent, 0, 2), Sent{Replica: c.job.replica, Incarnation: c.out.incarnation, Hash: c.sum(data)})
	if s.compared.own == nil {
		s.compared.own = make(map[uint64]*posted)
	}
	s.compared.own[number] = m
	delete(s.compared.early, number)
	c.compare(s, m, early...)
}

// neverSent is called when the program has returned. It finds the messages that other
// replicas have sent and this one has not. In an exact context a report does not show
// whether a message was compared before.
func (c *comparer) neverSent(s *outStream) {
	if s.ctx.exact {
		return
	}
	for _, n := range slices.Sorted(maps.Keys(s.compared.early)) {
		all := s.compared.early[n]
		if n < s.next || slices.ContainsFunc(all, func(t report) bool { return t.cut != c.out.passed }) {
			continue
		}
		delete(s.compared.early, n)
		c.compare(s, &posted{differs: true, Difference: Difference{From: c.job.rank, To: s.rank, Number: n, Asserted: c.assertedAt,
			Sent: []Sent{{Replica: c.job.replica, Incarnation: c.out.incarnation, None: true}}}}, all...)
	}
}

// compare compares a message with the reports of receivers. Between two cuts each slot has
// one incarnation, so the slot identifies the process that sent a frame.
func (c *comparer) compare(s *outStream, m *posted, all ...report) {
	for _, t := range all {
		m.want &^= 1 << t.replica
		t.Incarnation = c.job.processes[c.job.ranks[c.job.rank].first+t.Sent.Replica].incarnation
		m.Sent = append(m.Sent, t.Sent)
		m.differs = m.differs || t.Hash != m.Sent[0].Hash
	}
	c.compared(s, m)
}

// compared ends the comparison of a message if no more reports on it are due.
func (c *comparer) compared(s *outStream, m *posted) {
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

// awaitFewer restricts the replicas that the comparisons of a stream wait for to awaited.
// It ends the comparisons that then have all their reports.
func (c *comparer) awaitFewer(s *outStream, awaited uint64) {
	for _, n := range slices.Sorted(maps.Keys(s.compared.own)) { // sorted, to make runs reproducible
		m := s.compared.own[n]
		m.want &= awaited
		c.compared(s, m)
	}
}

// expectFewer ends the comparisons that have all their reports after a death.
func (c *comparer) expectFewer() {
	if !c.compares {
		return
	}
	for _, ctx := range c.contexts.order {
		for _, s := range ctx.out {
			if s != nil && len(s.compared.own) > 0 {
				c.awaitFewer(s, c.awaited(s))
			}
		}
		c.contexts.ended(ctx)
	}
}

// compareBehind restarts the comparisons of a stream at the end of a cut. By then receivers
// have reported every message from before the cut.
func (c *comparer) compareBehind(s *outStream, cut uint64) {
	c.awaitFewer(s, 0)
	of := &s.compared
	for n, all := range of.early {
		if all = slices.DeleteFunc(all, func(t report) bool { return t.cut < cut }); len(all) > 0 {
			of.early[n] = all
		} else {
			delete(of.early, n)
		}
	}
	of.silent, of.later = of.later, 0
}
