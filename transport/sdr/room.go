package sdr

import (
	"maps"
	"slices"

	"github.com/intrahpc/intra/transport"
)

// A receiver has room for so many bytes of unmatched small messages of each process. A
// sender that has used it up offers the next ones, so that the receiver can match them,
// and sends them when it is given room again, all that there is room for, oldest first.
// To ask for each of them would take as long as receiver and sender need to take turns:
// that is for a receiver whose room is full of what it does not want yet.
//
// A sender that knows of room for any small message has nothing left that it offered for
// want of room. So a receiver whose room is not used up, by what it holds and what it has
// yet to return, can wait: what has not come is on its way, or what uses up the room is,
// and then it asks when that comes.

// creditParts are those in which a receiver returns the room of a process. One is taken in
// less than paceTime, so a sender that waits for a receiver that reads gets it.
const creditParts = 16

// spend takes from the room at a process.
func (c *Core) spend(pr *process, cost int) {
	pr.credit -= cost
	c.spent = c.spent || c.low(pr)
}

// low reports whether a process may have no room for the next small message.
func (c *Core) low(pr *process) bool { return pr.alive && pr.credit < c.limits.Eager+frameCost }

func (c *Core) anyLow() bool {
	for i := range c.processes {
		if c.low(&c.processes[i]) {
			return true
		}
	}
	return false
}

// roomy reports whether process p has room here for any small message, once it has heard
// of all that was returned: then it has sent all that it had offered for want of room.
func (c *Core) roomy(p int) bool {
	pr := &c.processes[p]
	return pr.held+pr.owed+c.limits.Eager+frameCost <= c.limits.Window
}

// hold notes that m takes room of process p until it is released.
func (c *Core) hold(m *arrival, p int) {
	m.eager = p
	c.processes[p].held += m.size + frameCost
}

// consumed notes that a receive has taken an eager message of process p, and returns its
// room, with that of others.
func (c *Core) consumed(p, bytes int) {
	pr := &c.processes[p]
	if !pr.alive {
		return
	}
	if pr.owed += bytes; pr.owed >= c.limits.Window/creditParts {
		h := transport.Header{Kind: kindCredit}
		h.Args[0] = uint64(pr.owed)
		pr.owed = 0
		c.send(p, h, nil)
	}
}

// unawait notes that m is not to come unasked any more.
func (c *Core) unawait(m *arrival) {
	if m.awaited > 0 {
		c.processes[m.awaited-1].awaited--
		m.awaited = 0
	}
}

// askAgain is called when process p may have used up its room, and asks for what should
// have come unasked.
func (c *Core) askAgain(p int) {
	pr := &c.processes[p]
	if pr.awaited == 0 || c.roomy(p) {
		return
	}
	for _, ctx := range c.order {
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

// lacksRoom notes that a message of s was offered to process p for want of room.
func (c *Core) lacksRoom(s *outStream, p int) {
	pr := &c.processes[p]
	if d := uint64(1) << pr.replica; s.short&d == 0 {
		s.short |= d
		pr.short = append(pr.short, s)
	}
}

// push sends what was offered to process p for want of room, as far as there is room now.
func (c *Core) push(p int) {
	pr := &c.processes[p]
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
