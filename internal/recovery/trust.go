package recovery

import (
	"slices"

	"github.com/intrahpc/intra/internal/job"
)

// Where replicas compare only a share of the tasks, a process that is blamed for a wrong
// result may have produced others before. No comparison has found those results, and all
// replicas of its rank have applied them. So the job rolls back to a backup from before
// the first fault. The time of the first fault is not known. But a process that errs in at
// least one of a thousand tasks is almost certainly found within a certain number of
// comparisons (verify.Horizon). A backup from before those comparisons is trusted. The
// very first backup is trusted too, since replicas compare all tasks before it.

// generations returns the older backups that are kept.
func (bs *backups) generations() (all []Generation) {
	for _, b := range bs.older {
		all = append(all, Generation{Number: b.number, Trusted: b.trusted})
	}
	return all
}

func numbers(all []*backup) (n []uint64) {
	for _, b := range all {
		n = append(n, b.number)
	}
	return n
}

// grow moves the complete backup to the older ones, before a new one takes its place. Of the older
// backups it keeps the newest trusted one, and the backup after it, which will be trusted next. If
// none is trusted, it keeps the oldest.
func (bs *backups) grow() {
	if !bs.config.Suspect || bs.complete == nil {
		return
	}
	sure := bs.replicas.sure()
	all := append(bs.older, bs.complete)
	if bs.replicas.allRepeated() {
		all = slices.DeleteFunc(all, func(b *backup) bool { return b.missing() >= 0 })
	}
	n := 1
	for i, b := range slices.Backward(all) {
		if b.trusted = b.trusted || b.number <= sure; b.trusted {
			all, n = all[i:], 2
			break
		}
	}
	bs.older = slices.Clone(all[:min(n, len(all))])
}

// Trusted returns the safe point of the newest trusted backup. The comparison found every
// process sound up to the safe point sure. ok is false if no backup is trusted.
func (bs *backups) Trusted(sure uint64) (number uint64, ok bool) {
	if b := bs.trusted(sure); b != nil {
		return b.number, true
	}
	return 0, false
}

func (bs *backups) trusted(sure uint64) *backup {
	return bs.newest(func(b *backup) bool { return b.trusted || b.number <= sure })
}

// newest returns the newest complete backup for which fits returns true and of which no
// copy is known to be lost, nil if there is none.
func (bs *backups) newest(fits func(*backup) bool) *backup {
	if bs.complete == nil || bs.over {
		return nil
	}
	for b := range bs.each() {
		if b != bs.attempt && fits(b) && (b.missing() < 0 || !bs.replicas.allRepeated()) {
			return b
		}
	}
	return nil
}

// goTo makes b the backup that a rollback goes to. Younger backups are void.
func (bs *backups) goTo(b *backup) {
	if b != bs.complete {
		bs.older = bs.older[:slices.Index(bs.older, b)]
		bs.complete = b
	}
}

// Repairable reports whether the job can roll back to a sound backup: one from before the
// first error. If below is not 0, the backup has to be from before that safe point.
func (bs *backups) Repairable(below uint64) bool { return bs.sound(below) != nil }

// RepairableWithout is Repairable if the processes for which gone returns true die now.
// They include all replicas of a rank.
func (bs *backups) RepairableWithout(below uint64, gone func(job.Process) bool) bool {
	b := bs.sound(below)
	return b != nil && bs.replicas.usable() && b.heldBut(gone)
}

// Storing reports whether the job will be Repairable once the backup that is being stored
// is complete.
func (bs *backups) Storing(below uint64) bool {
	return bs.attempt != nil && !bs.over && !bs.unlike && bs.isSound(bs.attempt, below, bs.replicas.sure())
}

// sound returns the newest sound backup from before the safe point below, nil if there is
// none. Once replicas of a rank have differed where a backup was taken, none is sound.
func (bs *backups) sound(below uint64) *backup {
	if bs.unlike {
		return nil
	}
	sure := bs.replicas.sure()
	return bs.newest(func(b *backup) bool { return bs.isSound(b, below, sure) })
}

// isSound reports whether a backup is sound. If below is not 0, the backup has to be from
// before that safe point. If replicas compare only some tasks (Suspect), it must also be
// trusted, or from no later than sure. Up to the safe point sure, the comparison has found
// every process sound.
func (bs *backups) isSound(b *backup, below, sure uint64) bool {
	return (below == 0 || b.number < below) && (!bs.config.Suspect || b.trusted || b.number <= sure)
}

// Before reports whether a rollback would go to a backup from before the safe point below.
func (bs *backups) Before(below uint64) bool { return bs.complete != nil && bs.complete.number < below }
