package recovery

import (
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// attempts bounds how often in a row the replacement of a process may die
// before it has joined.
const attempts = 3

// Refused says that there is no process to be had for a replica, and why.
func (h *Head) Refused(p job.Process, incarnation uint32, why string, now time.Duration) []Action {
	h.begin(now)
	s := h.of[p]
	if s.status != starting || s.incarnation != incarnation || h.over {
		return nil
	}
	*s = replica{process: s.process, incarnation: s.incarnation, attempts: s.attempts, refused: why}
	return h.advance()
}

// Returned says that the process asked for a replica is not chosen yet, and that a
// rank loses its last replica now, which may need it more. It is asked for again
// once that death is concluded, after those for lost ranks. Of a replica that was
// dismissed it says that no spare was spent on it.
func (h *Head) Returned(p job.Process, incarnation uint32, now time.Duration) []Action {
	h.begin(now)
	s := h.of[p]
	if s.status > starting || s.incarnation != incarnation || h.over {
		return nil
	}
	if s.spare {
		h.spares++
	}
	back := replica{process: s.process, incarnation: s.incarnation, attempts: s.attempts, refused: s.refused}
	if s.status == starting {
		back.attempts--
	}
	*s = back
	return h.acts
}

// usable reports whether a process can still be had for a lost one.
func (h *Head) usable() bool { return h.config.Start || h.spares > 0 }

// refill gets processes for the empty replicas: at once and first for a rank that is
// lost, else when the program is known to have safe points to join at.
func (h *Head) refill() {
	lost := func(s *replica) int {
		if h.failed(s.process.Rank) {
			return 0
		}
		return 1
	}
	for _, s := range slices.SortedStableFunc(slices.Values(h.replicas), func(s, t *replica) int { return lost(s) - lost(t) }) {
		if s.status != empty || s.itself || s.attempts >= attempts || !h.usable() {
			continue
		}
		if h.failed(s.process.Rank) {
			if !h.returns() || h.coming(s.process.Rank) {
				continue
			}
		} else if h.rest || !h.reached(s.process.Rank) {
			continue
		}
		h.incarnations++
		*s = replica{process: s.process, status: starting, incarnation: h.incarnations, frames: h.incarnations, attempts: s.attempts + 1, refused: s.refused}
		s.link()
		if s.spare = h.spares > 0; s.spare {
			h.spares--
		}
		h.acts = append(h.acts, Action{Kind: Start, To: s.process, Incarnation: s.incarnation})
	}
	if h.rest && h.back.phase == none && len(h.Failed()) == 0 {
		for _, s := range h.replicas {
			if s.status == starting || s.status == arrived { // it could never join
				s.to(Finish)
				h.acts = append(h.acts, Action{Kind: Dismiss, To: s.process, Incarnation: s.incarnation})
				*s = replica{process: s.process, incarnation: s.incarnation, spare: s.spare}
			}
		}
	}
}

// link: nobody has a link to the joiner yet.
func (s *replica) link() {
	s.linked, s.links = make(map[job.Process]bool), make(map[job.Process]bool)
}

// coming reports whether a process for a rank is on its way.
func (h *Head) coming(rank int) bool {
	return slices.ContainsFunc(h.replicas, func(s *replica) bool {
		return s.process.Rank == rank && (s.status == starting || s.status == arrived)
	})
}

// reached reports whether a live replica of the rank has come to a safe point.
func (h *Head) reached(rank int) bool {
	return slices.ContainsFunc(h.replicas, func(s *replica) bool { return s.process.Rank == rank && s.alive() && s.safe })
}

// connected reports whether all links of a joiner have both their ends. The
// one without its own end would take a live process for a dead one.
func (h *Head) connected(s *replica) bool {
	for q := range h.each(arrived) {
		if q != s && !(s.linked[q.process] && s.links[q.process]) {
			return false
		}
	}
	return true
}
