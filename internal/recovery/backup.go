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
	generation uint32     // the generation in which it was taken
	copies     [][]holder // by rank
	// trusted means that the comparison found every process sound up to this backup.
	trusted bool
}

// holder is a process that holds the state of a rank, or is about to.
type holder struct {
	process     job.Process
	incarnation uint32
	stored      bool
	source      bool // it copies the state of its own rank, so no message carries the copy
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

// forget removes the holders that have not stored their copy yet. Their copies will never
// be stored: a process that has received the order to roll back accepts no copy from an
// older generation.
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

// backups records the complete backups, the one that is being stored, and the processes
// that hold their copies. A copy counts only once its holder has reported it.
type backups struct {
	*desk
	replicas *replicas
	pace     *pace

	complete *backup   // the last complete backup, to which a rollback goes
	older    []*backup // older complete backups, ascending; Distrust and Dispute may choose one of them
	attempt  *backup   // the backup that is being stored
	entire   bool      // tasks are sampled, but replicas compare all of them because no backup is complete yet
	unlike   bool      // replicas of a rank had different states in the cut of a backup
	// voidBy is the last process that died while a rollback was possible, and that may have held
	// a copy of complete.
	voidBy job.Endpoint
}

// take plans a backup at the cut that is being left. It returns nil while the previous
// backup is still being stored. A process has room for two copies of a rank, and a
// rollback would need one of them now.
func (bs *backups) take(number uint64) []job.Copy {
	if bs.attempt != nil {
		return nil
	}
	b := &backup{number: number, generation: bs.generation, copies: make([][]holder, len(bs.config.Degrees)),
		trusted: bs.entire}
	var plan []job.Copy
	for rank := range bs.config.Degrees {
		source := bs.replicas.source(rank)
		partner := bs.partner(b, rank, source)
		if source == nil || partner == nil {
			return nil
		}
		b.copies[rank] = []holder{
			{process: source.process, incarnation: source.incarnation, source: true},
			{process: partner.process, incarnation: partner.incarnation},
		}
		plan = append(plan, job.Copy{Source: source.process, Holder: partner.process})
	}
	bs.attempt = b
	return plan
}

// partner finds a process of another rank to hold a copy: on another host than the
// source if possible, and with as few copies as possible. The search begins at the next
// rank, so that neighbours hold each other's copies.
func (bs *backups) partner(b *backup, rank int, source *replica) *replica {
	var best *replica
	worst := 1 << 30
	for i := 1; i < len(bs.config.Degrees); i++ {
		r := (rank + i) % len(bs.config.Degrees)
		for _, s := range bs.replicas.slots {
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
			if source != nil && bs.config.Host(s.process) == bs.config.Host(source.process) {
				cost += 1000
			}
			if cost < worst {
				best, worst = s, cost
			}
		}
	}
	return best
}

// stored records that process s holds a copy. A rollback may abandon a backup, and the job
// may take another one with the same number. The generation distinguishes the two.
func (bs *backups) stored(s *replica, r job.Reply) {
	for b := range bs.each() {
		if b.number != r.Number || r.Generation < b.generation || r.Rank < 0 || r.Rank >= len(b.copies) {
			continue
		}
		if b == bs.attempt && r.Rank == s.process.Rank { // the cost counts only the copies by which processes delay their own rank
			bs.pace.rate.copied(b.number, time.Duration(r.Seconds*float64(time.Second)))
		}
		if !b.has(r.Rank, s) { // not planned: a successor does not know the holders yet, or a death has removed this one
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

// finished reports whether all holders of the backup that is being stored have stored it.
// That backup is then the last complete one.
func (bs *backups) finished() bool {
	b := bs.attempt
	bs.renew(b)
	for rank := range b.copies {
		if len(b.copies[rank]) < holders && bs.partner(b, rank, nil) != nil || slices.ContainsFunc(b.copies[rank], func(k holder) bool { return !k.stored }) {
			return false
		}
	}
	bs.grow()
	bs.complete, bs.attempt = b, nil
	bs.keep(Decision{Kind: Complete, Number: b.number, Trusted: b.trusted, Older: bs.generations()})
	bs.replicas.tell(live, job.Order{Kind: job.OrderComplete, Number: b.number, Older: numbers(bs.older)})
	return true
}

// each yields all backups, the newest first.
func (bs *backups) each() iter.Seq[*backup] {
	return func(yield func(*backup) bool) {
		for _, b := range []*backup{bs.attempt, bs.complete} {
			if b != nil && !yield(b) {
				return
			}
		}
		for _, b := range slices.Backward(bs.older) {
			if !yield(b) {
				return
			}
		}
	}
}

// renew orders new copies in place of those of dead holders.
func (bs *backups) renew(b *backup) {
	for rank := range b.copies {
		from := b.stored(rank)
		if len(b.copies[rank]) >= holders || len(from) == 0 {
			continue
		}
		giver := bs.replicas.of[from[0].process]
		to := bs.partner(b, rank, giver)
		if to == nil {
			continue
		}
		b.copies[rank] = append(b.copies[rank], holder{process: to.process, incarnation: to.incarnation})
		bs.replicas.send(giver, job.Order{Kind: job.OrderRenew, Number: b.number, Rank: rank, Process: to.process})
	}
}

// backupDeath removes a dead process from the holders. It also removes the receivers of
// copies that the process may have been sending. lived means that the process was live; a
// joiner holds nothing before it reports a copy.
func (bs *backups) backupDeath(p job.Process, incarnation uint32, lived bool) {
	if bs.returns() && (lived || bs.complete.heldBy(p, incarnation)) {
		bs.voidBy = job.Endpoint{Process: p, Incarnation: incarnation}
	}
	for b := range bs.each() {
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
			if died { // the process may have been sending a copy that is not stored yet
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
	if bs.attempt != nil && bs.attempt.missing() >= 0 {
		bs.attempt = nil
	}
}

// nowhere returns a rank whose state in the last complete backup has no holder, -1 if
// every rank has one or not all holders are known yet. The result may become -1 again: a
// copy that was in flight when its sender died may still be stored.
func (bs *backups) nowhere() int {
	if bs.complete == nil || !bs.replicas.allRepeated() {
		return -1
	}
	return bs.complete.missing()
}

// returns reports whether the job has a backup that it can roll back to.
func (bs *backups) returns() bool { return bs.complete != nil && bs.nowhere() < 0 }

// heldBy reports whether a process is a holder of any rank's state.
func (b *backup) heldBy(p job.Process, incarnation uint32) bool {
	return slices.ContainsFunc(b.copies, func(copies []holder) bool {
		return slices.ContainsFunc(copies, func(k holder) bool { return k.process == p && k.incarnation == incarnation })
	})
}

// held reports whether each rank has a holder that can send its state.
func (b *backup) held() bool { return b.heldBut(func(job.Process) bool { return false }) }

// heldBut is held, not counting the processes for which gone returns true.
func (b *backup) heldBut(gone func(job.Process) bool) bool {
	for rank := range b.copies {
		if !slices.ContainsFunc(b.copies[rank], func(k holder) bool { return k.stored && !gone(k.process) }) {
			return false
		}
	}
	return true
}

// giver returns the process that sends s its state: s itself if it holds a copy, else a
// holder.
func (bs *backups) giver(s *replica) job.Process {
	all := bs.complete.stored(s.process.Rank)
	for _, k := range all {
		if k.process == s.process && k.incarnation == s.incarnation {
			return s.process
		}
	}
	return all[0].process
}

// Returns reports whether the job would survive the death of process p, the last one of
// its rank, by rolling back to a backup that does not need p.
func (bs *backups) Returns(p job.Process) bool {
	return bs.ReturnsWithout(func(q job.Process) bool { return q == p })
}

// ReturnsWithout is Returns for the deaths of all processes for which gone returns true.
// They include all replicas of a rank.
func (bs *backups) ReturnsWithout(gone func(job.Process) bool) bool {
	return !bs.over && bs.returns() && bs.replicas.usable() && bs.complete.heldBut(gone)
}

// withoutHolders returns a complete backup without holders. The replies that agents repeat to a
// successor add the holders.
func (bs *backups) withoutHolders(g Generation, taken uint32) *backup {
	return &backup{number: g.Number, trusted: g.Trusted, generation: taken, copies: make([][]holder, len(bs.config.Degrees))}
}
