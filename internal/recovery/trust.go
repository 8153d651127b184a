package recovery

import (
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// Where only a share of the tasks are compared, a process that is convicted of a wrong
// result may have come to others before, which nobody has seen and all replicas of its
// rank have taken. So the job goes back to a backup from before it began to err. When that
// was is not known; but a process that errs in one of a thousand tasks, or more of them, is
// found within so many comparisons (verify.Horizon). A backup from before that is trusted,
// and so is the very first one, before which all is compared.

// generations are the older backups that are kept.
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

// grow: the complete backup is about to become an older one. Of those the newest that is
// trusted is kept, and the first after it, which will be.
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

// sure is the safe point by which no process was defective, as far as comparing tells.
func (h *Head) sure() uint64 {
	sure := uint64(1<<64 - 1)
	for s := range h.each(live) {
		sure = min(sure, s.sure)
	}
	return sure
}

// Trusted returns the safe point of the newest backup that is trusted if a process was not
// defective by the safe point sure; ok is false if there is none.
func (h *Head) Trusted(sure uint64) (number uint64, ok bool) {
	if b := h.trusted(sure); b != nil {
		return b.number, true
	}
	return 0, false
}

func (h *Head) trusted(sure uint64) *backup {
	return h.newest(func(b *backup) bool { return b.trusted || b.number <= sure })
}

// newest returns the newest complete backup that fits, and that somebody may hold; nil if
// there is none.
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

// Distrust says that a process was convicted of a wrong result, which it may have come to
// in other tasks since the safe point sure. All go back to the newest backup that is
// Trusted, wherever they are, also if they are on their way to another one.
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
