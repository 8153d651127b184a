package head

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// dispute is the state of a rank in which its replicas differ or its program has failed, and no
// process can be blamed.
//
// The embedded Dispute was decided last; waiting waits for a decision. times counts the
// disputes since the rank last reached a new highest safe point: a dispute that repeats before
// that is handled more severely (decideDispute).
type dispute struct {
	job.Dispute               // the dispute that was decided last
	by          *member       // the process that has reported waiting, or Dispute if waiting is nil
	times       int           // disputes decided since the rank reached furthest
	furthest    uint64        // the highest safe point at which the rank had a dispute
	stands      bool          // the head has decided that the job does not roll back for the dispute
	waiting     *job.Dispute  // a reported dispute that is not decided yet, nil: none
	since       time.Duration // when waiting was first reported
}

// storingTime bounds the time that a dispute waits for a backup that is still being stored, if
// the job has no other sound backup.
const storingTime = 5 * time.Second

// dispute handles a dispute that process m reports. The process has stopped, and repeats the
// report until the job rolls back or ends.
func (j *judge) dispute(m *member, reported *job.Dispute) {
	rank := m.process.Rank
	if j.phase != working || !m.state.there() || m.ending != nil {
		return
	}
	d := j.disputes[rank]
	if d == nil {
		d = new(dispute)
		j.disputes[rank] = d
	}
	if d.times > 0 && reported.Generation <= d.Generation && !d.older(reported) {
		if d.stands && reported.Generation == d.Generation {
			j.letFail(m, reported)
		}
		return
	}
	if d.waiting == nil || d.waiting.Generation != reported.Generation || d.waiting.Below == 0 || reported.Below > 0 && reported.Below < d.waiting.Below {
		if d.waiting == nil {
			d.since = j.elapsed()
		}
		d.waiting, d.by = reported, m // otherwise a dispute about an older error already waits
	}
	if j.recovery.decides == nil {
		d.decide()
		j.stand(rank, "there is no backup to roll back to")
		return
	}
	j.recovery.notify(func(*recovery.Head, time.Duration) []recovery.Action { return j.decideDispute(rank) })
}

// decide moves the waiting dispute to Dispute, and counts it.
func (d *dispute) decide() {
	if d.waiting.Point > d.furthest {
		d.times, d.furthest = 0, d.waiting.Point
	} else if d.times > 0 && d.older(d.waiting) {
		d.times-- // the same dispute, with an earlier error
	}
	d.Dispute, d.times, d.stands, d.waiting = *d.waiting, d.times+1, false, nil
}

// reconsiderDisputes reconsiders the waiting disputes, since a new backup is complete.
func (j *judge) reconsiderDisputes() {
	for _, rank := range slices.Sorted(maps.Keys(j.disputes)) {
		if d := j.disputes[rank]; d.waiting != nil {
			j.recovery.events = append(j.recovery.events, func(*recovery.Head, time.Duration) []recovery.Action { return j.decideDispute(rank) })
		}
	}
}

// older reports whether next is about an earlier error than the dispute that was decided last.
// It is false if the two are from different generations.
func (d *dispute) older(next *job.Dispute) bool {
	return next.Generation == d.Generation && next.Below > 0 && (d.Below == 0 || next.Below < d.Below)
}

// decideDispute decides about a dispute in a rank. The first time, all processes roll back to a
// backup from before the error, and no process dies. If a dispute between replicas repeats
// before the rank makes progress, one of its processes may err persistently: the head
// replaces all of them. If that does not help either, the job ends. If the program fails again
// after the first rollback, silent corruption was not the cause, and the failure stands.
//
// decideDispute decides nothing if the job is about to roll back anyway. If no rollback
// follows, the processes repeat their report.
func (j *judge) decideDispute(rank int) []recovery.Action {
	d := j.disputes[rank]
	back := j.recovery.decides
	switch {
	case d.waiting == nil || j.phase != working || j.rankEnds():
		return nil
	case back.Returning():
		return j.decideDuringRollback(rank)
	case d.waiting.Generation != back.Generation():
		return nil
	case !back.Repairable(d.waiting.Below) && back.Storing(d.waiting.Below) && j.elapsed() < d.since+storingTime:
		return nil // the head decides once that backup is complete, or at the next report
	}
	d.decide()
	what, _, _ := strings.Cut(d.Text, "\n")
	switch {
	case !back.Repairable(d.Below):
		j.stand(rank, j.notBack())
		return nil
	case d.times == 1 && !d.Differs():
		j.warnf("rank %d: %s: %s: a wrong result may have led to that, and the job rolls back to a backup", rank, d.Kind, what)
	case d.times == 1:
		j.warnf("rank %d: %s: the job rolls back to its last backup", rank, what)
	case !d.Differs():
		j.stand(rank, "")
		return nil
	case d.times > 2:
		j.stand(rank, "the job has rolled back for that twice, the second time with all its replicas replaced")
		return nil
	case !back.RepairableWithout(d.Below, j.leaves(rank)):
		j.stand(rank, "the job has rolled back for that once, and cannot go on with all its replicas replaced")
		return nil
	default:
		j.warnf("rank %d: %s, again: other processes replace all its replicas, and the job rolls back to its last backup", rank, what)
		for o := range j.members.replicas(rank) {
			if o.state == running || o.state == finished {
				j.fence(o, ending{job.CauseFenced, fmt.Sprintf("the state of its rank at safe point %d differs from that of another replica", d.Point)})
			}
		}
		return back.Dispute(rank, d.Below, true, j.elapsed())
	}
	if len(j.plan.losses) == 0 {
		j.plan.lossAt = j.elapsed()
	}
	return back.Dispute(rank, d.Below, false, j.elapsed())
}

// decideDuringRollback decides about a dispute during a rollback, whose backup may be from after
// the error. It has to decide at once: no process repeats a report of the earlier generation.
func (j *judge) decideDuringRollback(rank int) []recovery.Action {
	d, back := j.disputes[rank], j.recovery.decides
	if d.waiting.Below == 0 || back.Before(d.waiting.Below) {
		return nil
	}
	d.Dispute, d.times, d.waiting = *d.waiting, max(d.times, 1), nil
	if !back.Repairable(d.Below) {
		j.stop(ExitDiverged, fmt.Sprintf("silent corruption of rank %d: %s, and %s", rank, d.Text, j.notBack()), byWord)
		return nil
	}
	what, _, _ := strings.Cut(d.Text, "\n")
	j.warnf("rank %d: %s: the job rolls back to an older backup", rank, what)
	return back.Dispute(rank, d.Below, false, j.elapsed())
}

// notBack returns why the job cannot roll back for a dispute.
func (j *judge) notBack() string {
	switch {
	case j.state.Backups == 0:
		return "there is no backup to roll back to"
	case j.recovery.decides.Repairable(0):
		return "there is no backup to roll back to from before that"
	}
	return "there is no backup to roll back to that is known to be sound"
}

// stand decides a dispute without a rollback. If states differ, the job ends. If the program
// has failed, its process ends with that error.
func (j *judge) stand(rank int, why string) {
	d := j.disputes[rank]
	if d.stands = true; d.Kind == "" {
		j.stop(ExitDiverged, fmt.Sprintf("silent corruption of rank %d: %s, and %s", rank, d.Text, why), byWord)
		return
	}
	if why != "" {
		j.detailf("rank %d: %s, and %s", rank, d.Kind, why)
	}
	j.letFail(d.by, &d.Dispute)
}

// letFail orders a process to report the failure of its program and to exit.
func (j *judge) letFail(m *member, d *job.Dispute) {
	if d.Kind != "" {
		j.send(m, &job.Message{Kind: job.KindOrder, Order: &job.Order{Kind: job.OrderFail, Generation: d.Generation}})
	}
}

// rankEnds reports whether a rank that the job still needs is being lost: all its replicas
// are dead or about to end.
func (j *judge) rankEnds() bool {
	for rank := range j.config.Degrees {
		lasting := j.state.Drained[rank]
		for o := range j.members.replicas(rank) {
			lasting = lasting || o.ending == nil && o.alive()
		}
		if !lasting {
			return true
		}
	}
	return false
}
