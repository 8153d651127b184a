package head

import (
	"fmt"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// armKills sets timers for the kills at a time. Victims count the other kill points
// themselves.
func (h *Head) armKills() {
	for i, k := range h.config.Kills {
		if _, fired := h.state.Fired[i]; k.Point == job.KillAfter && !fired {
			h.after(k.After-h.elapsed(), timer{kind: scheduledKill, kill: i})
		}
	}
}

// killOnRequest proposes a kill whose time has come.
func (h *Head) killOnRequest(i int) {
	m := h.places[h.config.Kills[i].Process]
	if !m.state.there() || m.ending != nil || h.phase != working {
		return
	}
	h.propose(decision.Entry{Kind: decision.Fired, Index: i, Process: m.process, Incarnation: m.incarnation})
}

// fired acts on the kept decision about a kill.
func (h *Head) fired(e decision.Entry) {
	k, m := h.config.Kills[e.Index], h.holder(e.Process, e.Incarnation)
	if k.Point != job.KillAfter || !m.state.there() || m.ending != nil {
		return
	}
	m.ending = &ending{job.CauseInjected, "killed on request at " + k.When()}
	h.detailf("%v is killed on request", m.process)
	h.kill(m)
}

// fire handles the report of a victim that it has reached its kill point and kills itself.
func (h *Head) fire(m *member, reached job.Kill) {
	for i, k := range h.config.Kills {
		if k.Process != m.process || k != reached {
			continue
		}
		switch by, fired := h.state.Fired[i]; {
		case fired && by != m.incarnation:
			continue
		case !fired && h.firing(i):
			continue
		case !fired:
			h.propose(decision.Entry{Kind: decision.Fired, Index: i, Process: m.process, Incarnation: m.incarnation})
		}
		m.ending = &ending{job.CauseInjected, "killed on request at " + k.When()}
		h.detailf("%v has reached %s", m.process, k.When())
		h.after(lastWords, timer{kind: killMember, m: m})
		return
	}
	h.fence(m, ending{job.CauseFenced, fmt.Sprintf("it reported a kill at %s that was not requested", reached.When())})
}

// firing reports whether a kill is proposed and not kept yet.
func (h *Head) firing(i int) bool {
	for _, e := range h.asked {
		if e.Kind == decision.Fired && e.Index == i {
			return true
		}
	}
	return false
}
