package recovery

import (
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// attempts bounds the replacements of a process in a row that may die before they have
// joined.
const attempts = 3

// Pauses between requests for a process after one has failed.
const (
	firstPause   = 100 * time.Millisecond // doubles with each request
	longestPause = time.Minute
	// startsOfLost bounds the requests in a row for a lost rank, since all other ranks
	// wait for it: the pauses sum to 13 seconds.
	startsOfLost = 8
)

// Refused reports that no host has room for the process of a replica, and why. For a lost
// rank another request would fail too.
func (h *Head) Refused(p job.Process, incarnation uint32, why string, now time.Duration) []Action {
	return h.refused(p, incarnation, why, true, now)
}

// Unstarted reports that the process for a replica could not be started, and why. The
// host may have been out of descriptors, memory or process IDs for a moment.
func (h *Head) Unstarted(p job.Process, incarnation uint32, why string, now time.Duration) []Action {
	return h.refused(p, incarnation, why, false, now)
}

// refused schedules another request after a pause, unless that is hopeless and the rank
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

// Again reports the end of the pause of an action Later.
func (h *Head) Again(now time.Duration) []Action {
	h.begin(now)
	return h.advance()
}

// mayHave reports whether a process may be requested at once.
func (h *Head) mayHave(s *replica) bool {
	if s.itself || s.attempts >= attempts || !h.usable() {
		return false
	}
	return h.spares > 0 || h.now >= s.after && !(s.hopeless && h.failed(s.process.Rank))
}

// pausing reports whether a process for a lost rank will be requested again after a pause.
func (h *Head) pausing(rank int) bool {
	return slices.ContainsFunc(h.replicas, func(s *replica) bool {
		return s.process.Rank == rank && s.status == empty && h.now < s.after && !s.hopeless && !s.itself && s.attempts < attempts && h.usable()
	})
}

// Returned withdraws the request for a process that has not been chosen yet, because a
// rank loses its last replica now and may need the process more. The head requests it
// again when that death is concluded, after the requests for lost ranks. For a replica
// that was dismissed, Returned reports that it has used no spare.
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

// usable reports whether lost processes can still be replaced.
func (h *Head) usable() bool { return h.config.Start || h.spares > 0 }

// refill requests processes for the empty slots. Lost ranks come first and at once. Other
// ranks wait until the program has reached a safe point, since replacements join at one.
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
			if s.status == starting || s.status == arrived { // the process could never join
				s.to(Finish)
				h.acts = append(h.acts, Action{Kind: Dismiss, To: s.process, Incarnation: s.incarnation})
				*s = replica{process: s.process, incarnation: s.incarnation, spare: s.spare}
			}
		}
	}
}

// link resets the links of a joiner: it has none yet.
func (s *replica) link() {
	s.linked, s.links = make(map[job.Process]bool), make(map[job.Process]bool)
}

// coming reports whether a process for the rank was requested and is not live yet.
func (h *Head) coming(rank int) bool {
	return slices.ContainsFunc(h.replicas, func(s *replica) bool {
		return s.process.Rank == rank && (s.status == starting || s.status == arrived)
	})
}

// reached reports whether a live replica of the rank has come to a safe point.
func (h *Head) reached(rank int) bool {
	return slices.ContainsFunc(h.replicas, func(s *replica) bool { return s.process.Rank == rank && s.alive() && s.safe })
}

// connected reports whether all links of a joiner have both their ends. A process without
// its own end would take a live peer for a dead one.
func (h *Head) connected(s *replica) bool {
	for q := range h.each(arrived) {
		if q != s && !(s.linked[q.process] && s.links[q.process]) {
			return false
		}
	}
	return true
}
