package recovery

import (
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// Where replicas compare only a share of the tasks, a process that is blamed for a wrong
// result may have produced others before. No comparison has found those, and all replicas
// of its rank have applied them. So the job rolls back to a backup from before the first
// fault. The time of the first fault is not known. But a process that errs in at least one
// of a thousand tasks is found within a certain number of comparisons (verify.Horizon). A
// backup from before those comparisons is trusted. The very first backup is trusted too,
// since replicas compare all tasks before it.

// generations returns the older backups that are kept.
func (h *Head) generations() (all []Generation) {
	for _, b := range h.older {
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

// grow moves the complete backup to the older ones, before a new one takes its place. Of
// the older ones it keeps the newest that is trusted and the first one after it, which
// will be trusted next. If none is trusted it keeps the oldest.
func (h *Head) grow() {
	if !h.config.Suspect || h.complete == nil {
		return
	}
	sure := h.sure()
	all := append(h.older, h.complete)
	if h.heardAll() {
		all = slices.DeleteFunc(all, func(b *backup) bool { return b.missing() >= 0 })
	}
	n := 1
	for i, b := range slices.Backward(all) {
		if b.trusted = b.trusted || b.number <= sure; b.trusted {
			all, n = all[i:], 2
			break
		}
	}
	h.older = slices.Clone(all[:min(n, len(all))])
}

// sure returns the last safe point by which the comparison found every process sound.
func (h *Head) sure() uint64 {
	sure := uint64(1<<64 - 1)
	for s := range h.each(live) {
		sure = min(sure, s.sure)
	}
	return sure
}

// Trusted returns the safe point of the newest backup that is trusted, given that the
// comparison found every process sound up to the safe point sure. ok is false if there is
// none.
func (h *Head) Trusted(sure uint64) (number uint64, ok bool) {
	if b := h.trusted(sure); b != nil {
		return b.number, true
	}
	return 0, false
}

func (h *Head) trusted(sure uint64) *backup {
	return h.newest(func(b *backup) bool { return b.trusted || b.number <= sure })
}

// newest returns the newest complete backup that fits and none of whose copies is known to
// be lost; nil if there is none.
func (h *Head) newest(fits func(*backup) bool) *backup {
	if h.complete == nil || h.over {
		return nil
	}
	for b := range h.backups() {
		if b != h.attempt && fits(b) && (b.missing() < 0 || !h.heardAll()) {
			return b
		}
	}
	return nil
}

// Distrust begins a rollback because a process was blamed for a wrong result: since the
// safe point sure it may have produced others. All processes roll back to the newest
// Trusted backup, even during a rollback to another one.
func (h *Head) Distrust(convicted job.Endpoint, sure uint64, now time.Duration) []Action {
	h.begin(now)
	b := h.trusted(sure)
	if b == nil {
		return nil
	}
	h.goTo(b)
	h.back.since, h.back.doubt, h.back.convicted, h.back.number = convicted.Process.Rank, false, &convicted, b.number
	h.fail()
	return h.advance()
}

// goTo makes b the backup that a rollback goes to. Younger ones are void.
func (h *Head) goTo(b *backup) {
	if b != h.complete {
		h.older = h.older[:slices.Index(h.older, b)]
		h.complete = b
	}
}
