package head

import (
	"slices"

	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
)

// watched handles the difference that a process has found between its state and that of another
// replica. With -diverge warn it warns the user, once for each rank. Otherwise a replica of the
// rank whose program still runs fails with the difference, and that ends the job.
func (h *Head) watched(m *member, w *job.Watched) {
	if w.Differed == "" || h.diverged[m.process.Rank] != "" {
		return
	}
	if h.diverged == nil {
		h.diverged = make(map[int]string)
	}
	h.diverged[m.process.Rank] = w.Differed
	if h.config.Setup.Diverge == job.DivergeWarn {
		h.warnf("warning: replicas diverged: %s", w.Differed)
	}
}

// divergence returns the section of the report about divergence, nil if nothing was compared.
func (h *Head) divergence() *runreport.Diverge {
	mode := h.config.Setup.Diverge
	if mode == "" || mode == job.DivergeOff || h.config.Setup.Verify != nil || !slices.ContainsFunc(h.config.Degrees, func(d int) bool { return d > 1 }) {
		return nil
	}
	d := &runreport.Diverge{Mode: string(mode), Differed: []string{}}
	for _, m := range h.all {
		if w := m.stats.Watched; w != nil {
			d.Hashes, d.Compared, d.Seconds = d.Hashes+w.Hashes, d.Compared+w.Compared, d.Seconds+w.Seconds
		}
	}
	for rank := range h.config.Degrees {
		if text := h.diverged[rank]; text != "" {
			d.Differed = append(d.Differed, text)
		}
	}
	return d
}
