//go:build linux

package shm

import (
	"errors"
	"math"
	"sync/atomic"

	"github.com/intrahpc/intra/transport"
)

// What a side says of its end of a ring.
const (
	endOpen uint32 = iota
	endBye         // the sender's Shutdown: everything it sent is in the ring
	endGone        // it has left without a word
)

// noNeed says that the sender does not wait for room.
const noNeed = math.MaxUint64

// errCorrupt: the other process wrote what no link writes.
var errCorrupt = errors.New("corrupt ring")

// ring is one direction: bytes at positions head to tail, which only grow, in
// memory that is mapped twice in a row.
//
// A side that changes a word and then looks whether the other sleeps relies on
// this order, as the other does when it goes to sleep and then looks at the
// word. Such words are changed by Swap: under the race detector a Store to
// memory outside of the Go heap only releases, and lets the look overtake it.
//
// A frame begins at a multiple of 64 with its header. One that takes up to
// half of the ring is published as a whole; a longer one as its header, then
// its payload as it comes.
type ring struct {
	data   []byte
	size   uint64
	tail   *atomic.Uint64 // written by the sender
	need   *atomic.Uint64 // where head must come before the sender is woken
	sender *atomic.Uint32 // endOpen, endBye, endGone
	head   *atomic.Uint64 // written by the reader
	reader *atomic.Uint32 // endOpen, endGone
}

// align is the place of the next frame.
func align(n uint64) uint64 { return (n + transport.HeaderSize - 1) &^ (transport.HeaderSize - 1) }

// record is what a frame takes in the ring.
func record(payload uint64) uint64 { return transport.HeaderSize + align(payload) }

// whole says whether a frame is published as a whole.
func (r *ring) whole(payload uint64) bool { return record(payload) <= r.size/2 }

// at returns n bytes at a position.
func (r *ring) at(pos, n uint64) []byte {
	i := pos & (r.size - 1)
	return r.data[i : i+n : i+n]
}

// sending is the sender's own knowledge of a ring.
type sending struct {
	ring
	pos  uint64 // where tail is, or will be after the next publish
	seen uint64 // head when last looked at
}

// room returns how many bytes are free, and looks at the reader's progress
// only if fewer than want are known to be.
func (s *sending) room(want uint64) (uint64, error) {
	if free := s.size - (s.pos - s.seen); free >= want {
		return free, nil
	}
	head := s.head.Load()
	// The reader cannot be ahead of the sender, nor go back.
	if s.pos-head > s.pos-s.seen {
		return 0, errCorrupt
	}
	s.seen = head
	return s.size - (s.pos - head), nil
}

// await asks to be woken when want bytes are free. The caller looks once more
// afterwards.
func (s *sending) await(want uint64) { s.need.Swap(s.pos + want - s.size) }

// publish makes everything up to pos visible.
func (s *sending) publish() { s.tail.Swap(s.pos) }

// reading is the reader's own knowledge of a ring.
type reading struct {
	ring
	pos  uint64 // where head is
	seen uint64 // tail when last looked at
}

// available returns how many bytes are published.
func (r *reading) available() (uint64, error) {
	tail := r.tail.Load()
	if n := tail - r.pos; n > r.size || n < r.seen-r.pos {
		return 0, errCorrupt
	}
	r.seen = tail
	return tail - r.pos, nil
}

// release gives n bytes back to the sender, and reports whether it waits for
// that.
func (r *reading) release(n uint64) bool {
	r.pos += n
	r.head.Swap(r.pos)
	return r.need.Load() <= r.pos
}
