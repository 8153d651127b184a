package recovery

import (
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// attempts bounds how often in a row the replacement of a process may die
// before it has joined.
const attempts = 3

// Pauses between tries to get a process that cannot be had.
const (
	firstPause   = 100 * time.Millisecond // doubles with each try
	longestPause = time.Minute
	// startsOfLost bounds how often in a row that is tried for a lost rank, for which all
	// other ranks wait: 13 seconds.
	startsOfLost = 8
)

// Refused says that there is no place for the process of a replica, and why. For a lost
// rank another try would change nothing.
func (h *Head) Refused(p job.Process, incarnation uint32, why string, now time.Duration) []Action {
	return h.refused(p, incarnation, why, true, now)
}

// Unstarted says that the process for a replica could not be started, and why: its host
// may have had no descriptor, memory or process number left just then.
func (h *Head) Unstarted(p job.Process, incarnation uint32, why string, now time.Duration) []Action {
	return h.refused(p, incarnation, why, false, now)
}

// refused has a process asked for again after a pause, unless that is hopeless and the rank
// is lost.
func (h *Head) refused(p job.Process, incarnation uint32, why string, hopeless bool, now time.Duration) []Action {
	h.begin(now)
	s := h.of[p]
	if s.status != starting || s.incarnation != incarnation || h.over {
		return nil
	}
	*s = replica{process: s.process, incarnation: s.incarnation, attempts: s.attempts - 1, refused: why, tries: s.tries + 1}
	pause := min(firstPause<<min(s.tries-1, 16), longestPause)
	s.after = h.now + pause
	s.hopeless = hopeless || s.tries >= startsOfLost
	h.acts = append(h.acts, Action{Kind: Later, Pause: pause})
	return h.advance()
}

// Again says that a pause is over, which an action Later has asked for.
func (h *Head) Again(now time.Duration) []Action {
	h.begin(now)
	return h.advance()
}

// mayHave reports whether a process may be asked for at once.
func (h *Head) mayHave(s *replica) bool {
	if s.itself || s.attempts >= attempts || !h.usable() {
		return false
	}
	return h.spares > 0 || h.now >= s.after && !(s.hopeless && h.failed(s.process.Rank))
}

// pausing reports whether a process for a lost rank will be asked for again.
func (h *Head) pausing(rank int) bool {
	return slices.ContainsFunc(h.replicas, func(s *replica) bool {
		return s.process.Rank == rank && s.status == empty && h.now < s.after && !s.hopeless && !s.itself && s.attempts < attempts && h.usable()
	})
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
	back := replica{process: s.process, incarnation: s.incarnation, attempts: s.attempts, refused: s.refused, tries: s.tries}
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
		if s.status != empty || !h.mayHave(s) {
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
		*s = replica{process: s.process, status: starting, incarnation: h.incarnations, frames: h.incarnations, attempts: s.attempts + 1, refused: s.refused, tries: s.tries}
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
