package launch

import (
	"fmt"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// suspect: the link from m to the process that began as p in that incarnation
// has ended, and nobody has been declared dead.
func (h *head) suspect(m *member, p job.Process, incarnation uint32, text string) {
	other := h.members[p]
	if other == nil || other == m || other.incarnation != incarnation {
		return
	}
	h.eventf("%v has lost its link to %v: %s", m.process, p, text)
	h.doubts[doubt{m.process, p}] = true
	until := time.Now().Add(replaceTime)
	h.after(suspectAfter, func() { h.judge(m, other, text, until) })
}

// doubt is the suspicion of a process about its link to another one.
type doubt struct{ of, about job.Process }

// mended: the link from m to p has a connection again.
func (h *head) mended(m *member, p job.Process) {
	h.eventf("%v has restored its link to %v", m.process, p)
	delete(h.doubts, doubt{m.process, p})
}

// judge makes an end of the link that broke go, unless that end is dead anyway.
// Which one is the wrong one to kill if a host is being lost, so that has to be
// certain first. Of two last replicas one goes that the job can come back
// without; if both will have a second one soon, that is waited for.
func (h *head) judge(m, other *member, text string, until time.Time) {
	if h.phase != working || m.gone || other.gone || m.ending != nil || other.ending != nil {
		return
	}
	if !h.doubts[doubt{m.process, other.process}] {
		return
	}
	// One that is stopped does not answer on its links, and is judged for that.
	v, ok := h.ledger.victim(m.process, other.process)
	if !ok {
		v, ok = h.recovery.expendable(m.process, other.process)
	}
	if m.agent.Doubtful() || other.agent.Doubtful() || m.stoppedNow() || other.stoppedNow() ||
		!ok && h.ledger.filling(m.process.Rank, other.process.Rank) && time.Now().Before(until) {
		h.after(suspectAfter, func() { h.judge(m, other, text, until) })
		return
	}
	if !ok {
		h.ledger.decide(ExitLost, fmt.Sprintf("the link between %v and %v broke (%s), and neither has another replica", m.process, other.process, text))
		h.settle()
		return
	}
	h.fence(h.members[v], ending{job.CauseLink, fmt.Sprintf("the link between %v and %v broke: %s", m.process, other.process, text)})
}
