package head

import (
	"fmt"
	"slices"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
)

// convicted handles the convictions that process by reports. The replicas of a rank agree on
// them, and each one reports them in its counts, again under a successor.
func (h *Head) convicted(by *member, all []job.Conviction) {
	for _, c := range all {
		c.Incarnation = h.lifeOf(c.Process, c.Incarnation)
		h.convict(by, &c)
		h.offence(&c)
	}
}

// lifeOf returns the incarnation of the process in slot p whose frames carry the
// incarnation frames. Frames carry the process's own incarnation, or after a rollback that
// of the rollback. Processes and rollbacks are numbered in one sequence, so the process is
// the latest one in the slot that is not newer than frames.
func (h *Head) lifeOf(p job.Process, frames uint32) (own uint32) {
	for _, m := range h.all {
		if m.process == p && m.incarnation <= frames {
			own = max(own, m.incarnation)
		}
	}
	return own
}

// convict handles one conviction that process by has reported.
func (h *Head) convict(by *member, c *job.Conviction) {
	i := slices.IndexFunc(h.all, func(m *member) bool { return m.process == c.Process && m.incarnation == c.Incarnation })
	if i < 0 || h.places[c.Process] != h.all[i] && c.Message == "" {
		return // it is dead and replaced; only a wrong message of it still matters
	}
	m := h.all[i]
	at := slices.IndexFunc(h.convictions, func(o runreport.Convicted) bool { return o.Process == c.Process && o.Incarnation == c.Incarnation })
	if at < 0 {
		at = len(h.convictions)
		h.convictions = append(h.convictions, runreport.Convicted{Process: c.Process, Incarnation: c.Incarnation, Core: c.Core, Host: m.node.Name,
			Task: c.Task, Section: c.Section, Kernel: c.Kernel, Message: c.Message, Point: c.Point, Latency: c.Seconds})
		switch {
		case c.Message != "":
			h.warnf("%v on %s has sent a wrong %s, which was found by comparison", c.Process, m.node.Name, c.Message)
			return // it has been delivered: the job ends
		case c.Point > 0:
			h.warnf("%v on %s has a wrong state at safe point %d, which was found by comparison", c.Process, m.node.Name, c.Point)
		default:
			h.warnf("%v on processor %d of %s has come to a wrong result of task %d (%s) in section %d, which was found by comparison", c.Process, c.Core, m.node.Name, c.Task, c.Kernel, c.Section)
		}
	}
	if by == m { // it knows best when it first erred, and where it runs
		h.convictions[at].Latency, h.convictions[at].Core = c.Seconds, c.Core
	}
	if h.phase != working || c.Message != "" {
		return
	}
	why := fmt.Sprintf("convicted of a wrong result of task %d in section %d", c.Task, c.Section)
	if c.Point > 0 {
		why = fmt.Sprintf("convicted of a wrong state at safe point %d", c.Point)
	}
	switch innocent := h.innocent(m); {
	case innocent || c.Lost && by == m && (c.Point == 0 || h.returns(m.process.Rank)):
		h.fence(m, ending{job.CauseFenced, why})
	case c.Lost && by == m && m.ending == nil:
		h.stop(ExitDiverged, fmt.Sprintf("silent corruption: the last replica of rank %d has a wrong state at safe point %d, and there is no backup to go back to", m.process.Rank, c.Point), byWord)
	}
}

// returns reports whether the job survives the loss of all replicas of a rank, together
// with the processes that are about to end.
func (h *Head) returns(rank int) bool {
	return h.recovery.decides != nil && h.recovery.decides.ReturnsWithout(h.leaves(rank))
}

// leaves returns the set of the replicas of a rank and of the processes that are about to
// end.
func (h *Head) leaves(rank int) func(job.Process) bool {
	return func(p job.Process) bool { return p.Rank == rank || h.places[p].ending != nil }
}

// cameBack reports whether a rollback has been completed since a generation.
func (h *Head) cameBack(generation uint32) bool {
	return slices.ContainsFunc(h.state.Rollbacks, func(b decision.Rollback) bool { return b.Resumed > 0 && b.Generation > generation })
}

// innocent reports whether the rank of m has another replica that goes on and was not
// blamed. Only then m can be fenced without a loss.
func (h *Head) innocent(m *member) bool {
	for replica := range h.config.Degrees[m.process.Rank] {
		o := h.places[job.Process{Rank: m.process.Rank, Replica: replica}]
		if o == nil || o == m || !o.state.there() || o.ending != nil || o.state != running && o.state != finished {
			continue
		}
		if !slices.ContainsFunc(h.convictions, func(c runreport.Convicted) bool { return c.Process == o.process && c.Incarnation == o.incarnation }) {
			return true
		}
	}
	return false
}

// flips returns the requested bit flips of a process. A replacement gets none.
func (h *Head) flips(m *member) (all []job.Flip) {
	for _, f := range h.config.Flips {
		if f.Process == m.process && m.incarnation == firstIncarnation {
			all = append(all, f)
		}
	}
	return all
}

// corruption returns the parts of the report about silent corruption.
func (h *Head) corruption() (c *runreport.Corruption, flips []runreport.Flip) {
	for _, f := range h.config.Flips {
		fired := slices.ContainsFunc(h.all, func(m *member) bool { return slices.Contains(m.stats.Flipped, f) })
		flips = append(flips, runreport.Flip{Spec: f.String(), Fired: fired})
	}
	if h.config.Setup.Verify == nil {
		return nil, flips
	}
	c = &runreport.Corruption{Convicted: append([]runreport.Convicted{}, h.convictions...)}
	undecided := make(map[int]bool) // ranks
	type place struct {
		rank       int
		generation uint32
	}
	doubted := make(map[place]bool)
	for _, m := range h.all {
		if o := m.stats.Corruption; o != nil {
			if o.Undecided && !undecided[m.process.Rank] {
				undecided[m.process.Rank] = true
				c.Compared, c.Differed = c.Compared+1, c.Differed+1
			}
			generations := o.Doubted
			if o.Doubt != nil && o.Doubt.Differs() {
				generations = append(slices.Clone(generations), o.Doubt.Generation)
			}
			for _, g := range generations {
				if doubted[place{m.process.Rank, g}] {
					continue
				}
				doubted[place{m.process.Rank, g}] = true
				c.Compared, c.Differed = c.Compared+1, c.Differed+1
				if h.cameBack(g) {
					c.Repaired++
				}
			}
			c.Compared, c.Differed, c.Repaired = c.Compared+o.Compared, c.Differed+o.Differed, c.Repaired+o.Repaired
		}
	}
	if len(c.Convicted) > 0 {
		c.Latency = c.Convicted[0].Latency
	}
	return c, flips
}
