//go:build linux

package shm

import "math"

// Fresh memory is slow: each side takes a page fault for each page. If processes take turns
// on a core, these faults cost far more than small messages do, until the sender has gone
// around the ring once. So such a sender begins with short laps: it returns to the
// beginning of the ring's memory long before its end. Each lap is a little longer than the
// one before, so few of the bytes lie in fresh memory.
//
// If each process has a core, the sender does not use short laps. The cache lines of a
// short lap are still in the other core's cache when the sender writes them again. That
// makes a message of 1 to 128 KiB 50 % slower.

const (
	firstReach = 16 << 10
	longer     = 32 // each lap is longer than the one before it by 1/longer
)

// laps is the sender's state of the laps of one ring.
type laps struct {
	look  uint64 // the position from which a frame may be the last one of its lap
	began uint64 // the position where this lap began
	reach uint64 // its intended length; it becomes longer while the reader lags behind
}

// never is a position that no ring reaches.
const never = math.MaxUint64

// firstLap returns the first lap of a ring in which little or nothing has been sent.
func firstLap(size uint64) laps {
	if firstReach >= size {
		return laps{look: never}
	}
	return laps{look: firstReach, reach: firstReach}
}

// lap is extent for a frame that may be the last one of its lap. It ends the lap only if
// the reader is close behind. The rest of the lap cannot be used until the reader has
// passed it, and this must not make the sender wait for room.
func (s *sending) lap(n uint64) uint64 {
	l, next := &s.laps, s.pos+n
	in := next - l.began
	if in >= s.size { // all of the memory has been used: no more short laps
		l.look = never
		return n
	}
	head := s.head.Load()
	if head-s.seen > next-s.seen || next-head > in/4 { // the first condition means a corrupt head, which room reports
		l.look = next + l.reach/8
		return n
	}
	s.seen = head
	l.began += s.size
	l.reach += l.reach / longer
	l.look = l.began + l.reach
	return n + s.rest(next)
}
