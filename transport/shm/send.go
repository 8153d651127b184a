//go:build linux

package shm

import (
	"fmt"

	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/internal/queue"
)

// chunk is how much of a long frame is published at a time. The reader copies one piece out
// while the sender copies the next one in.
const chunk = 64 << 10

// sender is the state of sending, guarded by tx.
type sender struct {
	sending
	offset  uint64 // payload bytes of the frame in front that are published
	opened  bool   // the header of the frame in front is published
	midDone bool   // the Mid of the frame in front was called
	waiting bool   // need is set
	ended   bool
}

func (l *link) Send(f *transport.Frame) {
	f.Header.Size = transport.Size(f.Payload)
	if l.sendNow(f) {
		if l.busy.Load() { // another goroutine found tx taken and left a frame
			l.pump()
		}
		queue.Sent(f, nil)
		return
	}
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

// SendNow implements transport.Prompt.
func (l *link) SendNow(h *transport.Header, payload, rest []byte) bool {
	h.Size = uint64(len(payload) + len(rest))
	s := &l.out
	at, n := s.place(h)
	if !l.enter(n) {
		return false
	}
	takes := s.extent(n)
	s.end(s.pos + takes)
	s.put(h, at, takes > n)
	room := s.at(s.pos+at, h.Size)
	copy(room, payload)
	if len(rest) > 0 {
		copy(room[len(payload):], rest)
	}
	l.finishFrame(takes)
	s.own(s.pos+transport.HeaderSize, h.Size)
	l.tx.Unlock()
	if l.busy.Load() { // another goroutine left a frame; callbacks may not run here, so run sends it
		l.hasten()
	}
	return true
}

// sendNow sends f if it fits as a whole and no frame is queued before it. If the link has
// to end, sendNow leaves that, and the error, to write.
func (l *link) sendNow(f *transport.Frame) bool {
	s := &l.out
	at, n := s.place(&f.Header)
	if f.Mid != nil || !l.enter(n) {
		return false
	}
	takes := s.extent(n)
	s.end(s.pos + takes)
	s.put(&f.Header, at, takes > n)
	transport.Gather(s.at(s.pos+at, f.Header.Size), f.Payload, 0)
	l.finishFrame(takes)
	l.tx.Unlock()
	return true
}

// enter takes tx if a record of n bytes fits as a whole and no frame is queued
// before it.
func (l *link) enter(n uint64) bool {
	s := &l.out
	if n > s.size/2 || l.busy.Load() || !l.tx.TryLock() {
		return false
	}
	if !l.busy.Load() && !s.ended && (s.free() >= n || s.fits(n)) {
		return true
	}
	l.tx.Unlock()
	return false
}

// finishFrame makes a whole frame of n bytes visible.
func (l *link) finishFrame(n uint64) {
	l.out.pos += n
	l.out.finish()
	l.peer.ring()
}

// pump sends the frames that fit, unless another goroutine does.
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

// write sends frames until the queue is empty or the ring is full. The caller
// holds tx.
func (l *link) write() (moved, blocked bool) {
	s := &l.out
	for !s.ended {
		l.mu.Lock()
		if l.sendErr != nil {
			failed, err := l.queue.Take(), l.sendErr
			if err != transport.ErrClosed {
				l.failure = err
			}
			l.mu.Unlock()
			l.endSending(endGone)
			queue.Fail(failed, err)
			return true, false
		}
		if l.queue.Len() == 0 {
			l.busy.Store(false)
			if !l.ending {
				l.mu.Unlock()
				return moved, false
			}
			l.sendErr = transport.ErrClosed
			l.mu.Unlock()
			l.endSending(endBye)
			return true, false
		}
		f := l.queue.At(0)
		l.mu.Unlock()
		if s.reader.Load() != endOpen {
			l.fail(transport.ErrPeerGone)
			continue
		}
		m, done, err := l.transfer(f)
		moved = moved || m
		switch {
		case err != nil:
			l.fail(fmt.Errorf("%w: %w", transport.ErrPeerGone, err))
		case done:
			s.offset, s.opened, s.midDone = 0, false, false
			l.mu.Lock()
			l.queue.Pop()
			l.mu.Unlock()
			queue.Sent(f, nil)
		case !l.closed.Load():
			return moved, true
		}
	}
	l.mu.Lock()
	l.busy.Store(false) // no more frames are accepted
	l.mu.Unlock()
	return moved, false
}

// endSending sets the final state of this side's end of the ring.
func (l *link) endSending(end uint32) {
	l.out.ended = true
	l.out.sender.Swap(end)
	l.peer.ring()
	l.endOne()
	l.tell()
}

// secure reports whether want bytes are free. If not, it asks to be woken when they are.
func (s *sender) secure(want uint64) (n uint64, ok bool, err error) {
	if n, err = s.room(want); err == nil && n < want && !s.waiting {
		s.waiting = true
		s.await(want)
		n, err = s.room(want)
	}
	if err == nil && n >= want && s.waiting {
		s.waiting = false
		s.need.Store(noNeed)
	}
	return n, n >= want, err
}

// transfer sends the part of f that fits. It reports whether it sent any bytes, and whether
// f is complete.
func (l *link) transfer(f *transport.Frame) (moved, done bool, err error) {
	s := &l.out
	size := f.Header.Size
	if s.whole(size) {
		at, n := s.place(&f.Header)
		if _, ok, err := s.secure(n); !ok {
			return false, false, err
		}
		takes := s.extent(n)
		s.end(s.pos + takes)
		s.put(&f.Header, at, takes > n)
		payload := s.at(s.pos+at, size)
		if f.Mid == nil {
			transport.Gather(payload, f.Payload, 0)
		} else {
			transport.Gather(payload[:size/2], f.Payload, 0)
			if !f.Mid() {
				l.Close()
				return false, false, nil
			}
			transport.Gather(payload[size/2:], f.Payload, int(size/2))
		}
		l.finishFrame(takes)
		return true, true, nil
	}
	if !s.opened {
		if _, ok, err := s.secure(transport.HeaderSize); !ok {
			return false, false, err
		}
		s.put(&f.Header, transport.HeaderSize, false)
		s.pos += transport.HeaderSize
		s.opened = true
	}
	for s.offset < size {
		if l.closed.Load() || l.peerDead.Load() {
			return moved, false, nil
		}
		limit := size
		if f.Mid != nil && !s.midDone {
			if limit = size / 2; s.offset == limit {
				s.midDone = true
				if !f.Mid() {
					l.Close()
					return moved, false, nil
				}
				continue
			}
		}
		// The padding after the last byte is published with it.
		left := limit - s.offset
		pad := uint64(0)
		if limit == size {
			pad = align(size) - size
		}
		want := min(left+pad, s.size/4)
		room, ok, err := s.secure(want)
		if !ok {
			return moved, false, err
		}
		n := min(left, chunk, room)
		if n == left && n+pad > room {
			n = room - pad
		}
		transport.Gather(s.at(s.pos, n), f.Payload, int(s.offset))
		s.offset += n
		s.pos += n
		if s.offset == size {
			s.pos += pad
			s.end(s.pos)
		}
		s.publish()
		l.peer.ring()
		moved = true
	}
	return moved, true, nil
}
