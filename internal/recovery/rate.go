package recovery

import "time"

// rate measures how fast the program passes its safe points, and for how long backups
// hold it up.
type rate struct {
	from      uint64
	since     time.Duration // when safe point from was left
	perPoint  time.Duration
	reachedAt time.Duration // when the first process was in the cut
	cut       time.Duration // that a cut for a backup takes
	copy      time.Duration // that the slowest rank took to copy its state,
	copyOf    uint64        // for the backup at that safe point, the last one
	seen      bool
	inCut     bool
}

// first: a process has come to safe point 1.
func (r *rate) first(now time.Duration) {
	if !r.seen {
		r.seen, r.from, r.since = true, 1, now
	}
}

// reached: the first process is at safe point number.
func (r *rate) reached(number uint64, now time.Duration) {
	if r.inCut {
		return
	}
	r.inCut, r.reachedAt = true, now
	if r.seen && number > r.from {
		r.perPoint = (now - r.since) / time.Duration(number-r.from)
	}
}

// backedUp: the cut that is being left was for a backup. It took as long as the slowest
// rank, which varies, so the mean with those before counts.
func (r *rate) backedUp(now time.Duration) {
	took := now - r.reachedAt
	if r.cut == 0 {
		r.cut = took
	}
	r.cut = (r.cut + took) / 2
}

// copied: a rank has copied its state for the backup at safe point number.
func (r *rate) copied(number uint64, took time.Duration) {
	if number != r.copyOf {
		r.copyOf, r.copy = number, 0
	}
	r.copy = max(r.copy, took)
}

// left: the cut at safe point number is over.
func (r *rate) left(number uint64, now time.Duration) {
	r.seen, r.inCut, r.from, r.since = true, false, number, now
}

// cost is for how long a backup holds up the program.
func (r *rate) cost() time.Duration { return r.cut + r.copy }
