//go:build linux

package shm

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/cpu"

	"github.com/intrahpc/intra/transport"
)

// The states of one end of a ring.
const (
	endOpen uint32 = iota
	endBye         // the sender's Shutdown: everything it sent is in the ring
	endGone        // the side has left without a goodbye, or no longer reads
)

// noNeed means that the sender does not wait for room.
const noNeed = math.MaxUint64

// errCorrupt means that the ring holds bytes that no sender of this package writes.
var errCorrupt = errors.New("corrupt ring")

// ring is one direction: the bytes at positions head to tail, which only grow, in memory
// that is mapped twice in a row.
//
// A side changes a word and then checks whether the other side sleeps. The other side arms
// its bell and then checks the word. Both rely on that order, so these words are changed by
// Swap. Under the race detector a Store to memory outside of the Go heap has only release
// semantics, and the check could overtake it.
//
// A frame begins at a multiple of 64 with its header. A frame that takes up to half of the
// ring is published as a whole. A longer one is published as its header, then its payload
// piece by piece. A payload of at most one word is stored in the header, in place of an
// argument that is 0, if there is one. This saves a cache line, which the reader would have
// to fetch from the other processor's cache.
//
// The first word of a header publishes the frame. At the position of the next header that
// word is 0: the sender writes the 0 before it publishes the frame in front of it. A reader
// that waits for a frame polls this word, so it already has the cache line of the header
// when the frame arrives. The sender writes the word after the rest of the frame and after
// tail. So when a sender is killed, its last frame is either published as a whole or not
// visible.
//
// The reader uses tail only inside a long frame, and after the sender has ended or died. After a
// death, bytes after tail are never a frame, even if they look like one.
//
// A frame that was published as a whole may be followed by a gap, see record. It may also
// be the last one of its lap: the next frame then begins where the memory begins.
type ring struct {
	data   []byte
	size   uint64
	tail   *atomic.Uint64 // written by the sender
	need   *atomic.Uint64 // position that head must reach before the sender is woken
	sender *atomic.Uint32 // endOpen, endBye, endGone
	head   *atomic.Uint64 // written by the reader
	reader *atomic.Uint32 // endOpen, endGone
}

// align rounds a position or size up to where the next frame can begin.
func align(n uint64) uint64 { return (n + transport.HeaderSize - 1) &^ (transport.HeaderSize - 1) }

// The first byte of a header on the wire. Its low bits hold the channel. The bits above
// them hold the index of the header word that is a small payload, or 0 if the payload
// follows the header. The highest bit marks the last frame of a lap.
const (
	wordSize   = 8
	argsAt     = 2 * wordSize
	placeShift = 4
	placeBits  = 0x7 << placeShift
	lastBit    = 0x80
)

// placeOf extracts from the first word of a header which of its words is the payload, or 0
// if none is.
func placeOf(first uint64) uint64 { return first & placeBits >> placeShift }

// A processor that reads several lines in a row also prefetches the lines that follow.
// These would be the lines of the next frame, which the sender is about to write. So a gap
// follows a frame of several lines, unless the ring is too small to waste room.
const (
	gap        = 1 << 10
	gapPayload = transport.HeaderSize + 1 // the smallest payload that is followed by a gap
	gapRing    = 256 << 10                // the smallest ring that has gaps
)

// record returns the size in the ring of a frame whose payload follows its
// header. The record of a longer payload is never smaller, so the room that was reserved is always
// enough.
func (r *ring) record(payload uint64) uint64 {
	n := transport.HeaderSize + align(payload)
	if payload >= gapPayload && r.size >= gapRing {
		n += gap
	}
	return n
}

// place returns the offset of the payload in the record of a frame, and the size of the
// record.
func (r *ring) place(h *transport.Header) (at, n uint64) {
	if h.Size-1 < wordSize {
		for i := len(h.Args) - 1; i >= 0; i-- { // from the end, since the last arguments are used least
			if h.Args[i] == 0 {
				return argsAt + wordSize*uint64(i), transport.HeaderSize
			}
		}
	}
	return transport.HeaderSize, r.record(h.Size)
}

// whole reports whether a frame is published as a whole.
func (r *ring) whole(payload uint64) bool { return r.record(payload) <= r.size/2 }

// rest returns how many bytes of the memory follow a position.
func (r *ring) rest(pos uint64) uint64 { return -pos & (r.size - 1) }

// at returns the n bytes at a position.
func (r *ring) at(pos, n uint64) []byte {
	i := pos & (r.size - 1)
	return r.data[i : i+n : i+n]
}

// first returns the first word of the header at a position.
func (r *ring) first(pos uint64) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&r.data[pos&(r.size-1)&^(transport.HeaderSize-1)]))
}

// capacity is how many bytes can be published at a time. One header must stay free for the
// 0 that marks the end of the published frames.
func (r *ring) capacity() uint64 { return r.size - transport.HeaderSize }

// ahead bounds how many bytes are prefetched.
const ahead = 1 << 10

// ask prefetches n bytes at pos, which the sender has written, for reading.
func (r *ring) ask(pos, n uint64) {
	toRead(&r.data[pos&(r.size-1)], int(align(min(n, ahead))/transport.HeaderSize))
}

// own prefetches n bytes at pos for writing, since the reader's cache may hold
// them: the next frame is probably like the last one.
func (r *ring) own(pos, n uint64) {
	toWrite(&r.data[pos&(r.size-1)], int(align(min(n, ahead))/transport.HeaderSize))
}

// sending is the sender's own view of a ring.
type sending struct {
	ring
	pos   uint64 // where tail is, or will be after the next publish
	seen  uint64 // head when the sender last read it
	start uint64 // position of the frame that was put last
	word  uint64 // the first word of its header, 0 once it is published
	laps  laps
}

// free returns how much room is certainly free, without reading the reader's progress.
func (s *sending) free() uint64 { return s.capacity() - (s.pos - s.seen) }

// room returns how many bytes are free. It reads the reader's progress, which costs a cache
// miss, only if fewer than want are known to be free.
func (s *sending) room(want uint64) (uint64, error) {
	if free := s.free(); free >= want {
		return free, nil
	}
	head := s.head.Load()
	// head may neither pass tail nor decrease.
	if s.pos-head > s.pos-s.seen {
		return 0, errCorrupt
	}
	s.seen = head
	return s.free(), nil
}

// fits reports whether want bytes are free.
func (s *sending) fits(want uint64) bool {
	room, err := s.room(want)
	return err == nil && room >= want
}

// await asks to be woken when want bytes are free. The caller looks once more
// afterwards.
func (s *sending) await(want uint64) { s.need.Swap(s.pos + want - s.capacity()) }

// extent returns how many bytes a frame occupies whose record has n. The result is more
// than n if the frame is the last one of its lap.
func (s *sending) extent(n uint64) uint64 {
	if s.pos+n < s.laps.look {
		return n
	}
	return s.lap(n)
}

// put writes a header at pos, except its first word. at is the offset of the payload in the
// record; last marks the last frame of a lap.
func (s *sending) put(h *transport.Header, at uint64, last bool) {
	s.start = s.pos
	first := h.EncodeRest((*[transport.HeaderSize]byte)(s.at(s.pos, transport.HeaderSize)))
	if at < transport.HeaderSize {
		first |= at / wordSize << placeShift
	}
	if last {
		first |= lastBit
	}
	s.word = little(first)
}

// little returns a number whose bytes in memory are those of n on a little-endian machine.
// The function is its own inverse.
func little(n uint64) uint64 {
	if cpu.IsBigEndian {
		return bits.ReverseBytes64(n)
	}
	return n
}

// finish makes a whole frame, which ends at pos, visible.
func (s *sending) finish() {
	// This store needs no atomic operation, because an aligned word is written at once and
	// the reader uses tail only as described at ring. The Swap below orders it, and the
	// rest of the frame, before the first word, both in Go's memory model and in the
	// processor's.
	*(*uint64)(unsafe.Pointer(s.tail)) = s.pos
	s.first(s.start).Swap(s.word)
	s.word = 0
}

// publish makes a long frame visible up to pos.
func (s *sending) publish() {
	s.tail.Swap(s.pos)
	if s.word != 0 {
		s.first(s.start).Swap(s.word)
		s.word = 0
	}
}

// end writes the 0 that marks the end of the published frames. The caller must do so before
// it publishes the frame that ends at pos.
func (s *sending) end(pos uint64) {
	binary.LittleEndian.PutUint64(s.at(pos, 8), 0)
}

// reading is the reader's own view of a ring.
type reading struct {
	ring
	pos  uint64 // current read position
	seen uint64 // tail when the reader last read it
}

// there reports whether there is a frame at pos.
func (r *reading) there() bool { return r.first(r.pos).Load() != 0 }

// available returns how many bytes are published inside a long frame.
func (r *reading) available() (uint64, error) {
	tail := r.tail.Load()
	if n := tail - r.pos; n > r.size || n < r.seen-r.pos {
		return 0, errCorrupt
	}
	r.seen = tail
	return tail - r.pos, nil
}

// release returns n bytes to the sender. The caller then checks awaited.
func (r *reading) release(n uint64) {
	r.pos += n
	r.head.Swap(r.pos)
}

// giveBack is release for a caller that changes another word atomically, such as that of a
// lock, before it checks awaited. That change orders the store here, as the Swap in finish
// orders its own.
func (r *reading) giveBack(n uint64) {
	r.pos += n
	*(*uint64)(unsafe.Pointer(r.head)) = r.pos
}

// awaited reports whether the sender waits for room that has been returned.
func (r *ring) awaited() bool { return r.need.Load() <= r.head.Load() }
