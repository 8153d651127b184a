//go:build linux

package shm

import (
	"fmt"
	"sync/atomic"

	"github.com/intrahpc/intra/transport"
)

// budget bounds the bytes that one receive delivers, so that a waiting goroutine can check
// its condition from time to time.
const budget = 1 << 20

// A long payload that the Receiver leaves to the link goes to memory that grows
// as bytes arrive, because a header may lie about the size.
const growStep = 1 << 20

// receiver is the state of receiving, guarded by rx.
type receiver struct {
	reading
	header transport.Header
	inside bool        // Begin was called and End was not
	long   atomic.Bool // inside, for readers without rx
	place  []byte      // memory for the payload; if it belongs to the link, it grows as bytes arrive
	own    bool        // place belongs to the link
	got    uint64
	spare  []byte // memory of the link, used for an earlier frame
	ended  bool
}

// receive delivers the frames that have arrived, and reports whether there were any. The
// caller holds rx. If one is set, receive delivers a single frame and leaves two things to
// its caller. It does not ring for the room of a whole frame: the caller does that after it
// has unlocked rx. It does not look for a further frame either: that look would cost a
// cache miss, since the sender has just written there.
func (l *link) receive(one bool) (moved bool) {
	r := &l.in
	for left := int64(budget); left > 0 && !r.ended; {
		if l.closed.Load() {
			l.finish(transport.ErrClosed)
			return true
		}
		// Read these before tail and the frame. Then the reads that follow see everything
		// that an ended sender has published.
		end, dead := r.sender.Load(), l.peerDead.Load()
		var n uint64
		var err error
		if r.inside || end != endOpen || dead {
			n, err = r.available()
			if n > 0 && !r.inside && !r.there() { // the sender died before it published this frame
				n, end = 0, endGone
			}
		} else if r.there() {
			n = r.size // no frame can be larger
		}
		switch {
		case err != nil:
		case n > 0:
			moved = true
			var took uint64
			if took, err = l.accept(n, one); err == nil {
				if one && !r.inside {
					return true
				}
				left -= int64(took)
				continue
			}
		case end == endBye && !r.inside:
			l.finish(nil)
			return true
		case end != endOpen || dead:
			l.finish(transport.ErrPeerGone)
			return true
		default:
			return moved
		}
		l.finish(fmt.Errorf("%w: %w", transport.ErrPeerGone, err))
		return true
	}
	return moved
}

// accept delivers the next frame, or the next piece of one, from n available bytes, and
// returns how many it used. If one is set, accept does not ring for a whole frame: see
// receive.
func (l *link) accept(n uint64, one bool) (took uint64, err error) {
	r := &l.in
	if !r.inside {
		if n < transport.HeaderSize {
			return 0, errCorrupt
		}
		first := little(r.first(r.pos).Load())
		if placeOf(first) == 0 {
			r.ask(r.pos+transport.HeaderSize, transport.HeaderSize)
		}
		at, err := r.decode(first)
		if err != nil {
			return 0, err
		}
		size := r.header.Size
		if at < transport.HeaderSize || r.whole(size) {
			if size > transport.HeaderSize {
				r.ask(r.pos+2*transport.HeaderSize, size-transport.HeaderSize)
			}
			if took = transport.HeaderSize; at == took {
				took = r.record(size)
			}
			if first&lastBit != 0 {
				took += r.rest(r.pos + took)
			}
			if took > n {
				return 0, errCorrupt
			}
			l.receiver.End(&r.header, r.at(r.pos+at, size))
			if one {
				r.giveBack(took)
			} else {
				l.release(took)
			}
			r.seen = max(r.seen, r.pos)
			return took, nil
		}
		if first&lastBit != 0 {
			return 0, errCorrupt
		}
		l.release(transport.HeaderSize)
		r.inside, r.got, r.seen = true, 0, r.pos
		r.long.Store(true)
		r.place = l.receiver.Begin(&r.header)
		if r.own = r.place == nil; r.own {
			r.place, r.spare = r.spare[:min(uint64(cap(r.spare)), size)], nil
		} else {
			r.place = r.place[:size:size]
		}
		return transport.HeaderSize, nil
	}
	size := r.header.Size
	last := n >= align(size)-r.got
	piece := min(n, chunk)
	if left := size - r.got; left < piece || left == piece && !last {
		// All bytes up to the end are there, or the sender has omitted the
		// padding.
		if !last {
			return 0, errCorrupt
		}
		piece = left
	}
	if r.own {
		r.grow(r.got + piece)
	}
	copy(r.place[r.got:], r.at(r.pos, piece))
	r.got += piece
	took = piece
	if r.got == size {
		took += align(size) - size
	}
	l.release(took)
	if r.got == size {
		payload := r.place[:size]
		if r.own {
			r.spare = r.place
		}
		r.inside, r.place = false, nil
		r.long.Store(false)
		l.receiver.End(&r.header, payload)
	}
	return took, nil
}

// decode decodes the header at pos, whose first word is given, and returns where
// in the record the payload begins. It reads each byte once: the other process
// could change it in between.
func (r *receiver) decode(first uint64) (at uint64, err error) {
	at = placeOf(first) * wordSize
	head := (*[transport.HeaderSize]byte)(r.at(r.pos, transport.HeaderSize))
	if err := r.header.DecodeRest(first&^(placeBits|lastBit), head); err != nil {
		return 0, err
	}
	switch {
	case at == 0:
		return transport.HeaderSize, nil
	case at < argsAt || at >= transport.HeaderSize || r.header.Size-1 >= wordSize:
		return 0, errCorrupt
	}
	r.header.Args[(at-argsAt)/wordSize] = 0
	return at, nil
}

// grow makes the link's own memory for a frame at least n bytes long.
func (r *receiver) grow(n uint64) {
	if n <= uint64(len(r.place)) {
		return
	}
	place := make([]byte, min(max(n, 2*uint64(len(r.place)), growStep), r.header.Size))
	copy(place, r.place[:r.got])
	r.place = place
}

// release returns the room of n bytes to the peer, and wakes the peer if it waits for room.
func (l *link) release(n uint64) {
	if l.in.reading.release(n); l.in.awaited() {
		l.peer.ring()
	}
}

// finish makes the last calls of the Receiver.
func (l *link) finish(err error) {
	r := &l.in
	if r.inside {
		r.inside, r.place = false, nil
		r.long.Store(false)
		l.receiver.Torn(&r.header, int(r.got))
	}
	l.mu.Lock()
	l.closeErr, l.received = err, true
	l.mu.Unlock()
	if err != nil {
		l.fail(err)
	}
	l.leave()
	l.receiver.Closed(err)
	l.endOne()
	l.tell()
}

// leave marks the ring as no longer read.
func (l *link) leave() {
	l.in.ended = true
	l.in.reader.Swap(endGone)
	l.peer.ring()
}
