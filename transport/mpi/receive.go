//go:build mpi && linux

package mpi

import (
	"errors"
	"fmt"
	"time"

	"github.com/intrahpc/intra/transport"
)

// ahead is how many packets the library can fill before this side looks at one. Handled
// packets are posted again when nothing else has arrived, or when more than half of all are
// handled.
const ahead = 4

// quiet is how long nothing may arrive from a dead peer before everything that it sent
// counts as received.
const quiet = 5 * time.Millisecond

// receiver is the state of receiving, guarded by rx.
type receiver struct {
	packets [ahead]incoming
	next    int  // index of the next packet to arrive
	taken   int  // number of packets before next that are not posted again
	posted  bool // all packets have been posted for the first time
	ended   bool
	moved   time.Time // when packets from the dead peer stopped arriving; zero: not yet

	end       error // the argument of Closed, once hasEnded is set
	hasEnded  bool  // the peer sends nothing more
	canceled  bool  // the receives under way are cancelled, since the link ends
	reason    error // why they are cancelled
	abandoned bool  // receives from a dead peer remain

	// The large frame being received.
	inside  bool
	whole   bool // the sender has sent all of it
	header  transport.Header
	memory  []byte
	own     bool   // memory belongs to the link
	spare   []byte // own memory of an earlier frame
	pieces  []piece
	through int // number of pieces received
	got     int // bytes in these pieces
}

// incoming is the memory of a packet, and its receive.
type incoming struct {
	memory []byte
	req    request
	posted bool
}

// receive delivers the frames that have arrived. The caller holds rx.
func (l *link) receive() (moved bool) {
	in := &l.in
	if in.ended {
		return false
	}
	if !in.posted {
		for i := range in.packets {
			in.packets[i].memory = make([]byte, packetSize)
			l.await(&in.packets[i])
		}
		in.posted = true
	}
	for {
		if in.canceled {
			return l.finishReceiving(in.reason) || moved
		}
		if l.closed.Load() {
			return l.finishReceiving(transport.ErrClosed) || moved
		}
		came := l.fill()
		if in.inside && in.whole && in.through == len(in.pieces) {
			memory := in.memory
			in.inside, in.memory, in.pieces = false, nil, nil
			if in.own {
				in.spare = memory
			}
			l.stream(-1)
			l.receiver.End(&in.header, memory)
			moved = true
			continue
		}
		if in.hasEnded {
			return l.finishReceiving(in.end) || moved
		}
		if !(in.inside && in.whole) && l.take() {
			came = true
		}
		if came {
			in.moved = time.Time{}
			moved = true
			if in.inside || in.hasEnded {
				continue
			}
			return true // a waiter's condition may hold now
		}
		l.refill()
		if !l.peerDead.Load() {
			return moved
		}
		if in.moved.IsZero() {
			in.moved = time.Now()
		}
		if time.Since(in.moved) < quiet {
			return moved
		}
		return l.finishReceiving(transport.ErrPeerGone) || moved
	}
}

// fill checks whether pieces have arrived.
func (l *link) fill() (moved bool) {
	in := &l.in
	for in.inside && in.through < len(in.pieces) {
		p := &in.pieces[in.through]
		ok, err := l.world.complete(&p.req)
		if err != nil {
			l.lost(l.broken(err))
			return true
		}
		if !ok {
			break
		}
		in.through++
		in.got += len(p.data)
		moved = true
	}
	return moved
}

// take handles the next packet, if it has arrived.
func (l *link) take() bool {
	in := &l.in
	p := &in.packets[in.next]
	looks := 1
	if in.taken == 0 { // nothing else has arrived
		looks = int(l.world.looks.Load())
	}
	ok, err := l.world.completeSoon(&p.req, looks)
	if err != nil {
		l.lost(l.broken(err))
		return true
	}
	if !ok {
		return false
	}
	p.posted = false
	in.next = (in.next + 1) % ahead
	in.taken++
	l.accept(p.memory)
	if in.taken > ahead/2 {
		l.refill()
	}
	return true
}

// refill posts the handled packets again, in order.
func (l *link) refill() {
	in := &l.in
	for ; in.taken > 0 && !in.hasEnded; in.taken-- {
		l.await(&in.packets[(in.next-in.taken+ahead)%ahead])
	}
}

// await posts a packet for the library to fill.
func (l *link) await(p *incoming) {
	if err := l.world.receive(p.memory, l.peer, l.receives, &p.req); err != nil {
		l.lost(l.broken(err))
		return
	}
	p.posted = true
}

// lost ends the link after an error from which the link cannot recover.
func (l *link) lost(err error) {
	l.in.hasEnded, l.in.end = true, err
	l.fail(err)
}

// accept handles one packet.
func (l *link) accept(b []byte) {
	in := &l.in
	switch b[0] {
	case packetGone:
		l.peerGone.Store(true)
		l.lost(transport.ErrPeerGone)
		return
	case packetBye:
		in.hasEnded = true
		return
	case packetWhole:
		in.whole = true
		return
	case packetProbe:
		return
	}
	if in.inside {
		l.lost(l.broken(errors.New("a frame in the middle of a large one")))
		return
	}
	large := b[0]&packetLarge != 0
	b[0] &^= packetLarge
	h := &in.header // reused, since a new header that the Receiver may keep would be allocated
	if err := h.Decode((*[transport.HeaderSize]byte)(b)); err != nil {
		l.lost(l.broken(err))
		return
	}
	if !large {
		if h.Size > packetSize-transport.HeaderSize {
			l.lost(l.broken(fmt.Errorf("a packet with a payload of %d bytes", h.Size)))
			return
		}
		end := transport.HeaderSize + int(h.Size)
		l.receiver.End(h, b[transport.HeaderSize:end:end])
		return
	}
	in.inside, in.whole, in.through, in.got = true, false, 0, 0
	in.memory = l.receiver.Begin(h)
	if in.own = in.memory == nil; in.own {
		if in.memory, in.spare = in.spare, nil; uint64(cap(in.memory)) < h.Size {
			in.memory = make([]byte, h.Size)
		}
	}
	in.memory = in.memory[:h.Size]
	l.stream(1)
	if in.pieces = announced(b[transport.HeaderSize:], in.memory); in.pieces == nil {
		l.lost(l.broken(fmt.Errorf("the pieces of a payload of %d bytes do not add up", h.Size)))
		return
	}
	for i := range in.pieces {
		p := &in.pieces[i]
		if err := l.world.receive(p.data, l.peer, l.receives+1, &p.req); err != nil {
			in.pieces = in.pieces[:i]
			l.lost(l.broken(err))
			return
		}
	}
}

// finishReceiving makes the last calls to the Receiver. All receives under way must end
// first, since the library must not write to memory that the link has given back. Only
// receives from a dead peer may remain, since they never write.
func (l *link) finishReceiving(err error) bool {
	in := &l.in
	if !in.canceled {
		in.canceled, in.reason = true, err
		for i := range in.packets {
			if p := &in.packets[i]; p.posted {
				l.world.cancel(&p.req)
			}
		}
		for i := in.through; i < len(in.pieces); i++ {
			l.world.cancel(&in.pieces[i].req)
		}
		in.moved = time.Now()
	}
	settled := true
	for i := range in.packets {
		if p := &in.packets[i]; p.posted {
			ok, _ := l.world.complete(&p.req)
			p.posted = !ok
			settled = settled && ok
		}
	}
	for in.through < len(in.pieces) {
		if ok, _ := l.world.complete(&in.pieces[in.through].req); !ok {
			settled = false
			break
		}
		in.through++
	}
	if !settled && !(l.peerDead.Load() && time.Since(in.moved) >= quiet) {
		return false
	}
	in.ended = true
	if in.inside {
		in.inside = false
		l.stream(-1)
		l.receiver.Torn(&in.header, min(in.got, len(in.memory)-1))
	}
	l.mu.Lock()
	l.closeErr = err
	if err != nil && l.sendErr == nil {
		l.sendErr = err
		l.busy.Store(true)
	}
	l.mu.Unlock()
	l.receiver.Closed(err)
	if err != nil {
		l.pump()
	}
	in.abandoned = !settled
	l.endOne()
	return true
}
