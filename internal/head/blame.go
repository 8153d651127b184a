package head

import (
	"fmt"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// blameAll handles a report in which process by blames processes. The replicas of a rank agree
// on the blame. Each of them reports it in its counts, and again to a successor.
func (j *judge) blameAll(by *member, all []job.Blame) {
	for _, c := range all {
		c.Incarnation = j.members.lifeOf(c.Process, c.Incarnation)
		j.blame(by, &c)
		j.recordBlame(&c)
	}
}

// blame handles the blame of one process in a report of process by.
func (j *judge) blame(by *member, c *job.Blame) {
	i := slices.IndexFunc(j.members.all, func(m *member) bool { return m.process == c.Process && m.incarnation == c.Incarnation })
	if i < 0 || j.members.places[c.Process] != j.members.all[i] && c.Message == "" {
		return // the process is dead and replaced; only a wrong message that it sent still matters
	}
	m := j.members.all[i]
	at := slices.IndexFunc(j.blamed, func(o runreport.Blamed) bool { return o.Process == c.Process && o.Incarnation == c.Incarnation })
	if at < 0 {
		at = len(j.blamed)
		j.blamed = append(j.blamed, runreport.Blamed{Process: c.Process, Incarnation: c.Incarnation, Core: c.Core, Host: m.node.Name,
			Task: c.Task, Section: c.Section, Kernel: c.Kernel, Message: c.Message, Point: c.Point, Latency: c.Seconds})
		switch {
		case c.Message != "":
			j.warnf("%v on %s has sent a wrong %s, which was found by comparison", c.Process, m.node.Name, c.Message)
			return // a replica has delivered the message: the job ends
		case c.Point > 0:
			j.warnf("%v on %s has a wrong state at safe point %d, which was found by comparison", c.Process, m.node.Name, c.Point)
		default:
			j.warnf("%v on processor %d of %s has computed a wrong result of task %d (%s) in section %d, which was found by comparison", c.Process, c.Core, m.node.Name, c.Task, c.Kernel, c.Section)
		}
	}
	if by == m { // m knows best when it first erred, and where it runs
		j.blamed[at].Latency, j.blamed[at].Core = c.Seconds, c.Core
	}
	if j.phase != working || c.Message != "" {
		return
	}
	why := fmt.Sprintf("convicted of a wrong result of task %d in section %d", c.Task, c.Section)
	if c.Point > 0 {
		why = fmt.Sprintf("convicted of a wrong state at safe point %d", c.Point)
	}
	switch sound := j.otherSound(m); {
	case sound || c.Lost && by == m && (c.Point == 0 || j.recovery.decides != nil && j.recovery.decides.ReturnsWithout(j.leaves(m.process.Rank))):
		j.fence(m, ending{job.CauseFenced, why})
	case c.Lost && by == m && m.ending == nil:
		j.stop(ExitDiverged, fmt.Sprintf("silent corruption: the last replica of rank %d has a wrong state at safe point %d, and there is no backup to roll back to", m.process.Rank, c.Point), byWord)
	}
}

// leaves returns a function that reports whether a process is in the rank or about to end.
func (j *judge) leaves(rank int) func(job.Process) bool {
	return func(p job.Process) bool { return p.Rank == rank || j.members.places[p].ending != nil }
}

// otherSound reports whether the rank of m has another replica that goes on and was not blamed.
// Without one, fencing m would lose the rank.
func (j *judge) otherSound(m *member) bool {
	for o := range j.members.replicas(m.process.Rank) {
		if o == m || o.ending != nil || o.state != running && o.state != finished {
			continue
		}
		if !slices.ContainsFunc(j.blamed, func(c runreport.Blamed) bool { return c.Process == o.process && c.Incarnation == o.incarnation }) {
			return true
		}
	}
	return false
}

// corruption returns the parts of the report about silent corruption.
func (j *judge) corruption() (c *runreport.Corruption, flips []runreport.Flip) {
	for _, f := range j.config.Flips {
		fired := slices.ContainsFunc(j.members.all, func(m *member) bool { return slices.Contains(m.stats.Flipped, f) })
		flips = append(flips, runreport.Flip{Spec: f.String(), Fired: fired})
	}
	if j.config.Setup.Verify == nil {
		return nil, flips
	}
	c = &runreport.Corruption{Blamed: append([]runreport.Blamed{}, j.blamed...)}
	undecided := make(map[int]bool) // ranks
	type place struct {
		rank       int
		generation uint32
	}
	disputed := make(map[place]bool)
	for _, m := range j.members.all {
		if o := m.stats.Corruption; o != nil {
			if o.Undecided && !undecided[m.process.Rank] {
				undecided[m.process.Rank] = true
				c.Compared, c.Differed = c.Compared+1, c.Differed+1
			}
			generations := o.Disputed
			if o.Dispute != nil && o.Dispute.Differs() {
				generations = append(slices.Clone(generations), o.Dispute.Generation)
			}
			for _, g := range generations {
				if disputed[place{m.process.Rank, g}] {
					continue
				}
				disputed[place{m.process.Rank, g}] = true
				c.Compared, c.Differed = c.Compared+1, c.Differed+1
				if slices.ContainsFunc(j.state.Rollbacks, func(b decision.Rollback) bool { return b.Resumed > 0 && b.Generation > g }) {
					c.Repaired++
				}
			}
			c.Compared, c.Differed, c.Repaired = c.Compared+o.Compared, c.Differed+o.Differed, c.Repaired+o.Repaired
		}
	}
	if len(c.Blamed) > 0 {
		c.Latency = c.Blamed[0].Latency
	}
	return c, flips
}

// offender is a process that was blamed for a wrong result, in a job whose replicas compare
// only a share of the tasks. Its results of other tasks may be wrong too, and all replicas of
// its rank have applied them.
type offender struct {
	generation uint32 // rollbacks of the job before the blame
	sure       uint64 // the last safe point up to which the blaming replicas found it sound
	decided    bool   // the head has decided about the rollback for this process
}

// mostTimes bounds the rollbacks for blamed processes of one slot.
const mostTimes = 2

// recordBlame records the blame of a process. Processes report it repeatedly, also to a successor.
func (j *judge) recordBlame(c *job.Blame) {
	if j.recovery.decides == nil || c.Message != "" || c.Point > 0 || c.Whole || !j.config.Setup.Verify.Samples() {
		return
	}
	of := job.Endpoint{Process: c.Process, Incarnation: c.Incarnation}
	x := j.offenders[of]
	if x == nil {
		x = &offender{generation: c.Generation, sure: c.Sure}
		j.offenders[of] = x
	}
	x.sure = min(x.sure, c.Sure) // a replica that joined later has compared fewer safe points
	if !x.decided {
		j.recovery.notify(func(*recovery.Head, time.Duration) []recovery.Action { return j.distrusted(of) })
	}
}

// distrusted decides about a blamed process. The job rolls back to the newest backup from
// before the process may have erred. It does not roll back if it has already rolled back that
// far since the blame, or if there is no such backup.
func (j *judge) distrusted(of job.Endpoint) []recovery.Action {
	x := j.offenders[of]
	if x.decided || j.phase != working {
		return nil
	}
	if m := j.members.places[of.Process]; m != nil && m.incarnation == of.Incarnation && m.ending == nil && m.state.there() {
		return nil // it was not fenced, because its rank has no other process known to be sound
	}
	number, ok := j.recovery.decides.Trusted(x.sure)
	x.decided = true
	switch {
	case !ok && j.config.Backup == (recovery.Policy{}):
		return nil
	case !ok:
		j.warnf("the results of %v in tasks that were not compared stay: there is no backup from before it may have erred", of.Process)
		return nil
	case slices.ContainsFunc(j.state.Rollbacks, func(b decision.Rollback) bool { return b.Generation > x.generation && b.Number <= number }):
		return nil // an earlier head has already rolled the job back for this process
	case j.wentBackFor(of.Process) >= mostTimes:
		j.stop(ExitDiverged, fmt.Sprintf("silent corruption: %v was convicted of a wrong result, and the job has rolled back for other processes in its slot %d times", of.Process, mostTimes), byWord)
		return nil
	}
	j.warnf("%v may have computed other wrong results since safe point %d, in tasks that were not compared: the job rolls back to it, and output since then is printed again", of.Process, number)
	if len(j.plan.losses) == 0 {
		j.plan.lossAt = j.elapsed()
	}
	return j.recovery.decides.Distrust(of, x.sure, j.elapsed())
}

// wentBackFor returns the number of blamed processes in a slot for which the job has rolled
// back.
func (j *judge) wentBackFor(p job.Process) int {
	all := make(map[uint32]bool)
	for _, b := range j.state.Rollbacks {
		if c := b.Blamed; c != nil && c.Process == p {
			all[c.Incarnation] = true
		}
	}
	return len(all)
}
