package launch

import (
	"fmt"

	"github.com/intrahpc/intra/internal/job"
)

// scheduledKill is a death on request and whether it happened.
type scheduledKill struct {
	job.Kill
	fired bool
}

// armKills starts the clocks of the kills at a time. The counted ones are the
// business of their victims.
func (h *head) armKills() {
	for i := range h.kills {
		k := &h.kills[i]
		if k.Point != job.KillAfter || k.fired {
			continue
		}
		h.after(k.After-h.elapsed(), func() {
			m := h.members[k.Process]
			if m.gone || m.ending != nil || h.phase != working {
				return
			}
			h.markFired(i)
			m.ending = &ending{job.CauseInjected, "killed on request at " + k.When()}
			h.eventf("%v is killed on request", m.process)
			h.kill(m)
		})
	}
}

// fire: a victim has reached its point and kills itself.
func (h *head) fire(m *member, reached job.Kill) {
	for i := range h.kills {
		k := &h.kills[i]
		if k.Process == m.process && k.Kill == reached && !k.fired {
			h.markFired(i)
			m.ending = &ending{job.CauseInjected, "killed on request at " + k.When()}
			h.eventf("%v has reached %s", m.process, k.When())
			h.after(lastWords, func() { h.kill(m) })
			return
		}
	}
	h.fence(m, ending{job.CauseFenced, fmt.Sprintf("it reported a kill at %s that was not requested", reached.When())})
}

// warnUnfired names the kills that never came about.
func (h *head) warnUnfired() {
	for _, k := range h.kills {
		if !k.fired {
			h.warnf("warning: -kill %v was never reached", k.Kill)
		}
	}
}
