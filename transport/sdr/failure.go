package sdr

import (
	"slices"
)

// Dead handles the death of process p, which has been declared dead. All frames that p had
// handed to its link have been delivered before [SDR, Algorithm 1, line 18]. From now on
// frames of its incarnation are refused.
func (c *Core) Dead(p int) {
	pr := &c.job.processes[p]
	if !pr.alive { // p is a joiner that died before its incarnation was announced
		pr.early = early{}
		return
	}
	r := &c.job.ranks[pr.rank]
	before := r.live
	pr.alive = false
	r.live &^= 1 << pr.replica
	r.impatient &^= 1 << pr.replica
	c.finishing.asks = slices.DeleteFunc(c.finishing.asks, func(a ask) bool { return a.p == p })
	c.out.ends++ // waiters determine again which process to ask
	defer c.outgoing.hashesKnown()
	defer c.comparer.expectFewer()
	if pr.rank == c.job.rank {
		c.outgoing.substitute(before)
		c.matching.lostSibling()
		return
	}
	for _, ctx := range c.contexts.order {
		if s := ctx.out[pr.rank]; s != nil { // lines 31 to 33: p needs no messages any more
			d := uint64(1) << pr.replica
			c.outgoing.sweep(s, func(m *Message) {
				m.lacking &^= d
				m.first &^= d
				if m.asked == p+1 {
					m.asked = 0 // another process is asked
				}
			})
		}
		if s := ctx.in[pr.rank]; s != nil {
			s.forgetTarget(pr.replica)
			c.incoming.lose(s, p)
		}
	}
}
