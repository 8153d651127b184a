package recovery

import (
	"iter"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// backup is the state of all ranks at one consistent cut, with the processes that hold it.
type backup struct {
	number     uint64
	generation uint32     // in which it was taken
	copies     [][]holder // per rank
	// trusted: the comparison found every process sound up to this backup.
	trusted bool
}

// holder is a process that holds the state of a rank, or is about to.
type holder struct {
	process     job.Process
	incarnation uint32
	stored      bool
	source      bool // it copies the state of its own rank, so the copy needs no message
}

// holders is the number of processes that hold each copy, if the job has enough of them.
const holders = 2

// stored returns the holders that can send the state of a rank.
func (b *backup) stored(rank int) (all []holder) {
	for _, k := range b.copies[rank] {
		if k.stored {
			all = append(all, k)
		}
	}
	return all
}

// missing returns a rank whose state has no holder, -1 if every rank has one.
func (b *backup) missing() int {
	for rank, copies := range b.copies {
		if len(copies) == 0 {
			return rank
		}
	}
	return -1
}

// forget removes the holders that have not stored their copy yet. A process that has
// received the order to roll back accepts no copy from an older generation, so such a
// copy will never be stored.
func (b *backup) forget() {
	for rank := range b.copies {
		b.copies[rank] = b.stored(rank)
	}
}

// has reports whether a process is among the holders of a copy.
func (b *backup) has(rank int, s *replica) bool {
	for _, k := range b.copies[rank] {
		if k.process == s.process && k.incarnation == s.incarnation {
			return true
		}
	}
	return false
}

// backup plans a backup at the cut that is being left. It returns nil while the previous
// backup is still being stored: a process has room for two copies of a rank, and one of
// them is the copy that a rollback would need now.
func (h *Head) backup(number uint64) []job.Copy {
	if h.attempt != nil {
		return nil
	}
	b := &backup{number: number, generation: h.generation, copies: make([][]holder, len(h.config.Degrees)),
		trusted: h.entire}
	var plan []job.Copy
	for rank := range h.config.Degrees {
		source := h.source(rank)
		partner := h.partner(b, rank, source)
		if source == nil || partner == nil {
			return nil
		}
		b.copies[rank] = []holder{
			{process: source.process, incarnation: source.incarnation, source: true},
			{process: partner.process, incarnation: partner.incarnation},
		}
		plan = append(plan, job.Copy{Source: source.process, Holder: partner.process})
	}
	h.attempt = b
	return plan
}

// source returns the lowest live replica of the rank that has drained. A replica that
// joins in this very cut has not drained, and has nothing to copy yet.
func (h *Head) source(rank int) *replica {
	for _, s := range h.replicas {
		if s.process.Rank == rank && s.alive() && s.drained {
			return s
		}
	}
	return nil
}

// partner finds a process of another rank to hold a copy: on another host than the
// source if possible, and with as few copies as possible. The search begins at the next
// rank, so that neighbours hold each other's copies.
func (h *Head) partner(b *backup, rank int, source *replica) *replica {
	var best *replica
	worst := 1 << 30
	for i := 1; i < len(h.config.Degrees); i++ {
		r := (rank + i) % len(h.config.Degrees)
		for _, s := range h.replicas {
			if s.process.Rank != r || !s.alive() || b.has(rank, s) {
				continue
			}
			cost := 0
			for _, copies := range b.copies {
				for _, k := range copies {
					if k.process == s.process && !k.source {
						cost += 2
					}
				}
			}
			if source != nil && h.config.Host(s.process) == h.config.Host(source.process) {
				cost += 1000
			}
			if cost < worst {
				best, worst = s, cost
			}
		}
	}
	return best
}

// stored records that process s holds a copy. A rollback may make the head give up a
// backup and take another one with the same number; the generation tells them apart.
func (h *Head) stored(s *replica, r job.Reply) {
	for b := range h.backups() {
		if b.number != r.Number || r.Generation < b.generation || r.Rank < 0 || r.Rank >= len(b.copies) {
			continue
		}
		if b == h.attempt && r.Rank == s.process.Rank { // the copy of another rank delays no process
			h.rate.copied(b.number, time.Duration(r.Seconds*float64(time.Second)))
		}
		if !b.has(r.Rank, s) { // unplanned: a successor does not know the holders yet, or a death has removed this one
			if s.alive() {
				b.copies[r.Rank] = append(b.copies[r.Rank], holder{process: s.process, incarnation: s.incarnation, stored: true, source: r.Rank == s.process.Rank})
			}
			continue
		}
		for i := range b.copies[r.Rank] {
			if k := &b.copies[r.Rank][i]; k.process == s.process && k.incarnation == s.incarnation {
				k.stored = true
			}
		}
	}
}

// storing announces the backup once all its holders have stored it, and has copies
// renewed that only one process holds.
func (h *Head) storing() {
	if b := h.attempt; b != nil {
		h.renew(b)
		done := true
		for rank := range b.copies {
			for _, k := range b.copies[rank] {
				done = done && k.stored
			}
			done = done && (len(b.copies[rank]) >= holders || h.partner(b, rank, nil) == nil)
		}
		if done {
			h.grow()
			h.complete, h.attempt = b, nil
			h.keep(Decision{Kind: Complete, Number: b.number, Trusted: b.trusted, Older: h.generations()})
			h.tell(live, job.Order{Kind: job.OrderComplete, Number: b.number, Older: numbers(h.older)})
			h.plan()
		}
	}
	if h.complete != nil && h.heardAll() {
		h.renew(h.complete)
		for _, b := range h.older {
			h.renew(b)
		}
	}
}

// backups yields all backups, the newest first.
func (h *Head) backups() iter.Seq[*backup] {
	return func(yield func(*backup) bool) {
		for _, b := range []*backup{h.attempt, h.complete} {
			if b != nil && !yield(b) {
				return
			}
		}
		for _, b := range slices.Backward(h.older) {
			if !yield(b) {
				return
			}
		}
	}
}

// renew finds new holders in place of dead ones.
func (h *Head) renew(b *backup) {
	for rank := range b.copies {
		from := b.stored(rank)
		if len(b.copies[rank]) >= holders || len(from) == 0 {
			continue
		}
		giver := h.of[from[0].process]
		to := h.partner(b, rank, giver)
		if to == nil {
			continue
		}
		b.copies[rank] = append(b.copies[rank], holder{process: to.process, incarnation: to.incarnation})
		h.send(giver, job.Order{Kind: job.OrderRenew, Number: b.number, Rank: rank, Process: to.process})
	}
}

// backupDeath removes a dead process from the holders, and with it the receivers of the
// copies that it may have been sending. lived means that the process was live; a joiner
// holds nothing before it reports a copy.
func (h *Head) backupDeath(p job.Process, incarnation uint32, lived bool) {
	if h.returns() && (lived || h.complete.heldBy(p, incarnation)) {
		h.voidBy = job.Endpoint{Process: p, Incarnation: incarnation}
	}
	for b := range h.backups() {
		for rank, copies := range b.copies {
			died := false
			kept := copies[:0]
			for _, k := range copies {
				if k.process == p && k.incarnation == incarnation {
					died = true
					continue
				}
				kept = append(kept, k)
			}
			if died { // it may have been the sender of a copy that is not stored
				copies, kept = kept, kept[:0]
				for _, k := range copies {
					if k.stored || k.source {
						kept = append(kept, k)
					}
				}
			}
			b.copies[rank] = kept
		}
	}
	if h.attempt != nil && h.attempt.missing() >= 0 {
		h.attempt = nil
	}
}

// nowhere returns a rank whose state in the last complete backup has no holder, -1 if
// every rank has one or not all holders are known yet. The answer may change back: a
// copy that was under way when its sender died may still be stored.
func (h *Head) nowhere() int {
	if h.complete == nil || !h.heardAll() {
		return -1
	}
	return h.complete.missing()
}

// returns reports whether the job has a backup that it can roll back to.
func (h *Head) returns() bool { return h.complete != nil && h.nowhere() < 0 }

// heardAll reports whether the holders of all copies are known. After a succession they are
// known once the replies of all processes have been repeated (Repeated).
func (h *Head) heardAll() bool { return h.all(func(s *replica) bool { return !s.unheard }) }

// heldBy reports whether a process is a holder of any rank's state.
func (b *backup) heldBy(p job.Process, incarnation uint32) bool {
	return slices.ContainsFunc(b.copies, func(copies []holder) bool {
		return slices.ContainsFunc(copies, func(k holder) bool { return k.process == p && k.incarnation == incarnation })
	})
}

// held reports whether each rank has a holder that can send its state.
func (b *backup) held() bool { return b.heldBut(func(job.Process) bool { return false }) }

// heldBut is held without the processes for which gone returns true.
func (b *backup) heldBut(gone func(job.Process) bool) bool {
	for rank := range b.copies {
		if !slices.ContainsFunc(b.copies[rank], func(k holder) bool { return k.stored && !gone(k.process) }) {
			return false
		}
	}
	return true
}
