//go:build linux

package shm

import "math"

// Memory that nobody has touched yet is slow: each side takes a page fault for each page.
// Where processes take turns on a core that is far more than small messages cost, for as
// long as the ring has not been gone around once. So the sender begins with short laps
// there, and each is a little longer than the one before: then few of the bytes lie in
// fresh memory. Where each process has a core it does without: the lines of a short lap
// are still in the other core's cache when they are written again, which costs a message
// of 1 to 128 KiB half as much again.

const (
	firstReach = 16 << 10
	longer     = 32 // each lap, by this part of it
)

// laps are the sender's, of one ring.
type laps struct {
	look  uint64 // the position from which a frame may be the last one of its lap
	began uint64 // where this lap did
	reach uint64 // how long it is, if the reader is near
}

// never is a position that no ring comes to.
const never = math.MaxUint64

// firstLap is for a ring in which little has been sent, or nothing.
func firstLap(size uint64) laps {
	if firstReach >= size {
		return laps{look: never}
	}
	return laps{look: firstReach, reach: firstReach}
}

// lap is extent of a frame that may be the last one of its lap. It is if the reader is
// near: until that has followed, the rest of the lap is no room for anything, and the
// sender must not have to wait for it where it did not otherwise.
func (s *sending) lap(n uint64) uint64 {
	l, next := &s.laps, s.pos+n
	in := next - l.began
	if in >= s.size { // all of the memory has been in use
		l.look = never
		return n
	}
	head := s.head.Load()
	if head-s.seen > next-s.seen || next-head > in/4 { // the former is for room to find
		l.look = next + l.reach/8
		return n
	}
	s.seen = head
	l.began += s.size
	l.reach += l.reach / longer
	l.look = l.began + l.reach
	return n + s.rest(next)
}
