package recovery

import (
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// attempts bounds how many replacements of a process in a row may die before they have
// joined.
const attempts = 3

// These are the pauses between requests for a process, after a request has failed.
const (
	firstPause   = 100 * time.Millisecond // doubles with each failed request
	longestPause = time.Minute
	// startsOfLost bounds the requests in a row for a lost rank, because all other ranks
	// wait for it. The pauses sum to 13 seconds.
	startsOfLost = 8
)

// Refused reports that no process could be started for a replica, and why. Another request
// follows after a pause, because the cause may pass: the host may have lacked descriptors,
// memory or process IDs for a moment. hopeless means that no host has room; a lost rank
// does not wait then.
func (h *Head) Refused(p job.Process, incarnation uint32, why string, hopeless bool, now time.Duration) []Action {
	h.begin(now)
	if h.relieverDied(p, incarnation) {
		return h.advance()
	}
	s := h.replicas.of[p]
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

// Room reports that there is more room for processes: requests that were refused are made
// again at once.
func (h *Head) Room(now time.Duration) []Action {
	h.begin(now)
	for _, s := range h.replicas.slots {
		s.tries, s.after, s.hopeless = 0, 0, false
	}
	return h.advance()
}

// Returned withdraws the request for a process that has not been chosen yet. The driver
// calls it when a rank loses its last replica and may need the process more. The head
// requests it again when it concludes that death, after the requests for lost ranks. For a
// replica that was dismissed, Returned records that it has used no spare.
func (h *Head) Returned(p job.Process, incarnation uint32, now time.Duration) []Action {
	h.begin(now)
	s := h.replicas.of[p]
	if s.status > starting || s.incarnation != incarnation || h.over {
		return nil
	}
	if s.spare {
		h.replicas.spares++
	}
	back := replica{process: s.process, incarnation: s.incarnation, attempts: s.attempts, refused: s.refused, tries: s.tries}
	if s.status == starting {
		back.attempts--
	}
	*s = back
	return h.acts
}

// refill requests processes for empty slots of ranks that have fewer replicas than their
// targets. Lost ranks come first and at once, then those with the fewest live replicas. Other
// ranks wait until the program has reached a safe point, since replacements join at one.
func (h *Head) refill() {
	alive := make(map[int]int) // 0: the rank is lost
	for rank := range h.config.Degrees {
		if alive[rank] = h.replicas.alive(rank); !h.replicas.failed(rank) {
			alive[rank] = max(alive[rank], 1)
		}
	}
	order := func(s, t *replica) int {
		a, b := s.process.Rank, t.process.Rank
		if alive[a] != alive[b] || a == b || h.config.Needier == nil {
			return alive[a] - alive[b]
		}
		return h.config.Needier(a, b)
	}
	for _, s := range slices.SortedStableFunc(slices.Values(h.replicas.slots), order) {
		if s.status != empty || !h.replicas.mayHave(s) || h.replicas.taken(s.process.Rank) >= h.replicas.targets[s.process.Rank] {
			continue
		}
		if h.replicas.failed(s.process.Rank) {
			if !h.backups.returns() || h.replicas.coming(s.process.Rank) {
				continue
			}
		} else if h.rest || !h.replicas.reached(s.process.Rank) {
			continue
		}
		h.incarnations++
		*s = replica{process: s.process, status: starting, incarnation: h.incarnations, frames: h.incarnations, attempts: s.attempts + 1, refused: s.refused, tries: s.tries}
		s.link()
		if s.spare = h.replicas.spares > 0; s.spare {
			h.replicas.spares--
		}
		h.acts = append(h.acts, Action{Kind: Start, To: s.process, Incarnation: s.incarnation})
	}
	if h.rest && h.back.phase == none && len(h.replicas.Failed()) == 0 {
		for _, s := range h.replicas.slots {
			if s.status == starting || s.status == arrived { // the process could never join
				h.dismiss(s)
			}
		}
	}
}
