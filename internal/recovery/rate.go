package recovery

import "time"

// rate measures how fast the program passes its safe points, and for how long backups
// delay it.
type rate struct {
	from      uint64
	since     time.Duration // when safe point from was left
	perPoint  time.Duration
	reachedAt time.Duration // when the first process entered the cut
	cut       time.Duration // mean duration of a cut for a backup
	copy      time.Duration // longest time that a rank took to copy its state for the last backup
	copyOf    uint64        // the safe point of that backup
	seen      bool
	inCut     bool
}

// first records that a process has entered safe point 1.
func (r *rate) first(now time.Duration) {
	if !r.seen {
		r.seen, r.from, r.since = true, 1, now
	}
}

// reached records that a process has entered the cut at safe point number. The time of the
// first process counts.
func (r *rate) reached(number uint64, now time.Duration) {
	if r.inCut {
		return
	}
	r.inCut, r.reachedAt = true, now
	if r.seen && number > r.from {
		r.perPoint = (now - r.since) / time.Duration(number-r.from)
	}
}

// backedUp records the duration of a cut for a backup, when the head ends the cut. The
// duration depends on the slowest rank and varies, so rate keeps a running mean.
func (r *rate) backedUp(now time.Duration) {
	took := now - r.reachedAt
	if r.cut == 0 {
		r.cut = took
	}
	r.cut = (r.cut + took) / 2
}

// copied records the time that a rank took to copy its state for the backup at safe point
// number.
func (r *rate) copied(number uint64, took time.Duration) {
	if number != r.copyOf {
		r.copyOf, r.copy = number, 0
	}
	r.copy = max(r.copy, took)
}

// left records that the cut at safe point number is over.
func (r *rate) left(number uint64, now time.Duration) {
	r.seen, r.inCut, r.from, r.since = true, false, number, now
}

// cost returns the time by which a backup delays the program.
func (r *rate) cost() time.Duration { return r.cut + r.copy }
