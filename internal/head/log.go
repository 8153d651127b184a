package head

import (
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// propose has an entry kept. The head acts on it in committed.
func (h *Head) propose(e decision.Entry) {
	if h.retired {
		return
	}
	e.At, e.Text = h.elapsed(), decision.Shorten(e.Text)
	h.asked = append(h.asked, e)
	h.act(Propose{e})
}

// committed applies an entry that is kept, and acts on it. The arbiter proposes the entries
// about nodes. All others are this head's, in the order in which it has proposed them.
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
		h.hostLost(e)
	}
	h.declareAll(verdicts)
	switch e.Kind {
	case decision.Born:
		h.born(e)
	case decision.Started:
		h.start()
	case decision.Finished:
		h.finished(e)
	case decision.Drained:
		h.drained(e)
	case decision.Fired:
		h.fired(e)
	case decision.Injected:
		h.injected(e)
	case decision.Recovery:
		h.kept(e)
	case decision.Opened:
		h.foundFolders()
	case decision.SetWhole:
		h.publish(e.Set)
	case decision.SetDone:
		h.setDone(e.Done)
	case decision.SetAbandoned:
		h.setAbandoned(e.Abandoned)
	case decision.Withdrawn:
		h.withdrawn(e)
	case decision.Decided:
		h.finish()
	case decision.Released:
		h.release()
	}
}

// giveUp retires this head, which may not decide any more. If the decisions are replicated,
// a successor may continue the job, and this head leaves the processes alive.
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
	h.decide(ExitLost, "this head gives up: "+why+"; the job continues without it where most of the hosts are", job.Endpoint{})
	h.warnf("%s", h.outcome.text)
	for _, m := range h.all {
		if m.state.there() || m.state == gone { // its verdict is up to a successor
			m.end = "left"
		}
	}
	h.phase, h.asked = over, nil
}
