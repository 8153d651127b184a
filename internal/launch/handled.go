package launch

import (
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/runreport"
)

// handled: a process has handled a verdict, so long ago.
func (h *head) handled(m *member, epoch uint64, ago time.Duration) {
	i := slices.IndexFunc(h.failures, func(f runreport.Failure) bool { return f.Epoch == epoch })
	if i < 0 { // on a joiner that was not needed
		return
	}
	if f := &h.failures[i]; f.HandledBy(m.process, h.elapsed()-ago) {
		h.eventf("%v has handled the death of %v", m.process, f.Process)
	}
}
