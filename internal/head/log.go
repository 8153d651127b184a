package head

import (
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// committed applies an entry that is kept, and acts on it. The arbiter proposes the entries
// about nodes. This head has proposed all others, and they are kept in the order of the
// proposals.
func (h *Head) committed(e decision.Entry) {
	if h.retired {
		return
	}
	switch e.Kind {
	case decision.Lost:
		if e.At = max(e.At, h.elapsed()); h.state.Lost[e.Node].Text != "" {
			return
		}
	case decision.Added, decision.Removed:
	default:
		h.asked = h.asked[1:]
	}
	verdicts := h.state.Apply(e)
	if e.Kind == decision.Lost {
		h.deaths.hostLost(e)
	}
	h.deaths.declareAll(verdicts)
	switch e.Kind {
	case decision.Placed:
		h.members.startPlaced(e)
	case decision.Started:
		h.members.start()
	case decision.Finished:
		h.finished(e)
	case decision.Drained:
		h.drained(e)
	case decision.HostJoined:
		h.hostJoined(e.Host)
	case decision.Ending:
		h.leaves.ending()
	case decision.Resigned:
		h.leaves.handedOver()
	case decision.Degrees:
		h.degreesSet(e)
	case decision.Left:
		h.leaves.decided(e)
	case decision.Fired:
		h.faults.fired(e)
	case decision.Injected:
		h.faults.injected(e)
	case decision.Recovery:
		switch e.Recovery.Kind {
		case recovery.RolledBack:
			if h.judge.undescribedAnywhere() {
				return // the job ends because of the difference, and does not roll back
			}
		case recovery.Complete:
			h.judge.reconsiderDisputes()
		}
		h.plan.kept(e)
	case decision.Opened:
		h.plan.foundFolders()
	case decision.SetWhole:
		h.plan.publish(e.Set)
	case decision.SetDone:
		h.plan.setDone(e.Done)
	case decision.SetAbandoned:
		h.plan.setAbandoned(e.Abandoned)
		h.leaves.continueEnding()
	case decision.Withdrawn:
		h.members.withdrawn(e)
	case decision.Decided:
		h.finish()
	case decision.Released:
		h.release()
	}
}

// giveUp retires this head, which may no longer decide. If the decisions are replicated, a
// successor may continue the job, and this head leaves the processes alive.
func (h *Head) giveUp(why string) {
	if h.retired {
		return
	}
	if !h.config.Replicated {
		h.decide(ExitLost, "the head gives up: "+why, job.Endpoint{})
		h.settle()
		return
	}
	h.retired = true
	if h.leaves.gone { // what is not decided yet is up to the successor
		h.outcome = &outcome{code: ExitHandedOver, text: "this head has handed over: the job goes on with another one"}
	}
	h.decide(ExitLost, "this head gives up: "+why+"; the job continues without it where most of the hosts are", job.Endpoint{})
	h.warnf("%s", h.outcome.text)
	for _, m := range h.members.all {
		if m.state.there() || m.state == gone { // a successor decides about its death
			m.end = "left"
		}
	}
	h.phase, h.asked = over, nil
}
