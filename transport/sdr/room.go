package sdr

import (
	"maps"
	"slices"

	"github.com/intrahpc/intra/transport"
)

// A receiver has room for a limited number of bytes of unmatched small messages from each
// process (Limits.Window). A sender that has used it up offers the next messages, so that
// the receiver can match them. When it gets credit, it sends as many of them as there is
// room for, oldest first. To request each of them would cost a round trip for each. So a
// receiver does that only when its room is full of messages that it does not need yet.
//
// A sender that has room for any small message has already sent all messages that it had
// offered for lack of room. So a receiver can wait while its room is not used up by what it
// holds and what it has yet to return. What is missing is on its way, or is preceded by
// messages that use up the room: when those arrive, the receiver requests it (askAgain).

// creditParts is the number of parts in which a receiver returns the room of a process. A
// receiver that reads takes less than paceTime for one part, so a sender that waits for it
// gets credit.
const creditParts = 16

// roomy reports whether process p will have room here for any small message, once it has
// received all credit that was returned. Then it sends all that it has offered for lack of
// room.
func (c *Core) roomy(p int) bool {
	pr := &c.job.processes[p]
	return pr.held+pr.owed+c.job.limits.Eager+frameCost <= c.job.limits.Window
}

// hold records that m uses room of process p until m is released.
func (c *Core) hold(m *arrival, p int) {
	m.eager = p
	c.job.processes[p].held += m.size + frameCost
}

// consumed records that an eager message of process p needs no room any more, and returns
// the room in batches.
func (c *Core) consumed(p, bytes int) {
	pr := &c.job.processes[p]
	if !pr.alive {
		return
	}
	if pr.owed += bytes; pr.owed >= c.job.limits.Window/creditParts {
		h := transport.Header{Kind: kindCredit}
		h.Args[0] = uint64(pr.owed)
		pr.owed = 0
		c.out.send(p, h, nil)
	}
}

// unawait records that m is no longer expected to come unrequested.
func (c *Core) unawait(m *arrival) {
	if m.awaited > 0 {
		c.job.processes[m.awaited-1].awaited--
		m.awaited = 0
	}
}

// askAgain is called when process p may have used up its room. It requests the messages
// that should have come unrequested.
func (c *Core) askAgain(p int) {
	pr := &c.job.processes[p]
	if pr.awaited == 0 || c.roomy(p) {
		return
	}
	for _, ctx := range c.contexts.order {
		s := ctx.in[pr.rank]
		if s == nil {
			continue
		}
		for _, n := range slices.Sorted(maps.Keys(s.live)) {
			if m := s.live[n]; m.awaited == p+1 {
				c.ask(m)
			}
		}
	}
}

// lacksRoom records that a message of s was offered to process p for lack of room.
func (c *Core) lacksRoom(s *outStream, p int) {
	pr := &c.job.processes[p]
	if d := uint64(1) << pr.replica; s.short&d == 0 {
		s.short |= d
		pr.short = append(pr.short, s)
	}
}

// push sends what was offered to process p for lack of room, as far as there is room now.
func (c *Core) push(p int) {
	pr := &c.job.processes[p]
	d := uint64(1) << pr.replica
	for len(pr.short) > 0 {
		s := pr.short[0]
		s.compact()
		for _, m := range s.kept {
			if m == nil || m.offered&m.lacking&d == 0 || !c.eagerly(m) {
				continue
			}
			if pr.credit < len(m.data)+frameCost {
				return
			}
			c.sendEager(m, p)
		}
		s.short &^= d
		pr.short = slices.Delete(pr.short, 0, 1)
	}
}
