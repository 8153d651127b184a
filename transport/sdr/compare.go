package sdr

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/intrahpc/intra/transport"
)

// What replicas send is compared where Core.sum is set: the acknowledgement that a
// receiver sends to the other replicas of the sender says the hash of what it has
// received, and they compare it with that of their own copy. It stands beside the
// protocol, which does not look at it.

// Difference is a message of which the replicas of its sender have sent different
// contents.
type Difference struct {
	From, To int // ranks
	Number   uint64
	Tag      int
	Bytes    int
	Point    uint64 // the safe point behind which it was posted, as Config.Point said
	Sent     []Sent
}

// Sent is what came from one replica.
type Sent struct {
	Replica int
	Hash    uint64
}

func (d *Difference) String() string {
	var all []string
	for _, s := range d.Sent {
		all = append(all, fmt.Sprintf("replica %d: %016x", s.Replica, s.Hash))
	}
	return fmt.Sprintf("the replicas of rank %d have sent message %d (tag %d, %d bytes) to rank %d with different contents (%s)",
		d.From, d.Number, d.Tag, d.Bytes, d.To, strings.Join(all, ", "))
}

// Minority are the replicas that have sent something else than most, and at least two;
// none if nobody has the majority. One that has sent to several counts once.
func (d *Difference) Minority() []int {
	for _, right := range d.Sent {
		var agree, others []int
		for _, s := range d.Sent {
			to := &agree
			if s.Hash != right.Hash {
				to = &others
			}
			if !slices.Contains(*to, s.Replica) {
				*to = append(*to, s.Replica)
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
	targets      uint64
}

// comparison is that of the messages of one stream with what replicas of their
// destination have received.
type comparison struct {
	own   map[uint64]*posted // by number
	early map[uint64][]told  // what was told of messages that are not posted yet
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
	Sent
}

// note keeps the hash of what was received for those who will be told. Only where messages
// are compared is there one.
func (c *Core) note(s *inStream, number uint64, payload []byte, targets uint64) {
	if targets != 0 && s.ctx != c.cuts {
		s.sums = append(s.sums, received{number, c.sum(payload), targets})
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
	rest := s.sums[:0]
	for _, r := range s.sums {
		if d := uint64(1) << pr.replica; r.targets&d != 0 {
			h.Args[3]++
			payload = binary.LittleEndian.AppendUint64(payload, r.number)
			payload = binary.LittleEndian.AppendUint64(payload, r.hash)
			r.targets &^= d
		}
		if r.targets &= c.ranks[pr.rank].live; r.targets != 0 {
			rest = append(rest, r)
		}
	}
	s.sums = rest
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
func (e *Engine) SumsHeard(ctx context.Context) error {
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
				c.ackOne(s, d)
			}
		}
	}
}

// heard compares what process p tells with the own copies, and returns what is left of
// the payload.
func (c *Core) heard(p int, h *transport.Header, s *outStream, payload []byte) ([]byte, error) {
	const size = 16
	if h.Args[3] > uint64(len(payload)/size) {
		return nil, violation(&c.processes[p], h, "hashes that are missing")
	}
	at := len(payload) - size*int(h.Args[3])
	pr := &c.processes[p]
	for b := payload[at:]; c.sum != nil && len(b) > 0; b = b[size:] {
		number, hash := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		t := told{pr.replica, Sent{c.server(c.ranks[c.rank].live, c.rank, s.rank, pr.replica, s.ctx.exact), hash}}
		if m := s.compared.own[number]; m != nil {
			c.compare(s, m, t)
		} else if s.ctx.exact || number >= s.next { // else it was compared without that
			if s.compared.early == nil {
				s.compared.early = make(map[uint64][]told)
			}
			s.compared.early[number] = append(s.compared.early[number], t)
		}
	}
	return payload[:at], nil
}

// posts notes what this process would send, to compare it with what others have.
func (c *Core) posts(s *outStream, number uint64, tag int, data []byte) {
	if c.sum == nil || c.mirror || c.ranks[c.rank].degree == 1 {
		return
	}
	m := &posted{Difference: Difference{From: c.rank, To: s.rank, Number: number, Tag: tag, Bytes: len(data)}}
	if c.point != nil {
		m.Point = c.point()
	}
	for d := range each(c.ranks[s.rank].live) {
		if !c.serves(s.rank, d, s.ctx.exact) {
			m.want |= 1 << d
		}
	}
	early := s.compared.early[number]
	if m.want == 0 && len(early) == 0 {
		return
	}
	m.Sent = append(make([]Sent, 0, 2), Sent{c.replica, c.sum(data)})
	if s.compared.own == nil {
		s.compared.own = make(map[uint64]*posted)
	}
	s.compared.own[number] = m
	delete(s.compared.early, number)
	for _, t := range early {
		c.compare(s, m, t)
	}
}

func (c *Core) compare(s *outStream, m *posted, t told) {
	m.want &^= 1 << t.replica
	m.Sent = append(m.Sent, t.Sent)
	m.differs = m.differs || t.Hash != m.Sent[0].Hash
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

// expectFewer ends the comparisons for which nobody is to tell more after a death.
func (c *Core) expectFewer() {
	if c.sum == nil {
		return
	}
	for _, ctx := range c.order {
		for rank, s := range ctx.out {
			if s == nil {
				continue
			}
			for _, m := range s.compared.own {
				for d := range each(m.want) {
					if c.ranks[rank].live>>d&1 == 0 || c.serves(rank, d, ctx.exact) {
						m.want &^= 1 << d
					}
				}
				c.compared(s, m)
			}
		}
	}
}
