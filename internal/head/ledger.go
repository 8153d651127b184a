package head

import (
	"fmt"
	"slices"
	"strings"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// This file holds what follows from the verdicts: which ranks are left, who may
// go, and how the job ends.

// alive counts the replicas of a rank that have their state and are not dead.
func (h *Head) alive(rank int) int {
	n := 0
	for replica := range h.config.Degrees[rank] {
		if m := h.places[job.Process{Rank: rank, Replica: replica}]; m != nil && m.alive() {
			n++
		}
	}
	return n
}

// complete reports whether every process that lives has finished, and nobody is
// to come.
func (h *Head) complete() bool {
	if len(h.wanted) > 0 {
		return false
	}
	for _, m := range h.places {
		switch {
		case m.coming():
			return false
		case m.alive() && h.state.Places[m.process].Status != decision.Done:
			return false
		}
	}
	return true
}

// victim chooses which end of a broken link has to go: the one whose rank has
// more live replicas, the higher one of two equals. One that nobody needs yet
// goes in any case. It returns nil if both are the last of their ranks, which
// suspicion never kills.
func (h *Head) victim(p, q *member) *member {
	if p.process.Compare(q.process) > 0 {
		p, q = q, p
	}
	if p.coming() {
		return p
	}
	if q.coming() {
		return q
	}
	a, b := h.alive(p.process.Rank), h.alive(q.process.Rank)
	switch {
	case a <= 1 && b <= 1:
		return nil
	case a > b:
		return p
	}
	return q
}

// filling reports whether one of these ranks is to get another replica.
func (h *Head) filling(ranks ...int) bool {
	for p := range h.wanted {
		if slices.Contains(ranks, p.Rank) {
			return true
		}
	}
	for p, m := range h.places {
		if m.coming() && slices.Contains(ranks, p.Rank) {
			return true
		}
	}
	return false
}

// die draws the conclusion from a death. A rank is never lost, even if all its
// replicas die, once one of them has finished and all that it sent has been
// received; and whether one is lost is said by recovery if it can bring ranks
// back.
func (h *Head) die(v decision.Verdict, lived bool) {
	if lived {
		h.last[v.Process.Rank] = v
	}
	h.conclude(v)
}

// conclude ends the job if the death was that of the last replica of a rank that is
// needed, and nothing brings that back.
func (h *Head) conclude(v decision.Verdict) {
	if h.alive(v.Process.Rank) == 0 && !h.state.Drained[v.Process.Rank] && !h.config.replaces() {
		h.lose(v, "")
	}
}

// beyond decides a job that cannot be brought back from a loss.
func (h *Head) beyond(loss *recovery.Loss) {
	if !loss.Back {
		h.lose(h.last[loss.Rank], "; "+loss.Error())
		return
	}
	var v decision.Verdict // on the process that took the last copy along
	for _, w := range h.state.Verdicts {
		if of(w) == loss.By {
			v = h.explain(w)
		}
	}
	h.decide(exitBy(v), fmt.Sprintf("%v: %v, at %.3f s (%s: %s)", loss, v.Process, h.elapsed().Seconds(), v.Cause, firstLine(v.Detail)), of(v))
}

// exitBy is the exit code of a job that ends with that death.
func exitBy(v decision.Verdict) int {
	if itself(v.Cause) {
		return ExitFailed
	}
	return ExitLost
}

// lose decides the job by the verdict on a rank's last replica. more says why
// nothing brings it back.
func (h *Head) lose(v decision.Verdict, more string) {
	rank, code := v.Process.Rank, exitBy(v)
	var others []string
	for _, w := range h.state.Verdicts {
		if w.Process.Rank == rank && w.Process != v.Process && !w.Withdrawn {
			others = append(others, fmt.Sprintf("%v (%s)", w.Process, w.Cause))
		}
	}
	text := fmt.Sprintf("rank %d has lost its last replica %v at %.3f s (%s: %s)", rank, v.Process, h.elapsed().Seconds(), v.Cause, firstLine(v.Detail))
	if len(others) > 0 {
		text += ", after " + strings.Join(others, ", ")
	}
	switch {
	case strings.HasPrefix(v.Detail, outOfMemory):
		text += "; more replicas would need more memory still: give the job more of it, or more hosts (-hosts)"
	case code == ExitLost:
		text += fmt.Sprintf("; %d replicas of rank %d would have saved it (-r %[1]d or -degrees)", h.config.Degrees[rank]+1, rank)
	}
	h.decide(code, text+more, of(v))
}

// of returns the process that a verdict is on.
func of(v decision.Verdict) job.Endpoint {
	return job.Endpoint{Process: v.Process, Incarnation: v.Incarnation}
}

// decide ends the job unless something has ended it before; by is the process
// whose end does it, zero if something else does.
func (h *Head) decide(code int, text string, by job.Endpoint) {
	if h.outcome == nil {
		h.outcome = &outcome{code: code, text: decision.Shorten(text), by: by}
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
