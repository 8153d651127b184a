package recovery

import (
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// attempts bounds how often in a row the replacement of a process may die
// before it has joined.
const attempts = 3

// Refused says that there is no process to be had for a seat, and why.
func (h *Head) Refused(p job.Process, birth uint32, why string, now time.Duration) []Action {
	h.begin(now)
	s := h.of[p]
	if s.standing != starting || s.birth != birth || h.over {
		return nil
	}
	*s = seat{process: s.process, birth: s.birth, attempts: s.attempts, refused: why}
	return h.advance()
}

// usable reports whether a process can still be had for a lost one.
func (h *Head) usable() bool { return h.config.Start || h.spares > 0 }

// refill gets processes for the empty seats: at once for a rank that is lost,
// else when the program is known to have safe points to join at.
func (h *Head) refill() {
	for _, s := range h.seats {
		if s.standing != empty || s.itself || s.attempts >= attempts || !h.usable() {
			continue
		}
		if h.failed(s.process.Rank) {
			if !h.returns() || h.coming(s.process.Rank) {
				continue
			}
		} else if h.rest || !h.reached(s.process.Rank) {
			continue
		}
		h.births++
		*s = seat{process: s.process, standing: starting, birth: h.births, life: h.births, attempts: s.attempts + 1, refused: s.refused}
		s.link()
		if h.spares > 0 {
			h.spares--
		}
		h.acts = append(h.acts, Action{Kind: Start, To: s.process, Birth: s.birth})
	}
	if h.rest && h.back.phase == none && len(h.Failed()) == 0 {
		for _, s := range h.seats {
			if s.standing == starting || s.standing == arrived { // it could never join
				s.to(Finish)
				h.acts = append(h.acts, Action{Kind: Dismiss, To: s.process, Birth: s.birth})
				*s = seat{process: s.process, birth: s.birth}
			}
		}
	}
}

// link: nobody has a link to the newcomer yet.
func (s *seat) link() {
	s.linked, s.links = make(map[job.Process]bool), make(map[job.Process]bool)
}

// coming reports whether a process for a rank is on its way.
func (h *Head) coming(rank int) bool {
	return slices.ContainsFunc(h.seats, func(s *seat) bool {
		return s.process.Rank == rank && (s.standing == starting || s.standing == arrived)
	})
}

// reached reports whether a live replica of the rank has come to a safe point.
func (h *Head) reached(rank int) bool {
	return slices.ContainsFunc(h.seats, func(s *seat) bool { return s.process.Rank == rank && s.alive() && s.safe })
}

// connected reports whether all links of a newcomer have both their ends. The
// one without its own end would take a live process for a dead one.
func (h *Head) connected(s *seat) bool {
	for q := range h.each(arrived) {
		if q != s && !(s.linked[q.process] && s.links[q.process]) {
			return false
		}
	}
	return true
}
