package tcp

import (
	"github.com/intrahpc/intra/transport"
)

// entry is one frame in an outbox. It is kept until it has been handed over to
// the kernel or, by a reconnecting link, until the peer has acknowledged it.
type entry struct {
	frame     *transport.Frame // nil once its owner has it back
	header    transport.Header
	copied    []byte // copy of the payload, once the owner has got the frame back
	copyEnd   int    // end of the copy in the arena
	held      bool   // handed over, but its owner gets the frame back only when the peer has acknowledged it
	droppable bool
	lost      bool // only the header is sent, to report that the payload will not arrive
	bye       bool // the goodbye of the link
	midDone   bool // its Mid was called
	sums      bool // the link has checksums
	summed    bool // sum is set
	sum       [sumSize]byte
}

// size returns the length of the entry on the wire.
func (e *entry) size() int {
	if e.lost || e.bye {
		return transport.HeaderSize
	}
	n := transport.HeaderSize + int(e.header.Size)
	if e.sums && e.header.Size > 0 {
		n += sumSize
	}
	return n
}

// tail returns the bytes that follow the payload.
func (e *entry) tail() []byte {
	if !e.sums || e.lost || e.bye || e.header.Size == 0 {
		return nil
	}
	if !e.summed {
		var one [1][]byte
		e.sum, e.summed = payloadSum(e.payload(&one)...), true
	}
	return e.sum[:]
}

// mid returns the kill point of the frame, nil if there is none or it has passed.
func (e *entry) mid() func() bool {
	if e.frame == nil || e.midDone {
		return nil
	}
	return e.frame.Mid
}

// payload returns the pieces of the payload. one is storage for a single piece.
func (e *entry) payload(one *[1][]byte) [][]byte {
	switch {
	case e.lost || e.bye:
		return nil
	case e.frame != nil:
		return e.frame.Payload
	case e.copied != nil:
		one[0] = e.copied
		return one[:]
	}
	return nil
}

// outbox holds the entries that a link has to send, in order. The entries before next are
// handed over; a reconnecting link keeps them until they are acknowledged. The outbox
// reuses its memory, so that a link in a steady state does not allocate. The caller
// provides the locking.
type outbox struct {
	entries []entry
	head    int    // entries before this index are removed
	next    int    // number of entries that are handed over, counted from head
	acked   uint64 // number of entries removed so far
	known   uint64 // number of entries that the peer has acknowledged; those of them that are handed over can be removed
	copies  arena
}

func (o *outbox) len() int        { return len(o.entries) - o.head }
func (o *outbox) waiting() int    { return o.len() - o.next }
func (o *outbox) at(i int) *entry { return &o.entries[o.head+i] }

func (o *outbox) push(e entry) {
	if o.head > 0 && len(o.entries) == cap(o.entries) {
		n := copy(o.entries, o.entries[o.head:])
		clear(o.entries[n:])
		o.entries, o.head = o.entries[:n], 0
	}
	o.entries = append(o.entries, e)
}

// pop removes the first entry, which must have been handed over.
func (o *outbox) pop() entry {
	e := *o.at(0)
	*o.at(0) = entry{}
	if e.copied != nil {
		o.copies.free(e.copyEnd)
	}
	o.head++
	o.next--
	o.acked++
	if o.head == len(o.entries) {
		o.entries, o.head = o.entries[:0], 0
	}
	return e
}

// take empties the outbox and returns its frames.
func (o *outbox) take() (frames []*transport.Frame) {
	for i := range o.len() {
		if f := o.at(i).frame; f != nil {
			frames = append(frames, f)
		}
	}
	o.entries, o.head, o.next, o.copies = nil, 0, 0, arena{}
	return frames
}

const (
	arenaSize = 256 << 10
	// Payloads up to copyLimit are copied until they are acknowledged, and their
	// owners get them back at once.
	copyLimit = 16 << 10
)

// arena is memory for copies that are made and freed in the same order. While it is full
// the link makes no copies, and owners get their frames back only after an acknowledgement.
type arena struct {
	memory []byte
	first  int // beginning of the bytes in use
	end    int // end of the bytes in use
	used   int // number of copies
}

// copyOf returns a copy of a payload of n bytes and the position where it ends. It returns
// nil if there is no room.
func (a *arena) copyOf(payload [][]byte, n int) (b []byte, end int) {
	if n > copyLimit {
		return nil, 0
	}
	if a.memory == nil {
		a.memory = make([]byte, arenaSize)
	}
	if a.used == 0 {
		a.first, a.end = 0, 0
	}
	at := a.end
	switch {
	case a.end < a.first || a.used > 0 && a.end == a.first: // the bytes in use wrap around
		if a.first-a.end < n {
			return nil, 0
		}
	case len(a.memory)-a.end < n:
		if a.first < n {
			return nil, 0
		}
		at = 0
	}
	b = a.memory[at : at+n : at+n]
	transport.Gather(b, payload, 0)
	a.end = at + n
	a.used++
	return b, a.end
}

// free returns the room of the oldest copy, which ends at end, to the arena.
func (a *arena) free(end int) {
	a.used--
	a.first = end
}
