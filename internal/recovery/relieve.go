package recovery

import (
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// A process that is to leave is relieved: a joiner takes its state while it computes, and
// is admitted in a cut under the same rank.replica. The decision to admit the joiner makes
// the leaving process dead, so that process never leaves the cut. Until the decision is
// kept, the leaving process stays, even if the joiner dies. If the leaving process dies
// first, the joiner replaces it like any other dead process.

// Leave orders a live process to leave its slot: another process relieves it at a cut.
func (h *Head) Leave(p job.Process, incarnation uint32, now time.Duration) []Action {
	h.begin(now)
	s := h.replicas.of[p]
	if !s.alive() || s.incarnation != incarnation || h.over {
		return nil
	}
	s.leaves = true
	return h.advance()
}

// Relieves reports whether a process that leaves can probably be relieved at a cut: its
// rank has reached a safe point, no rank has finished, and another process is available.
func (h *Head) Relieves(p job.Process) bool {
	return !h.over && !h.rest && h.replicas.usable() && h.replicas.reached(p.Rank)
}

// relieve requests the joiners that relieve processes. It requests none during a rollback,
// or while a rank is lost, because that rank may need the same slot of a host.
func (h *Head) relieve() {
	if h.rest && h.back.phase == none {
		h.dismissReliefs() // no more cuts are possible
		return
	}
	if h.over || h.rest || h.back.phase != none || len(h.replicas.Failed()) > 0 {
		return
	}
	for _, s := range h.replicas.slots {
		if !s.leaves || s.status != live || h.now < s.after || !h.replicas.usable() || !h.replicas.reached(s.process.Rank) ||
			h.replicas.relief(s.process, 0) != nil || h.replicas.surplus(s.process.Rank) > 0 {
			continue
		}
		h.incarnations++
		r := &replica{process: s.process, status: starting, relieves: true, incarnation: h.incarnations, frames: h.incarnations}
		r.link()
		if r.spare = h.replicas.spares > 0; r.spare {
			h.replicas.spares--
		}
		h.reliefs = append(h.reliefs, r)
		h.acts = append(h.acts, Action{Kind: Relieve, To: r.process, Incarnation: r.incarnation})
	}
}

// relieverDied removes a joiner that has died, or could not be started, before it relieved
// a process. The process that was to leave continues, and relieve requests the next joiner
// after a pause.
func (h *Head) relieverDied(p job.Process, incarnation uint32) bool {
	r := h.replicas.relief(p, incarnation)
	if r == nil || h.over {
		return false
	}
	h.reliefs = slices.DeleteFunc(h.reliefs, func(q *replica) bool { return q == r })
	s := h.replicas.of[p]
	s.tries++
	pause := min(firstPause<<min(s.tries-1, 16), longestPause)
	s.after = h.now + pause
	h.acts = append(h.acts, Action{Kind: Later, Pause: pause})
	return true
}

// relieved puts the joiner that was to relieve s into its slot, because the process in the
// slot has died.
func (h *Head) relieved(s *replica) {
	r := h.replicas.relief(s.process, 0)
	if r == nil {
		return
	}
	h.reliefs = slices.DeleteFunc(h.reliefs, func(q *replica) bool { return q == r })
	attempts := s.attempts + 1
	*s = *r
	s.relieves, s.attempts = false, attempts
}

// dismissReliefs ends all joiners that relieve processes.
func (h *Head) dismissReliefs() {
	for _, r := range h.reliefs {
		h.acts = append(h.acts, Action{Kind: Dismiss, To: r.process, Incarnation: r.incarnation})
	}
	h.reliefs = nil
}

// writes reports whether s relieves a process that is still writing its file of a set.
func (h *Head) writes(s *replica) bool {
	return s.relieves && h.sets.writing(h.replicas.of[s.process])
}

// Admitted continues the cut once the decision to admit joiners is kept, if some of them relieve
// processes, or if processes leave their ranks. void lists the joiners that had died before, and
// the processes that stay in their ranks after all. A process that a void joiner was to relieve
// continues. The driver calls Admitted before it passes on any other event.
func (h *Head) Admitted(void []job.Endpoint, now time.Duration) []Action {
	h.begin(now)
	if h.cut.phase != deciding || h.over {
		return nil
	}
	var joined []Joined
	for _, j := range h.cut.joined {
		if slices.Contains(void, job.Endpoint{Process: j.Process, Incarnation: j.Incarnation}) {
			continue
		}
		if joined = append(joined, j); j.Relieves {
			h.handOver(j)
		}
	}
	for _, e := range h.cut.departed {
		if !slices.Contains(void, e) {
			h.depart(e)
		}
	}
	h.hurryBackup()
	if len(joined) == 0 {
		h.leave()
		return h.acts
	}
	h.admitted(joined)
	return h.acts
}

// handOver gives a slot to the joiner that relieves its process.
func (h *Head) handOver(j Joined) {
	s, r := h.replicas.of[j.Process], h.replicas.relief(j.Process, j.Incarnation)
	h.backups.backupDeath(s.process, s.incarnation, true)
	h.sets.writerDeath(s.process, s.incarnation)
	h.reliefs = slices.DeleteFunc(h.reliefs, func(q *replica) bool { return q == r })
	*s = *r
	s.relieves = false
}

// hurryBackup plans the next backup for the next safe point if copies of the last one were lost
// with a process.
func (h *Head) hurryBackup() {
	if b := h.backups.complete; b != nil && b.missing() >= 0 && h.backupAt > 0 {
		h.backupAt = min(h.backupAt, h.config.compared(h.cut.number+1))
	}
}

// resumeReliefs continues with the joiners that the lost head had requested to relieve
// processes.
func (h *Head) resumeReliefs(p *Snapshot) {
	for _, s := range h.replicas.slots {
		switch incarnation := p.Reliefs[s.process]; {
		case incarnation == 0:
		case incarnation < p.Frames: // the rollback had dismissed it
			h.acts = append(h.acts, Action{Kind: Dismiss, To: s.process, Incarnation: incarnation})
		default:
			r := &replica{process: s.process, status: starting, relieves: true, incarnation: incarnation, frames: incarnation}
			r.link()
			h.reliefs = append(h.reliefs, r)
		}
	}
}

// Relief records that a process is started in addition to a live one, to relieve it. It
// reports whether the process in the slot still lives.
func (p *Snapshot) Relief(q job.Process, incarnation uint32) bool {
	p.Incarnations = max(p.Incarnations, incarnation)
	if at := p.place(q); !at.alive() {
		return false
	}
	if p.Reliefs == nil {
		p.Reliefs = make(map[job.Process]uint32)
	}
	p.Reliefs[q] = incarnation
	return true
}

// take gives the slots of live processes to the joiners that relieve them, except to
// joiners that have died. If the process in a slot has died meanwhile, its joiner has the
// slot already.
func (p *Snapshot) take(joined []Joined) {
	for _, j := range joined {
		if j.Relieves && p.Reliefs[j.Process] == j.Incarnation {
			delete(p.Reliefs, j.Process)
			if p.Set > 0 && j.Process.Rank < len(p.Savers) && p.Savers[j.Process.Rank] == j.Process.Replica {
				p.Torn = &j.Process
			}
			p.put(j.Process, Place{Incarnation: j.Incarnation, Status: Joining})
		}
	}
}

// effective returns the joiners except those that died before they could relieve a
// process.
func (p *Snapshot) effective(joined []Joined) (all []Joined) {
	for _, j := range joined {
		if !j.Relieves || p.place(j.Process).Incarnation == j.Incarnation {
			all = append(all, j)
		}
	}
	return all
}
