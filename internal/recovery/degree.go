package recovery

import (
	"cmp"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// A rank has as many replicas as its target says, if there is room: at most one for each of its
// slots. More replicas join like replacements. If there are too many replicas, those that have no
// state yet are dismissed. Live ones leave in a cut, where no message of theirs is in flight. The
// last replica of a rank never leaves. A process is dead once the decision that it leaves in the
// cut is kept, and it does not continue after the cut.

// Degree sets how many replicas a rank has from now on, if there is room.
func (h *Head) Degree(rank, n int, now time.Duration) []Action {
	h.begin(now)
	h.replicas.targets[rank] = n
	for _, s := range h.replicas.slots {
		if s.process.Rank == rank {
			s.tries, s.after, s.hopeless = 0, 0, false
		}
	}
	return h.advance()
}

// targetsOf returns the target of each rank.
func (c Config) targetsOf() []int {
	if c.Targets == nil {
		return slices.Clone(c.Degrees)
	}
	return slices.Clone(c.Targets)
}

// trim dismisses joiners of ranks that have too many replicas, the highest first. During a
// rollback all joiners become live.
func (h *Head) trim() {
	if h.back.phase != none {
		return
	}
	for _, s := range slices.Backward(h.replicas.slots) {
		if (s.status == starting || s.status == arrived) && h.replicas.taken(s.process.Rank) > h.replicas.targets[s.process.Rank] {
			h.dismiss(s)
		}
	}
}

// dismiss ends a joiner that is no longer needed.
func (h *Head) dismiss(s *replica) {
	s.to(Finish)
	h.acts = append(h.acts, Action{Kind: Dismiss, To: s.process, Incarnation: s.incarnation})
	*s = replica{process: s.process, incarnation: s.incarnation, spare: s.spare}
}

// departing returns the processes that leave in the next cut, because their ranks have too
// many replicas. A process stays for now if another one relieves it, if it writes a file, or
// if it holds a copy of the last backup that no process that stays holds.
func (h *Head) departing() (all []*replica) {
	for rank := range h.config.Degrees {
		n := h.replicas.surplus(rank)
		var may []*replica
		for _, s := range h.replicas.slots {
			switch {
			case s.process.Rank != rank || !s.alive():
			case h.config.Dying != nil && h.config.Dying(s.process):
				n--
			case s.status == live && h.replicas.relief(s.process, 0) == nil:
				may = append(may, s)
			}
		}
		if n <= 0 {
			continue
		}
		slices.SortStableFunc(may, h.leavesBefore)
		for _, s := range may[:min(n, len(may))] {
			gone := func(p job.Process) bool {
				return p == s.process || slices.ContainsFunc(all, func(q *replica) bool { return q.process == p })
			}
			if !h.sets.writing(s) && !(h.backups.returns() && !h.backups.complete.heldBut(gone)) {
				all = append(all, s)
			}
		}
	}
	return all
}

// leavesBefore orders replicas of a rank by which of them leaves first.
func (h *Head) leavesBefore(s, q *replica) int {
	if by := h.config.Leaver; by != nil {
		if c := by(s.process, q.process); c != 0 {
			return c
		}
	}
	return cmp.Compare(q.process.Replica, s.process.Replica)
}

// depart removes a process that has left its rank.
func (h *Head) depart(e job.Endpoint) {
	s := h.replicas.of[e.Process]
	h.backups.backupDeath(s.process, s.incarnation, true)
	h.sets.writerDeath(s.process, s.incarnation)
	*s = replica{process: s.process, incarnation: s.incarnation}
}

// Departed records that a process leaves its rank in a cut, and reports whether it does: it
// stays if it relieves or was relieved meanwhile, or is the last replica of its rank. others are
// the other slots of the rank. The driver calls Departed for each process of the decision
// Admitted, before Apply.
func (p *Snapshot) Departed(e job.Endpoint, others []job.Process) bool {
	at := p.place(e.Process)
	if at.Incarnation != e.Incarnation || !at.alive() || p.Reliefs[e.Process] != 0 ||
		!slices.ContainsFunc(others, func(q job.Process) bool { o := p.place(q); return o.alive() }) {
		return false
	}
	p.put(e.Process, Place{Incarnation: e.Incarnation, Status: Gone})
	if p.Set > 0 && e.Process.Rank < len(p.Savers) && p.Savers[e.Process.Rank] == e.Process.Replica {
		p.Torn = &e.Process
	}
	return true
}

// Reached reports whether a live replica of the rank has reached a safe point.
func (h *Head) Reached(rank int) bool { return h.replicas.reached(rank) }

// Rests reports whether no cut is possible any more, because a rank has finished.
func (h *Head) Rests() bool { return h.rest || h.over }
