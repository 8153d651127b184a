//go:build mpi && linux

package mpi

import (
	"fmt"
	"unsafe"

	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/internal/queue"
)

// slots is how many packets can be under way. The first packet of each half uses a
// synchronous send, which completes only when the peer receives it. This bounds the number
// of packets for a peer that does not receive.
const (
	slots = 64
	half  = slots / 2
)

// sender is the state of sending, guarded by tx.
type sender struct {
	memory   [slots][]byte
	requests [slots]request // consecutive in memory as the library's arrays of requests are
	used     [2]int         // number of requests of each half that may be incomplete
	next     int
	last     struct { // the packet that reports that this side has gone
		memory [1]byte
		req    request
		used   bool
	}
	ended bool
	probe probe

	// The large frame in front of the queue.
	pieces  []piece // nil: not announced yet
	first   int     // number of pieces in the first half, if its Mid is to be called
	posted  int
	through int // number of pieces sent
	midDone bool
}

func (l *link) Send(f *transport.Frame) {
	f.Header.Size = transport.Size(f.Payload)
	l.mu.Lock()
	err := l.sendErr
	if err == nil && l.ending {
		err = transport.ErrClosed
	}
	if err != nil {
		l.mu.Unlock()
		queue.Sent(f, err)
		return
	}
	l.queue.Push(f)
	l.busy.Store(true)
	l.mu.Unlock()
	l.pump()
}

// pump sends as many frames as possible without waiting, unless another goroutine does.
func (l *link) pump() (moved bool) {
	for l.busy.Load() && l.tx.TryLock() {
		m, blocked := l.write()
		l.tx.Unlock()
		moved = moved || m
		if blocked {
			break
		}
		// Frames queued while tx was held are left for this goroutine.
	}
	return moved
}

// write sends frames until the queue is empty or it would have to wait. The
// caller holds tx.
func (l *link) write() (moved, blocked bool) {
	s := &l.out
	for {
		l.mu.Lock()
		switch {
		case l.sendErr != nil:
			failed, err := l.queue.Take(), l.sendErr
			if err != transport.ErrClosed && len(failed) > 0 {
				l.failure = err
			}
			l.busy.Store(false)
			l.mu.Unlock()
			if !s.ended {
				l.leave()
			}
			queue.Fail(failed, err)
			return moved || len(failed) > 0, false
		case l.queue.Len() == 0 && l.ending && !s.ended:
			l.mu.Unlock()
			ok, err := l.control(packetBye)
			if err != nil {
				l.fail(err)
				continue
			}
			if !ok {
				return moved, true
			}
			s.ended = true
			l.endOne()
			return true, false
		case l.queue.Len() == 0:
			l.busy.Store(false)
			l.mu.Unlock()
			return moved, false
		}
		f := l.queue.At(0)
		l.mu.Unlock()
		var whole bool
		var err error
		if transport.HeaderSize+f.Header.Size <= packetSize {
			whole, err = l.small(f)
		} else {
			whole, err = l.large(f)
		}
		if err != nil {
			l.fail(err)
			continue
		}
		if !whole {
			return moved, true
		}
		moved = true
		l.mu.Lock()
		l.queue.Pop()
		l.mu.Unlock()
		queue.Sent(f, nil)
	}
}

// SendNow implements transport.Prompt.
func (l *link) SendNow(h *transport.Header, payload, rest []byte) bool {
	n := transport.HeaderSize + len(payload) + len(rest)
	if n > packetSize || l.busy.Load() || !l.tx.TryLock() {
		return false
	}
	defer l.tx.Unlock()
	if l.busy.Load() || l.out.ended {
		return false
	}
	b, err := l.slot(n)
	if b == nil || err != nil {
		return false // Send finds the reason
	}
	h.Size = uint64(len(payload) + len(rest))
	h.Encode((*[transport.HeaderSize]byte)(b))
	copy(b[transport.HeaderSize+copy(b[transport.HeaderSize:], payload):], rest)
	return l.post(b[:n]) == nil
}

// small sends a frame that fits into one packet, if there is room for it.
func (l *link) small(f *transport.Frame) (bool, error) {
	size := int(f.Header.Size)
	b, err := l.slot(transport.HeaderSize + size)
	if b == nil {
		return false, err
	}
	f.Header.Encode((*[transport.HeaderSize]byte)(b))
	transport.Gather(b[transport.HeaderSize:][:size], f.Payload, 0)
	if err := l.mid(f); err != nil {
		return false, err
	}
	return true, l.post(b[:transport.HeaderSize+size])
}

// mid calls the frame's Mid, which may break the link.
func (l *link) mid(f *transport.Frame) error {
	if f.Mid != nil && !f.Mid() {
		l.Close()
		return transport.ErrClosed
	}
	return nil
}

// large moves a frame whose payload is in pieces, and reports whether all of it
// was sent.
func (l *link) large(f *transport.Frame) (bool, error) {
	s := &l.out
	if s.pieces == nil {
		b, err := l.slot(packetSize)
		if b == nil {
			return false, err
		}
		mid := uint64(0)
		if f.Mid != nil {
			mid = f.Header.Size / 2
		}
		s.pieces, s.first = cut(f.Payload, f.Header.Size, mid)
		s.posted, s.through, s.midDone = 0, 0, f.Mid == nil
		if err := l.post(announce(b, &f.Header, s.pieces)); err != nil {
			return false, err
		}
		l.stream(1)
	}
	for s.through < len(s.pieces) {
		until := len(s.pieces)
		if !s.midDone {
			until = s.first
		}
		for ; s.posted < until; s.posted++ {
			p := &s.pieces[s.posted]
			if err := l.world.send(p.data, l.peer, l.sends+1, false, &p.req); err != nil {
				return false, l.broken(err)
			}
		}
		for s.through < until {
			ok, err := l.world.complete(&s.pieces[s.through].req)
			if err != nil {
				return false, l.broken(err)
			}
			if !ok {
				return false, nil
			}
			s.through++
		}
		if !s.midDone {
			if err := l.mid(f); err != nil {
				return false, err
			}
			s.midDone = true
		}
	}
	ok, err := l.control(packetWhole)
	if ok {
		s.pieces = nil
		l.stream(-1)
	}
	return ok, err
}

// slot returns memory of size bytes for the next packet, or nil if that memory is in use. A
// half is free when the library has completed all of its packets.
func (l *link) slot(size int) ([]byte, error) {
	s := &l.out
	if s.next%half == 0 {
		ok, err := l.through(s.next / half)
		if !ok || err != nil {
			return nil, err
		}
	}
	b := &s.memory[s.next]
	switch {
	case size <= len(*b):
	case size <= smallest:
		*b = make([]byte, smallest)
	default:
		*b = make([]byte, packetSize)
	}
	return *b, nil
}

// post sends the packet written into the slot.
func (l *link) post(b []byte) error {
	s := &l.out
	if err := l.world.send(b, l.peer, l.sends, s.next%half == 0, l.request(s.next)); err != nil {
		return l.broken(err)
	}
	s.used[s.next/half]++
	s.next = (s.next + 1) % slots
	return nil
}

// request returns the handle of a slot.
func (l *link) request(slot int) *request {
	return (*request)(unsafe.Add(unsafe.Pointer(&l.out.requests), slot*l.world.lib.requestSize))
}

// through reports whether the library has completed the packets of the given half.
func (l *link) through(of int) (bool, error) {
	s := &l.out
	if s.used[of] == 0 {
		return true, nil
	}
	ok, err := l.world.completeAll(l.request(of*half), s.used[of])
	if err != nil {
		return false, l.broken(err)
	}
	if ok {
		s.used[of] = 0
	}
	return ok, nil
}

// control sends a packet without content, if there is room for it.
func (l *link) control(kind byte) (bool, error) {
	b, err := l.slot(transport.HeaderSize)
	if b == nil {
		return false, err
	}
	b[0] = kind
	return true, l.post(b[:1])
}

// leave ends this direction and reports that to the peer. It does so even if the peer was
// declared dead, because the peer may still be running.
func (l *link) leave() {
	s := &l.out
	s.ended = true
	if !l.peerGone.Load() {
		s.last.memory[0] = packetGone
		s.last.used = l.world.send(s.last.memory[:], l.peer, l.sends, false, &s.last.req) == nil
	}
	l.endOne()
}

// settled reports whether the library has completed all that was sent. The caller
// holds tx.
func (l *link) settled() bool {
	s := &l.out
	if s.pieces != nil {
		for ; s.through < s.posted; s.through++ {
			if ok, _ := l.world.complete(&s.pieces[s.through].req); !ok {
				return false
			}
		}
	}
	for i := range s.used {
		if ok, _ := l.through(i); !ok {
			return false
		}
	}
	if s.probe.sent {
		ok, _ := l.world.complete(&s.probe.req)
		s.probe.sent = !ok
	}
	if s.last.used {
		ok, _ := l.world.complete(&s.last.req)
		s.last.used = !ok
	}
	return !s.last.used && !s.probe.sent
}

// broken returns the error of a failed call of the library.
func (l *link) broken(err error) error {
	return fmt.Errorf("MPI rank %d: %w: %w", l.peer, transport.ErrPeerGone, err)
}
