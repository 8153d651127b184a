package recovery

import (
	"slices"

	"github.com/intrahpc/intra/internal/job"
)

func relieves(joined []Joined) bool {
	return slices.ContainsFunc(joined, func(j Joined) bool { return j.Relieves })
}

// leave makes a live process leave.
func (c *cluster) leave() {
	c.leaves--
	var all []*proc
	for _, q := range c.procs {
		if !q.dead && q.member {
			all = append(all, q)
		}
	}
	if len(all) == 0 {
		return
	}
	q := all[c.rng.IntN(len(all))]
	if i := slices.IndexFunc(all, func(q *proc) bool { return q.relieved }); i >= 0 && c.rng.IntN(2) == 0 {
		q = all[i]
	}
	q.leaves = true
	c.tell(func() []Action { return c.head.Leave(q.p, q.incarnation, c.now) })
}

// crashDeciding kills a process that is being relieved or let go, or one that stays, while the
// decision about that is being kept. The decision about the death is kept before or after
// it.
func (c *cluster) crashDeciding() {
	var all []*proc
	for _, j := range c.head.cut.joined {
		for _, q := range []*proc{c.find(j.Process, j.Incarnation), c.current(j.Process)} {
			if j.Relieves && q != nil && !q.dead {
				all = append(all, q)
			}
		}
	}
	for _, e := range c.head.cut.departed {
		for _, q := range c.procs {
			if q.p.Rank == e.Process.Rank && q.member && !q.dead {
				all = append(all, q)
			}
		}
	}
	if len(all) == 0 {
		return
	}
	q := all[c.rng.IntN(len(all))]
	c.kill(q)
	if !q.dying && c.rng.IntN(2) == 0 {
		q.says = nil
		c.declare(q)
		c.keeping[0], c.keeping[len(c.keeping)-1] = c.keeping[len(c.keeping)-1], c.keeping[0]
	}
}

// placeRelief records that a process is started in addition to a live one. If the live one
// has died, the new process is dead at once.
func (c *cluster) placeRelief(p job.Process, incarnation uint32) {
	if !c.snapshot.Relief(p, incarnation) {
		c.unwanted[job.Endpoint{Process: p, Incarnation: incarnation}] = true
	}
}

// replaced turns the process that was to relieve a dead one into its replacement.
func (c *cluster) replaced(p job.Process) {
	for _, q := range c.procs {
		if q.p == p && q.relieves && !q.declared {
			q.relieves = false
			c.seen["a relief replaces a dead process"]++
		}
	}
}

// handOver kills the processes that are relieved. Once the decision to relieve them is
// kept, they never act again: they are in the cut, and no head orders them to leave it.
func (c *cluster) handOver(joined []Joined) (void []job.Endpoint) {
	for _, j := range joined {
		q := c.find(j.Process, j.Incarnation)
		switch old := c.current(j.Process); {
		case !j.Relieves:
		case q.declared:
			void = append(void, job.Endpoint{Process: j.Process, Incarnation: j.Incarnation})
			c.seen["void"]++
			if c.snapshot.place(j.Process).Incarnation == j.Incarnation {
				void = nil // it had replaced a process that died before
			}
		case old == q:
			c.seen["died before it was relieved"]++
		default:
			c.seen["relieved"]++
			if old.relieved {
				c.seen["a process is relieved twice"]++
			}
			if c.lostHeads > 0 {
				c.seen["relieved under a successor"]++
			}
			if !slices.ContainsFunc(c.procs, func(o *proc) bool {
				return o != old && o.p.Rank == old.p.Rank && o.member && !o.declared
			}) {
				c.seen["the last replica is relieved"]++
			}
			if !old.inPt || !old.m.drained {
				c.fail("%v is relieved outside of the cut", old.p)
			}
			q.relieves, q.relieved = false, true
			c.leaveSlot(old)
		}
	}
	return void
}
