package recovery

import (
	"fmt"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// rollback is the return of all processes to the last complete backup. Its reason is a
// lost rank, a dispute, or a blamed process.
type rollback struct {
	Reason
	phase  backPhase
	number uint64 // number of the backup, once known
	begun  bool   // some processes have left their old generation
}

// backPhase is the phase of a rollback.
type backPhase uint8

const (
	none      backPhase = iota
	replacing           // each lost rank waits for a replacement; in a dispute no rank may be lost
	restoring           // all processes roll back
)

// failure is called after each death. If a rank is lost, or the job is rolling back, the
// death of a live process (alive) makes all processes wait for replacements.
func (h *Head) failure(alive bool) {
	if !alive || len(h.replicas.Failed()) == 0 && h.back.phase != restoring {
		return
	}
	h.fail()
}

// Returning reports whether a rollback is under way.
func (h *Head) Returning() bool { return h.back.phase != none }

// Dispute begins a rollback because of a dispute: a rank has an error, and the comparison
// blames no process. No process dies because of it. All processes roll back to a sound
// backup, if there is one (Repairable). A rollback under way is redirected if it goes to a
// backup that is not Before the error. With leaving, Dispute only chooses the backup: the
// replicas of the rank are about to die, and their deaths begin the rollback.
func (h *Head) Dispute(rank int, below uint64, leaving bool, now time.Duration) []Action {
	h.begin(now)
	b := h.backups.sound(below)
	if b == nil || h.Returning() && (below == 0 || h.backups.Before(below)) {
		return nil
	}
	if h.backups.goTo(b); leaving {
		return nil
	}
	h.back.Since, h.back.Disputed, h.back.number = rank, true, b.number
	h.fail()
	return h.advance()
}

// fail moves all processes to the state in which they wait for replacements, and voids the
// cut and the unfinished backup.
func (h *Head) fail() {
	for s := range h.replicas.each(arrived) {
		switch s.state {
		case Running, Finish, Failure, Recover:
			s.to(Failure)
		case ReplaceRecover, ReplaceFailure:
			s.to(ReplaceFailure)
		}
	}
	if h.back.phase == none {
		if !h.back.Disputed && h.back.Blamed == nil {
			h.back.Since = h.replicas.Failed()[0]
		}
		if h.backups.returns() { // the job needs finished ranks again, because they roll back too
			clear(h.replicas.through)
		}
	}
	h.back.phase = replacing
	h.cut, h.backups.attempt = cut{}, nil
}

// recover takes the next step of a rollback once it is possible, or ends the job.
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
		for _, rank := range h.replicas.Failed() {
			if h.replicas.first(rank, func(s *replica) bool { return s.status == arrived && h.replicas.connected(s) }) == nil {
				return // the rank has no process yet that has all its links
			}
		}
		if h.backups.complete.held() { // otherwise a successor does not know all holders yet
			h.restore()
		}
	case restoring:
		if h.replicas.all(func(s *replica) bool { return s.ready }) {
			h.resume()
		}
	}
}

// restore orders all processes to roll back, and makes all connected joiners live.
func (h *Head) restore() {
	var ready []*replica
	for _, s := range h.replicas.slots {
		if s.status == arrived && h.replicas.connected(s) {
			ready = append(ready, s)
		}
		s.moving, s.joined, s.asked, s.copied = false, false, false, false
	}
	var joined []Joined
	for _, s := range ready {
		joined = append(joined, Joined{Process: s.process, Incarnation: s.incarnation, Donor: h.backups.giver(s)})
		if s.state != ReplaceRecover {
			s.to(ReplaceRecover)
		}
		s.status, s.linked, s.links = live, nil, nil
	}
	h.sets.abandon("the job goes back to a backup")
	h.generation++
	h.incarnations++
	for b := range h.backups.each() {
		b.forget()
	}
	h.back = rollback{phase: restoring, Reason: h.back.Reason, number: h.backups.complete.number, begun: true}
	o := job.Order{Kind: job.OrderRollback, Number: h.backups.complete.number, Older: numbers(h.backups.older)}
	for s := range h.replicas.each(live) {
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
		o.Deals = append(o.Deals, job.Deal{From: h.backups.giver(s), To: s.process})
	}
	h.rest, h.backups.entire = false, false
	o.Scattered = h.replicas.scattered(nil)
	h.keep(Decision{Kind: RolledBack, Number: o.Number, Reason: h.back.Reason, Incarnation: h.incarnations, Joined: joined, Scattered: o.Scattered})
	h.dismissReliefs() // from here on, frames of the slot carry a higher incarnation than those of the joiner
	h.replicas.tell(live, o)
}

// isBack records that a process has rolled back, and therefore holds its state in the
// backup with that number. The generation distinguishes it from a backup with the same
// number that was taken after the rollback.
func (h *Head) isBack(s *replica, r job.Reply) {
	if r.Generation == h.generation {
		s.ready = h.back.phase == restoring
	}
	for b := range h.backups.each() {
		if b != h.backups.attempt && b.number == r.Number && r.Generation > b.generation && !b.has(s.process.Rank, s) {
			copies := &b.copies[s.process.Rank]
			*copies = append(*copies, holder{process: s.process, incarnation: s.incarnation, stored: true, source: true})
		}
	}
}

// resume ends the rollback.
func (h *Head) resume() {
	for s := range h.replicas.each(live) {
		s.to(Running)
		s.attempts, s.tries, s.safe = 0, 0, true
	}
	h.backupAt = h.config.compared(h.back.number + h.pace.interval())
	if h.config.Files.Every > 0 {
		h.filesAt = h.back.number + h.config.Files.Every
	}
	h.next = earlier(h.backupAt, h.filesAt)
	h.pace.rate.left(h.back.number, h.now)
	h.keep(Decision{Kind: Resumed, Number: h.back.number, Backup: h.backupAt, Files: h.filesAt})
	h.back = rollback{}
	h.replicas.tell(live, job.Order{Kind: job.OrderResume, Next: h.next})
}

func (r rollback) String() string { return fmt.Sprintf("%d to %d", r.phase, r.number) }

// Distrust begins a rollback because a process was blamed for a wrong result. The process
// may have produced other wrong results since the safe point sure. All processes roll back
// to the newest Trusted backup, even during a rollback to another one.
func (h *Head) Distrust(blamed job.Endpoint, sure uint64, now time.Duration) []Action {
	h.begin(now)
	b := h.backups.trusted(sure)
	if b == nil {
		return nil
	}
	h.backups.goTo(b)
	h.back.Reason, h.back.number = Reason{Since: blamed.Process.Rank, Blamed: &blamed}, b.number
	h.fail()
	return h.advance()
}
