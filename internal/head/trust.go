package head

import (
	"fmt"
	"slices"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// offender is a process that was convicted of a wrong result, where only a share of the
// tasks are compared: what it has come to in others is in all replicas of its rank.
type offender struct {
	generation uint32 // how often the job had gone back by then
	sure       uint64 // the safe point by which it was not defective yet, as those who convicted it say
	decided    bool   // what follows
}

// mostTimes is how often the job goes back for processes in the same place.
const mostTimes = 2

// offence takes in a conviction, which is told again and again, also to a successor.
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
	x.sure = min(x.sure, c.Sure) // a replica that came later knows less
	if !x.decided {
		h.notify(news{kind: newsConvicted, process: c.Process, incarnation: c.Incarnation})
	}
}

// distrusted decides what follows for a process that was convicted: all go back to the
// newest backup from before it may have erred, unless they have since, or there is none.
func (h *Head) distrusted(of job.Endpoint) []recovery.Action {
	r, x := &h.recovery, h.recovery.offenders[of]
	if x.decided || h.phase != working {
		return nil
	}
	if m := h.places[of.Process]; m != nil && m.incarnation == of.Incarnation && m.ending == nil && m.state.there() {
		return nil // the last one of its rank goes on
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
		return nil // under the head before
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

// wentBackFor counts the processes in a place that the job has gone back for, as they were
// convicted.
func (h *Head) wentBackFor(p job.Process) int {
	all := make(map[uint32]bool)
	for _, b := range h.state.Rollbacks {
		if c := b.Convicted; c != nil && c.Process == p {
			all[c.Incarnation] = true
		}
	}
	return len(all)
}

// anew reports whether what was printed since the backup of a rollback may be wrong, and so
// is printed again.
func (h *Head) anew(generation uint32) bool {
	return slices.ContainsFunc(h.state.Rollbacks, func(b decision.Rollback) bool {
		return b.Generation == generation && (b.Convicted != nil || len(b.Doubt) > 0)
	})
}
