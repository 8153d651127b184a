package head

import (
	"fmt"
	"slices"

	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
)

// watched acts on the differences between states of replicas that a process reports. A process
// first reports that hashes differ (Known), and then, once values are compared, what differs.
func (h *Head) watched(m *member) {
	w := m.stats.Watched
	if w == nil {
		return
	}
	if w.Differed != "" {
		h.differed(m, w.Differed)
	}
	if w.Known != "" {
		h.undescribed(m.process.Rank)
	}
}

// differed handles a difference between states of replicas: the job ends or, with -diverge warn,
// the user is warned, once for each rank.
func (h *Head) differed(m *member, text string) {
	if rank := m.process.Rank; h.diverged[rank] == "" {
		h.diverged[rank] = text
		if h.config.Setup.Diverge == job.DivergeWarn {
			h.warnf("warning: replicas diverged: %s", text)
		}
	}
	if h.config.Setup.Diverge == job.DivergeStrict {
		h.stop(ExitDiverged, foundBy(m, text), byWord)
	}
}

func foundBy(m *member, text string) string {
	return fmt.Sprintf("divergence, found by %v: %s", m.process, text)
}

// undescribed handles a difference of hashes in a rank of which no process can compare values any
// more: those that know of it are dead or have finished, or the job rolls back. It reports whether
// there is one.
func (h *Head) undescribed(rank int) bool {
	first := h.knows(rank)
	if first == nil || slices.ContainsFunc(h.all, func(m *member) bool {
		_, counts := h.generation(m)
		return m.process.Rank == rank && m.knows() && m.state.there() && m.state != finished && counts
	}) {
		return false
	}
	why := "the job went back before values were compared"
	switch {
	case first.state == finished:
		why = fmt.Sprintf("the program has returned on %v", first.process)
	case !first.state.there():
		why = fmt.Sprintf("%v died before values were compared", first.process)
	}
	h.differed(first, h.known(first, why))
	return true
}

// undescribedAnywhere is undescribed for all ranks.
func (h *Head) undescribedAnywhere() (any bool) {
	for rank := range h.config.Degrees {
		any = h.undescribed(rank) || any
	}
	return any && h.phase == over
}

// knows returns the first process that knows of a difference in its rank that is not described yet.
func (h *Head) knows(rank int) *member {
	if i := slices.IndexFunc(h.all, func(m *member) bool { return m.process.Rank == rank && m.knows() }); i >= 0 && h.diverged[rank] == "" {
		return h.all[i]
	}
	return nil
}

// known returns the text about a difference of hashes, and why values were not compared.
func (h *Head) known(m *member, why string) string {
	return fmt.Sprintf("%s, since %s: %s", m.stats.Watched.Known, why, job.DivergeAdvice(h.config.Setup.Check))
}

// orDiverged returns the outcome of a job that is about to end with another error: a known difference
// is the more likely cause.
func (h *Head) orDiverged(o outcome) outcome {
	if h.config.Setup.Diverge != job.DivergeStrict || h.retired || o.code != ExitFailed && o.code != ExitLost {
		return o
	}
	for rank := range h.config.Degrees {
		if m := h.knows(rank); m != nil {
			h.diverged[rank] = h.known(m, fmt.Sprintf("the job ended before values were compared (%s)", o.text))
			return outcome{code: ExitDiverged, text: foundBy(m, h.diverged[rank])}
		}
	}
	return o
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
