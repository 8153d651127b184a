package recovery

import (
	"slices"

	"github.com/intrahpc/intra/internal/job"
)

// dispute makes replicas of a rank have different states. No process dies, and all roll
// back.
func (c *cluster) dispute() {
	c.disputes--
	rank := c.rng.IntN(len(c.want))
	c.tell(func() []Action {
		back := c.head.back.phase
		below := uint64(c.rng.IntN(2)) * c.rng.Uint64N(c.steps+2)
		if c.head.Returning() && len(c.head.backups.older) > 0 {
			below = c.head.backups.older[c.rng.IntN(len(c.head.backups.older))].number + 1
		}
		late := c.head.Returning() && below > 0 && !c.head.backups.Before(below)
		if late && !c.head.backups.Repairable(below) {
			return nil // the job ends
		}
		acts := c.head.Dispute(rank, below, false, c.now)
		switch {
		case late:
			c.seen["the error is older than the backup of the rollback"]++
		case back == none && c.head.back.Disputed:
			c.seen["a rank is in dispute"]++
		default:
			return acts
		}
		if below > 0 && c.head.back.number >= below {
			c.fail("an error from before safe point %d is in the backup %d", below, c.head.back.number)
		}
		return acts
	})
}

// blame makes the replicas of a rank find a process faulty. They repeat this report until the job
// rolls back, or cannot.
func (c *cluster) blame() {
	d := c.defect
	if d.blamed == nil {
		for _, q := range c.procs {
			if !q.declared && q.p.Rank == d.rank && q.point > d.since {
				if q.entire { // all of its tasks were compared, so none can be wrong
					d.decided = true
					c.seen["a process is blamed while all is compared"]++
					return
				}
				d.blamed = &job.Endpoint{Process: q.p, Incarnation: q.incarnation}
				d.sure = c.rng.Uint64N(d.since + 1)
				break
			}
		}
		if d.blamed == nil {
			return
		}
	} else if c.waits || c.head.back.Blamed != nil {
		return
	}
	c.tell(func() []Action {
		b, was := c.head.backups.trusted(d.sure), c.head.backups.complete
		switch {
		case c.head.back.Blamed != nil || d.decided:
			return nil
		case b == nil:
			d.decided = true
			c.seen["no backup is trusted"]++
			if c.head.config.First() > 0 && !slices.ContainsFunc(c.procs, func(q *proc) bool { return q.dead }) {
				c.fail("a share of the tasks is compared, and there is no backup from before that")
			}
			return nil
		case b != was:
			c.seen["rollback to an older backup"]++
		}
		c.seen["a process is blamed"]++
		return c.head.Distrust(*d.blamed, d.sure, c.now)
	})
}

// sure returns what a process reports at a cut: some safe point up to which no process of
// its rank was faulty.
func (c *cluster) sure(q *proc) uint64 {
	if !c.head.config.Suspect {
		return 0
	}
	n := q.point
	if d := c.defect; d != nil && d.rank == q.p.Rank && !d.decided {
		n = min(n, d.since)
	}
	return c.rng.Uint64N(n + 1)
}

// risk returns n, for a probability of 1/n that a process dies in a step. n is small in
// phases that take little time.
func (c *cluster) risk() int {
	if h := c.head; c.hasty && (h.back.phase != none || h.cut.phase == asking || h.cut.phase == admitting || h.rest) {
		return 15
	}
	if h := c.head; c.late && h.generation > 0 && h.back.phase == none {
		return 15
	}
	return 400
}

// crash kills a process. Of the messages that it was sending, the last ones are lost.
func (c *cluster) crash() {
	var all []*proc
	for _, q := range c.procs {
		if !q.dead && (!q.done || !q.drained || c.heads > 0) {
			all = append(all, q)
		}
	}
	if len(all) == 0 {
		return
	}
	c.kill(all[c.rng.IntN(len(all))])
}

func (c *cluster) kill(q *proc) {
	c.crashes--
	q.dead = true
	if c.selfish > 0 && !q.waits {
		c.selfish--
		q.itself = true
		c.seen["death by itself"]++
	}
	where := "running"
	switch {
	case q.waits:
		where = "joiner"
	case q.ret.Pending():
		where = "rollback"
	case q.inPt && q.m.drained:
		where = "drained"
	case q.inPt:
		where = "safe point"
	}
	c.seen["death "+where]++
	c.data = slices.DeleteFunc(c.data, func(d *packet) bool { return d.to == q || d.from == q && c.rng.IntN(2) == 0 })
	q.says = q.says[:c.rng.IntN(len(q.says)+1)]
	q.toAgent, q.orders = nil, nil
}
