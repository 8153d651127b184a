package launch

import (
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// failure is a verdict as it stands in the report.
type failure struct {
	Process job.Process `json:"process"`
	At      float64     `json:"at_seconds"` // when it was declared dead
	Cause   job.Cause   `json:"cause"`
	Detail  string      `json:"detail"`
	Fenced  float64     `json:"fenced_seconds,omitempty"` // when it was killed for what it did
	// Handled is when the head heard of each survivor that it has done what the
	// death asks of it. A process that has died or ended before, or that is
	// stopped, is not in it; one that came later need not do anything.
	Handled map[job.Process]float64 `json:"handled_seconds"`

	Evidence *evidence `json:"evidence,omitempty"` // of the loss of a host

	epoch uint64
}

func newFailure(v job.Verdict, at time.Duration) failure {
	return failure{Process: v.Process, At: at.Seconds(), Cause: v.Cause, Detail: v.Detail,
		Handled: make(map[job.Process]float64), epoch: v.Epoch}
}

// handled: a process has handled a verdict, so long ago.
func (h *head) handled(m *member, epoch uint64, ago time.Duration) {
	i := slices.IndexFunc(h.failures, func(f failure) bool { return f.epoch == epoch })
	if i < 0 { // on a newcomer that was not needed
		return
	}
	if f := &h.failures[i]; f.handledBy(m.process, h.elapsed()-ago) {
		h.eventf("%v has handled the death of %v", m.process, f.Process)
	}
}

// handledBy notes that a process has handled the verdict at that time since all
// had joined, unless that is known or cannot be. A head that has taken over may
// have heard of the verdict itself only after that.
func (f *failure) handledBy(p job.Process, at time.Duration) bool {
	if _, known := f.Handled[p]; known || p == f.Process {
		return false
	}
	f.Handled[p] = max(at.Seconds(), f.At)
	return true
}
