package sdr

import (
	"errors"
	"fmt"
)

// A run of the program ends with retire: from then on none of its requests is completed, and the
// core keeps no memory of the program except what links still use. In the meantime the core
// continues to receive, and to serve other processes. rerun then resets the core to a Place, as
// far as the program can see. Streams continue with the numbers that they had at the Place.
// Messages and decisions after the Place are received and carried out again.

var (
	errNotOrdered = errors.New("the replicas of this rank do not agree on the order of messages")
	errCompared   = errors.New("messages are compared")
	errNoPlace    = errors.New("this program has no place to run again from")
)

// Deviation reports that a program that ran again did not do what it had done before.
type Deviation struct {
	To, Number   int // rank, and number of the message in its stream
	First, Again string
}

// Error implements error.
func (d *Deviation) Error() string {
	return fmt.Sprintf("message %d to rank %d: the first run has sent %s, this run %s", d.Number, d.To, d.First, d.Again)
}

// settle makes a Place where the program is now, and begins or continues the journal.
func (c *Core) settle() (*Place, error) {
	switch {
	case c.matching.agreed == nil || c.matching.agreed.replays():
		return nil, errNotOrdered
	case c.comparer.compares:
		return nil, errCompared
	case c.cuts.now != nil:
		return nil, errNoPlace
	}
	if err := c.cuts.Pending(); err != nil {
		return nil, err
	}
	if err := c.caughtUp(); err != nil {
		return nil, err
	}
	j := &c.journal
	j.on = true
	at := &Place{received: j.received.end(), decided: j.decided.end(), sent: j.sent.end(), freed: j.freed.end()}
	for _, ctx := range c.contexts.order {
		if ctx == c.contexts.bookmarks || !ctx.joined || ctx.left {
			continue
		}
		p := contextPlace{ctx: ctx, next: make([]uint64, len(c.job.ranks)), ordered: ctx.ordered}
		for rank, s := range ctx.out {
			if s != nil {
				p.next[rank] = s.next
			}
		}
		at.contexts = append(at.contexts, p)
	}
	return at, nil
}

// forget records that the program will not run again from a place before at.
func (c *Core) forget(at *Place) {
	if !c.journal.on || at.received < c.journal.received.first {
		return
	}
	for _, ctx := range c.journal.forget(at) {
		c.free(ctx)
	}
}

// endJournal records that the program will not run again.
func (c *Core) endJournal() {
	if c.deviation == nil {
		c.deviation = c.unsent()
	}
	freed := c.journal.freed.entries
	c.journal = journal{}
	for _, ctx := range freed {
		c.free(ctx)
	}
}

// sentBefore reports whether an earlier run has sent the message m that the program posts. If so,
// it compares the two messages and drops m. Otherwise the journal records m.
func (c *Core) sentBefore(m *Message) bool {
	s, is := m.stream, contentsOf(m.tag, m.data)
	was, before := s.again[m.number]
	if !before {
		if c.journal.on {
			c.journal.sends(s, m.number, is)
		}
		return false
	}
	c.behind--
	if delete(s.again, m.number); len(s.again) == 0 {
		s.again = nil
	}
	if was != is && c.deviation == nil {
		c.deviation = &Deviation{To: s.rank, Number: int(m.number), First: was.String(), Again: is.String()}
	}
	if first := c.underWay(s, m.number); m.sync && first != nil {
		first.req, m.req.sends = m.req, first
	} else {
		c.out.complete(m.req, Status{}, nil)
	}
	c.outgoing.reuseMessage(m)
	return true
}

// underWay returns the message with this number that an earlier run of the program has sent, if
// some receiver may still lack it. Otherwise it returns nil.
func (c *Core) underWay(s *outStream, number uint64) *Message {
	if s.rank != c.job.rank {
		return s.find(number)
	}
	if m := s.ctx.inStream(s.rank).numbered(number); m != nil {
		return m.local
	}
	return nil
}

// unsent returns the first message that an earlier run of the program has sent, and this one
// has not, as a deviation. It returns nil if there is none.
func (c *Core) unsent() *Deviation {
	if c.behind == 0 {
		return nil
	}
	for _, ctx := range c.contexts.order {
		for _, s := range ctx.out {
			if s == nil || len(s.again) == 0 {
				continue
			}
			first := ^uint64(0)
			for n := range s.again {
				first = min(first, n)
			}
			return &Deviation{To: s.rank, Number: int(first), First: s.again[first].String(), Again: "nothing"}
		}
	}
	return nil
}

// caughtUp returns an error if an earlier run of the program has sent a message that this run has
// not sent yet.
func (c *Core) caughtUp() error {
	if d := c.unsent(); d != nil {
		return d
	}
	return nil
}

// retire ends the run of the program: see the top of this file.
func (c *Core) retire() {
	c.matching.retire()
	c.outgoing.retire()
	for _, ctx := range c.contexts.order {
		ctx.plans = 0
	}
	c.out.completed = c.out.completed[:0]
}

// rerun makes the core ready for another run of the program, which begins at a place. No link
// uses memory of the program any more.
func (c *Core) rerun(at *Place) {
	for _, ctx := range c.contexts.order {
		if ctx == c.contexts.bookmarks || ctx.freed {
			continue
		}
		ctx.joined, ctx.left, ctx.ordered, ctx.claimed = false, false, ordered{}, false // Join follows, unless the context is made later
		for _, s := range ctx.out {
			if s != nil {
				s.next = 0
			}
		}
	}
	for _, p := range at.contexts {
		p.ctx.ordered = p.ordered
		for rank, n := range p.next {
			if n > 0 {
				c.contexts.outStream(p.ctx, rank).next = n
			}
		}
	}
	j := &c.journal
	received, decided := j.received.since(at.received), j.decided.since(at.decided)
	for _, m := range j.sent.since(at.sent) {
		if m.stream.again == nil {
			m.stream.again = make(map[uint64]contents)
		}
		m.stream.again[m.number] = m.contents
		c.behind++
	}
	c.journal = journal{}
	c.matching.giveBack(received)
	c.matching.agreed.giveBack(decided)
}
