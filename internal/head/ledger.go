package head

import (
	"fmt"
	"slices"
	"strings"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// This file holds the consequences of verdicts: which ranks are left, which end of a broken
// link has to die, and how the job ends.

// alive returns the number of replicas of a rank that have their state and are not dead.
func (h *Head) alive(rank int) int {
	n := 0
	for replica := range h.config.Degrees[rank] {
		if m := h.places[job.Process{Rank: rank, Replica: replica}]; m != nil && m.alive() {
			n++
		}
	}
	return n
}

// complete reports whether every live process has finished and no replacement is expected.
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

// victim chooses which end of a broken link has to die: a joiner, since no process needs it
// yet; else the end whose rank has more live replicas, the higher end of two equals. It
// returns nil if both are the last of their ranks, since a suspicion never kills those.
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

// filling reports whether one of these ranks is about to get another replica.
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

// die records a death and ends the job if it has to. lived means that the process had its
// state.
func (h *Head) die(v decision.Verdict, lived bool) {
	if lived {
		h.last[v.Process.Rank] = v
	}
	h.conclude(v)
}

// conclude ends the job if the last replica of a rank has died and nothing replaces it. A
// rank is never lost once a replica has finished and all its messages have been received.
// In a job with replacements recovery decides instead.
func (h *Head) conclude(v decision.Verdict) {
	if h.alive(v.Process.Rank) == 0 && !h.state.Drained[v.Process.Rank] && !h.config.replaces() {
		h.lose(v, "")
	}
}

// beyond ends a job that cannot recover from a loss.
func (h *Head) beyond(loss *recovery.Loss) {
	if !loss.Back {
		h.lose(h.last[loss.Rank], "; "+loss.Error())
		return
	}
	var v decision.Verdict // on the process that held the last copy
	for _, w := range h.state.Verdicts {
		if of(w) == loss.By {
			v = h.explain(w)
		}
	}
	h.decide(exitBy(v), fmt.Sprintf("%v: %v, at %.3f s (%s: %s)", loss, v.Process, h.elapsed().Seconds(), v.Cause, firstLine(v.Detail)), of(v))
}

// exitBy returns the exit code of a job that ends because of that death.
func exitBy(v decision.Verdict) int {
	if itself(v.Cause) {
		return ExitFailed
	}
	return ExitLost
}

// lose ends the job because of the verdict on a rank's last replica. more says why the rank
// cannot be restored.
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

// decide sets the outcome of the job unless it is set already. by is the process whose end
// causes it, zero if none does.
func (h *Head) decide(code int, text string, by job.Endpoint) {
	if h.outcome == nil {
		o := h.orDiverged(outcome{code: code, text: text, by: by})
		o.text = decision.Shorten(o.text)
		h.outcome = &o
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
