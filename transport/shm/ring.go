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
// its payload as it comes. A payload of a word or less stands in the header, in the
// place of an argument that is 0, if there is one: each line that comes from the other
// processor's cache takes its time.
//
// The first word of a header publishes it. Where the next one will begin it is
// 0, which the sender has written before that place was published: who waits for
// a frame looks there, and when it comes has the line already in which it lies.
// The word is written after all else of the frame, and after tail, so that
// whoever is killed has published a frame or has not. Only inside of a long frame
// the reader looks at tail; and when the sender has ended, or is dead, since then
// what lies behind tail is no frame, whatever it looks like.
//
// Behind a frame that was published as a whole there may be a gap, see record. It may also
// be the last one of its lap: the next one then begins where the memory does.
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

// The first byte of a header names the word of it that is a small payload, above the
// channel; 0: the payload is behind the header. Its highest bit says that the frame is
// the last one of its lap.
const (
	wordSize   = 8
	argsAt     = 2 * wordSize
	placeShift = 4
	placeBits  = 0x7 << placeShift
	lastBit    = 0x80
)

// placeOf is what the first word of a header says of that, 0 or a word.
func placeOf(first uint64) uint64 { return first & placeBits >> placeShift }

// A processor that reads some lines in a row fetches those that follow as well. They would
// be those of the next frame, taken from the sender while it is about to write there. So
// there is a gap behind a frame of several lines, unless the ring is so small that its room
// matters more.
const (
	gap        = 1 << 10
	gapPayload = transport.HeaderSize + 1 // the smallest one that has a gap behind it
	gapRing    = 256 << 10                // and the smallest ring
)

// record is what a frame takes in the ring whose payload stands behind its header: never
// less than a smaller one does, so that what is reserved is enough.
func (r *ring) record(payload uint64) uint64 {
	n := transport.HeaderSize + align(payload)
	if payload >= gapPayload && r.size >= gapRing {
		n += gap
	}
	return n
}

// place says where in the record of a frame its payload stands, and what the record
// takes.
func (r *ring) place(h *transport.Header) (at, n uint64) {
	if h.Size-1 < wordSize {
		for i := len(h.Args) - 1; i >= 0; i-- { // the last ones are used least
			if h.Args[i] == 0 {
				return argsAt + wordSize*uint64(i), transport.HeaderSize
			}
		}
	}
	return transport.HeaderSize, r.record(h.Size)
}

// whole says whether a frame is published as a whole.
func (r *ring) whole(payload uint64) bool { return r.record(payload) <= r.size/2 }

// rest is how many bytes are left of the lap from a position on.
func (r *ring) rest(pos uint64) uint64 { return -pos & (r.size - 1) }

// at returns n bytes at a position.
func (r *ring) at(pos, n uint64) []byte {
	i := pos & (r.size - 1)
	return r.data[i : i+n : i+n]
}

// first is the first word of the header at a position.
func (r *ring) first(pos uint64) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&r.data[pos&(r.size-1)&^(transport.HeaderSize-1)]))
}

// capacity is how many bytes may be published at a time: behind them is room for
// the word that says that nothing is there.
func (r *ring) capacity() uint64 { return r.size - transport.HeaderSize }

// ahead is for how many bytes at most the caches are asked ahead.
const ahead = 1 << 10

// ask lets the next n bytes come from where the sender has written them, while
// something else is done.
func (r *ring) ask(pos, n uint64) {
	toRead(&r.data[pos&(r.size-1)], int(align(min(n, ahead))/transport.HeaderSize))
}

// own takes the next n bytes away from where they were read, for a frame like the one
// before, while there is time.
func (r *ring) own(pos, n uint64) {
	toWrite(&r.data[pos&(r.size-1)], int(align(min(n, ahead))/transport.HeaderSize))
}

// sending is the sender's own knowledge of a ring.
type sending struct {
	ring
	pos   uint64 // where tail is, or will be after the next publish
	seen  uint64 // head when last looked at
	start uint64 // of the frame that was put last,
	word  uint64 // and the first word of its header, 0 when it is published
	laps  laps
}

// free is how much room is known to be free.
func (s *sending) free() uint64 { return s.capacity() - (s.pos - s.seen) }

// room returns how many bytes are free, and looks at the reader's progress
// only if fewer than want are known to be.
func (s *sending) room(want uint64) (uint64, error) {
	if free := s.free(); free >= want {
		return free, nil
	}
	head := s.head.Load()
	// The reader cannot be ahead of the sender, nor go back.
	if s.pos-head > s.pos-s.seen {
		return 0, errCorrupt
	}
	s.seen = head
	return s.free(), nil
}

// fits is room, where only whether it is enough matters.
func (s *sending) fits(want uint64) bool {
	room, err := s.room(want)
	return err == nil && room >= want
}

// await asks to be woken when want bytes are free. The caller looks once more
// afterwards.
func (s *sending) await(want uint64) { s.need.Swap(s.pos + want - s.capacity()) }

// extent is what a frame takes whose record is n bytes: more if it is the last one of its
// lap.
func (s *sending) extent(n uint64) uint64 {
	if s.pos+n < s.laps.look {
		return n
	}
	return s.lap(n)
}

// put writes a header at pos, but for its first word, of a frame whose payload stands
// at a place in its record, and which is the last one of its lap or not.
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

// little is a number whose bytes in memory are those of n on a little-endian machine,
// and the inverse.
func little(n uint64) uint64 {
	if cpu.IsBigEndian {
		return bits.ReverseBytes64(n)
	}
	return n
}

// finish makes a frame visible that ends at pos, as a whole.
func (s *sending) finish() {
	// The Swap orders this store, and all of the frame, before the word: in Go's memory
	// model as in that of the processor. The store itself need not be atomic, as an
	// aligned word is written at once, and nobody looks at it but as said above.
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

// end says that nothing is at a position. It comes before what ends there is published.
func (s *sending) end(pos uint64) {
	binary.LittleEndian.PutUint64(s.at(pos, 8), 0)
}

// reading is the reader's own knowledge of a ring.
type reading struct {
	ring
	pos  uint64 // where head is
	seen uint64 // tail when last looked at
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

// release gives n bytes back to the sender. The caller looks then whether it waits for
// them.
func (r *reading) release(n uint64) {
	r.pos += n
	r.head.Swap(r.pos)
}

// giveBack is release by who changes another word before it looks, such as that of a
// lock: that orders this store as it does those of finish.
func (r *reading) giveBack(n uint64) {
	r.pos += n
	*(*uint64)(unsafe.Pointer(r.head)) = r.pos
}

// awaited reports whether the sender waits for what was given back.
func (r *ring) awaited() bool { return r.need.Load() <= r.head.Load() }
