package head

import (
	"fmt"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
)

// A replica that never ends, in an endless loop for instance, keeps a job from ending whose
// ranks have all finished in other replicas. The head fences such a replica after it has
// made no progress for Config.Endless: the job has all results without it.

// Outlasting is a process that runs while every rank has finished in another replica.
type Outlasting struct {
	Process job.Process
	Idle    time.Duration // time without progress, since the other replicas have finished
	What    string        // what it does
}

// Outlasting returns the processes that run while every rank has finished in another
// replica.
func (h *Head) Outlasting() (all []Outlasting) {
	for _, m := range h.outlasting() {
		all = append(all, Outlasting{m.process, h.idle(m), h.what(m)})
	}
	return all
}

// outlasting returns the same processes in the order of their slots.
func (h *Head) outlasting() (all []*member) {
	if h.phase != working || !h.hasBegun || h.retired || len(h.wanted) > 0 || h.mayGoBack() {
		return nil
	}
	through := make([]bool, len(h.config.Degrees))
	for p, m := range h.places {
		switch {
		case m.coming(), m.state == gone:
			return nil
		case m.state == finished, h.state.Drained[p.Rank]:
			through[p.Rank] = true
		}
		if m.state == running && m.role == First && m.ending == nil {
			all = append(all, m)
		}
	}
	if slices.Contains(through, false) {
		return nil
	}
	slices.SortFunc(all, func(a, b *member) int { return a.process.Compare(b.process) })
	return all
}

// watchOutlasting records since when processes outlast the others, and judges them.
func (h *Head) watchOutlasting() {
	if len(h.outlasting()) == 0 {
		h.outlasted = longAgo
		return
	}
	if h.outlasted == longAgo {
		h.outlasted = h.now
		h.judgeOutlasting()
	}
}

// idle returns the time for which a process that outlasts the others has made no progress.
func (h *Head) idle(m *member) time.Duration {
	idle := h.now - max(h.outlasted, m.wrote, h.continued)
	if d := h.doing(m); d != nil {
		idle = min(idle, d.Idle)
	}
	return max(idle, 0)
}

// judgeOutlasting fences the processes that have made no progress for Config.Endless, and
// sets a timer to judge the others again.
func (h *Head) judgeOutlasting() {
	limit := h.config.Endless
	if h.outlasted == longAgo || limit == 0 {
		return
	}
	all := h.outlasting()
	if len(all) == 0 {
		h.outlasted = longAgo
		return
	}
	next := limit
	for _, m := range all {
		idle := h.idle(m)
		switch {
		case idle < limit:
			next = min(next, limit-idle)
		case h.doubtful(m) || h.stoppedNow(m):
			next = min(next, suspectAfter)
		default:
			h.fence(m, ending{job.CauseFenced, fmt.Sprintf("it made no progress for %.1f s, and every rank has finished in another replica: %s",
				idle.Seconds(), h.what(m))})
		}
	}
	h.after(next, timer{kind: judgeEndless})
}

// what returns what a process does, in words.
func (h *Head) what(m *member) string {
	s := runreport.ProcessStatus{Process: m.process, State: string(job.StateRuns), Doing: h.doing(m), Sections: m.stats.Before + m.stats.Sections}
	return s.InWords()
}
