package recovery

import (
	"fmt"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// rollback is the way back to the last complete backup.
type rollback struct {
	phase backPhase
	since int  // the rank whose loss, or about which a doubt, began it
	doubt bool // it was not lost: something is wrong there, and it is not known whose fault that is
	// convicted: neither; all that this process has done is in doubt. Nil: nobody's is.
	convicted *job.Endpoint
	number    uint64 // of the safe point, once it is known
	begun     bool   // some have left their old generation
}

// backPhase is how far a rollback is.
type backPhase uint8

const (
	none      backPhase = iota
	replacing           // a rank is lost, its replacement is on its way; or one is in doubt
	restoring           // everybody goes back
)

// failure is called after each death. While a rank has no replica, and while a
// rollback is under way, a death sends everybody to the state in which
// replacements are waited for.
func (h *Head) failure(alive bool) {
	if !alive || len(h.Failed()) == 0 && h.back.phase != restoring {
		return
	}
	h.fail()
}

// Returning reports whether all are on their way back.
func (h *Head) Returning() bool { return h.back.phase != none }

// Repairable reports whether all can go back to where nothing was wrong yet, before the
// safe point below if that is not 0.
func (h *Head) Repairable(below uint64) bool { return h.sound(below) != nil }

// RepairableWithout is Repairable if these die now, all replicas of a rank among them.
func (h *Head) RepairableWithout(below uint64, gone func(job.Process) bool) bool {
	b := h.sound(below)
	return b != nil && h.usable() && b.heldBut(gone)
}

// Storing reports whether a backup is being stored that would make the job Repairable.
func (h *Head) Storing(below uint64) bool {
	return h.attempt != nil && !h.over && !h.unlike && h.isSound(h.attempt, below, h.sure())
}

// sound returns the newest backup from before the safe point below in which nothing is
// wrong, as far as comparing tells, nil if there is none.
func (h *Head) sound(below uint64) *backup {
	if h.unlike {
		return nil
	}
	sure := h.sure()
	return h.newest(func(b *backup) bool { return h.isSound(b, below, sure) })
}

// isSound reports whether a backup is that, if no process was defective by the safe point
// sure.
func (h *Head) isSound(b *backup, below, sure uint64) bool {
	return (below == 0 || b.number < below) && (!h.config.Suspect || b.trusted || b.number <= sure)
}

// Before reports whether the backup that a rollback goes to is from before the safe point
// below.
func (h *Head) Before(below uint64) bool { return h.complete != nil && h.complete.number < below }

// Doubt says that something is wrong in a rank, and that it is not known whose fault that
// is. Nobody has to die for that: all go back to a backup from before, if that is
// Repairable, also if they are on their way to one that is not Before it. leaving: the
// replicas of the rank are about to die, and that sends all back.
func (h *Head) Doubt(rank int, below uint64, leaving bool, now time.Duration) []Action {
	h.begin(now)
	b := h.sound(below)
	if b == nil || h.Returning() && (below == 0 || h.Before(below)) {
		return nil
	}
	if h.goTo(b); leaving {
		return nil
	}
	h.back.since, h.back.doubt, h.back.number = rank, true, b.number
	h.fail()
	return h.advance()
}

// fail sends everybody to the state in which replacements are waited for.
func (h *Head) fail() {
	for s := range h.each(arrived) {
		switch s.state {
		case Running, Finish, Failure, Recover:
			s.to(Failure)
		case ReplaceRecover, ReplaceFailure:
			s.to(ReplaceFailure)
		}
	}
	if h.back.phase == none {
		if !h.back.doubt && h.back.convicted == nil {
			h.back.since = h.Failed()[0]
		}
		if h.returns() { // all ranks go back, and everybody is needed again
			clear(h.through)
		}
	}
	h.back.phase = replacing
	h.cut, h.attempt = cut{}, nil
}

// recover moves a rollback on.
func (h *Head) recover() {
	if h.back.phase == none {
		return
	}
	if l := h.loss(); l != nil {
		h.lose(l)
		return
	}
	switch h.back.phase {
	case replacing:
		for _, rank := range h.Failed() {
			if h.replacement(rank) == nil {
				return
			}
		}
		if h.complete.held() { // else it is not known yet by whom
			h.restore()
		}
	case restoring:
		if h.all(func(s *replica) bool { return s.ready }) {
			h.resume()
		}
	}
}

// replacement returns a joiner of the rank that has all its links.
func (h *Head) replacement(rank int) *replica {
	for _, s := range h.replicas {
		if s.process.Rank == rank && s.status == arrived && h.connected(s) {
			return s
		}
	}
	return nil
}

// restore sends everybody back, with all joiners that are there.
func (h *Head) restore() {
	var ready []*replica
	for _, s := range h.replicas {
		if s.status == arrived && h.connected(s) {
			ready = append(ready, s)
		}
		s.moving, s.joined, s.asked, s.copied = false, false, false, false
	}
	var joined []Joined
	for _, s := range ready {
		joined = append(joined, Joined{Process: s.process, Incarnation: s.incarnation, Donor: h.giver(s)})
		if s.state != ReplaceRecover {
			s.to(ReplaceRecover)
		}
		s.status, s.linked, s.links = live, nil, nil
	}
	h.abandon("the job goes back to a backup")
	h.generation++
	h.incarnations++
	for b := range h.backups() {
		b.forget()
	}
	h.back = rollback{phase: restoring, since: h.back.since, doubt: h.back.doubt, convicted: h.back.convicted, number: h.complete.number, begun: true}
	o := job.Order{Kind: job.OrderRollback, Number: h.complete.number, Older: numbers(h.older)}
	for s := range h.each(live) {
		switch s.state {
		case Running, Finish:
			s.to(Failure)
			s.to(Recover)
		case Failure:
			s.to(Recover)
		case ReplaceFailure:
			s.to(ReplaceRecover)
		}
		s.status, s.frames, s.ready = live, h.incarnations, false
		o.Peers = append(o.Peers, job.Peer{Process: s.process, Incarnation: s.frames})
		o.Deals = append(o.Deals, job.Deal{From: h.giver(s), To: s.process})
	}
	h.rest, h.entire = false, false
	o.Scattered = h.scattered(nil)
	h.keep(Decision{Kind: RolledBack, Number: o.Number, Since: h.back.since, Doubt: h.back.doubt, Convicted: h.back.convicted, Incarnation: h.incarnations, Joined: joined, Scattered: o.Scattered})
	h.tell(live, o)
}

// giver returns who gives process s its state: itself if it can, else a
// holder.
func (h *Head) giver(s *replica) job.Process {
	all := h.complete.stored(s.process.Rank)
	for _, k := range all {
		if k.process == s.process && k.incarnation == s.incarnation {
			return s.process
		}
	}
	return all[0].process
}

// isBack notes that a process is back at the cut, and so holds its state: that of
// the backup with that number, unless this is one that was complete since.
func (h *Head) isBack(s *replica, r job.Reply) {
	if r.Generation == h.generation {
		s.ready = h.back.phase == restoring
	}
	for b := range h.backups() {
		if b != h.attempt && b.number == r.Number && r.Generation > b.generation && !b.has(s.process.Rank, s) {
			copies := &b.copies[s.process.Rank]
			*copies = append(*copies, holder{process: s.process, incarnation: s.incarnation, stored: true, source: true})
		}
	}
}

// resume ends the rollback.
func (h *Head) resume() {
	for s := range h.each(live) {
		s.to(Running)
		s.attempts, s.tries, s.safe = 0, 0, true
	}
	h.backupAt = h.config.compared(h.back.number + h.interval())
	if h.config.Files.Every > 0 {
		h.filesAt = h.back.number + h.config.Files.Every
	}
	h.next = earlier(h.backupAt, h.filesAt)
	h.rate.left(h.back.number, h.now)
	h.keep(Decision{Kind: Resumed, Number: h.back.number, Backup: h.backupAt, Files: h.filesAt})
	h.back = rollback{}
	h.tell(live, job.Order{Kind: job.OrderResume, Next: h.next})
}

func (r rollback) String() string { return fmt.Sprintf("%d to %d", r.phase, r.number) }
