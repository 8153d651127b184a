package head

import (
	"fmt"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// offender is a process that was blamed for a wrong result, where replicas compare only a
// share of the tasks. Its results of other tasks may be wrong too, and all replicas of its
// rank have applied them.
type offender struct {
	generation uint32 // rollbacks of the job before the blame
	sure       uint64 // the last safe point up to which the blaming replicas found it sound
	decided    bool   // the head has decided what to do about it
}

// mostTimes bounds the rollbacks because of blamed processes in the same slot.
const mostTimes = 2

// offence records a conviction. Processes report it repeatedly, also to a successor.
func (h *Head) offence(c *job.Conviction) {
	r := &h.recovery
	if r.decides == nil || c.Message != "" || c.Point > 0 || c.Whole || !h.config.Setup.Verify.Samples() {
		return
	}
	of := job.Endpoint{Process: c.Process, Incarnation: c.Incarnation}
	x := r.offenders[of]
	if x == nil {
		if r.offenders == nil {
			r.offenders = make(map[job.Endpoint]*offender)
		}
		x = &offender{generation: c.Generation, sure: c.Sure}
		r.offenders[of] = x
	}
	x.sure = min(x.sure, c.Sure) // a replica that joined later has compared less
	if !x.decided {
		h.notify(func(*recovery.Head, time.Duration) []recovery.Action { return h.distrusted(of) })
	}
}

// distrusted decides about a process that was blamed. The job rolls back to the newest
// backup from before the process may have erred, unless it has already rolled back that far
// since the blame, or there is no such backup.
func (h *Head) distrusted(of job.Endpoint) []recovery.Action {
	r, x := &h.recovery, h.recovery.offenders[of]
	if x.decided || h.phase != working {
		return nil
	}
	if m := h.places[of.Process]; m != nil && m.incarnation == of.Incarnation && m.ending == nil && m.state.there() {
		return nil // it is the last one of its rank, and goes on
	}
	number, ok := r.decides.Trusted(x.sure)
	x.decided = true
	switch {
	case !ok && h.config.Backup == (recovery.Policy{}):
		return nil
	case !ok:
		h.warnf("what %v has come to in tasks that were not compared stays: there is no backup from before it may have erred", of.Process)
		return nil
	case slices.ContainsFunc(h.state.Rollbacks, func(b decision.Rollback) bool { return b.Generation > x.generation && b.Number <= number }):
		return nil // an earlier head has already rolled the job back for this process
	case h.wentBackFor(of.Process) >= mostTimes:
		h.stop(ExitDiverged, fmt.Sprintf("silent corruption: %v was convicted of a wrong result, and the job has gone back for other processes in its place %d times", of.Process, mostTimes), byWord)
		return nil
	}
	h.warnf("%v may have come to other wrong results since safe point %d, in tasks that were not compared: the job goes back to it, and what is printed since then is printed again", of.Process, number)
	if len(r.losses) == 0 {
		r.lossAt = h.elapsed()
	}
	return r.decides.Distrust(of, x.sure, h.elapsed())
}

// wentBackFor returns the number of processes in a slot for whose blame the job has rolled
// back.
func (h *Head) wentBackFor(p job.Process) int {
	all := make(map[uint32]bool)
	for _, b := range h.state.Rollbacks {
		if c := b.Convicted; c != nil && c.Process == p {
			all[c.Incarnation] = true
		}
	}
	return len(all)
}

// reprints reports whether the ranks print their output after the backup of a rollback again:
// the lines from before the rollback may be wrong.
func (h *Head) reprints(generation uint32) bool {
	return slices.ContainsFunc(h.state.Rollbacks, func(b decision.Rollback) bool {
		return b.Generation == generation && (b.Convicted != nil || len(b.Doubt) > 0)
	})
}
