//go:build mpi && linux

package mpi

import (
	"fmt"

	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/internal/queue"
)

// slots is how many packets can be under way. Every half of them the library is
// asked to say when the peer has taken one, so a peer that does not look is not
// sent more than that.
const slots = 64

// slot is a packet under way.
type slot struct {
	memory []byte
	req    request
	used   bool // req has not been seen complete
}

// sender is the state of sending, guarded by tx.
type sender struct {
	slots [slots]slot
	next  int
	last  slot // for the packet that says that this side has gone
	ended bool

	// The large frame in front of the queue.
	pieces  []piece // nil: not announced yet
	first   int     // the pieces of its first half, if its Mid is to be called
	posted  int
	through int // pieces that are handed over
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

// pump hands over what can be, unless another goroutine is at it.
func (l *link) pump() (moved bool) {
	for l.busy.Load() && l.tx.TryLock() {
		m, blocked := l.write()
		l.tx.Unlock()
		moved = moved || m
		if blocked {
			break
		}
		// What came while tx was held is this goroutine's to send.
	}
	return moved
}

// write hands over frames until the queue is empty or something has to be
// waited for. The caller holds tx.
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

// small hands over a frame that is one packet, if there is room for it.
func (l *link) small(f *transport.Frame) (bool, error) {
	s, err := l.slot(transport.HeaderSize + int(f.Header.Size))
	if s == nil {
		return false, err
	}
	f.Header.Encode((*[transport.HeaderSize]byte)(s.memory))
	size := int(f.Header.Size)
	transport.Gather(s.memory[transport.HeaderSize:][:size], f.Payload, 0)
	if err := l.mid(f); err != nil {
		return false, err
	}
	return true, l.post(s, transport.HeaderSize+size)
}

// mid calls the frame's Mid, which may break the link.
func (l *link) mid(f *transport.Frame) error {
	if f.Mid != nil && !f.Mid() {
		l.Close()
		return transport.ErrClosed
	}
	return nil
}

// large moves a frame whose payload is in pieces, and reports whether it has been
// handed over.
func (l *link) large(f *transport.Frame) (bool, error) {
	s := &l.out
	if s.pieces == nil {
		slot, err := l.slot(packetSize)
		if slot == nil {
			return false, err
		}
		half := uint64(0)
		if f.Mid != nil {
			half = f.Header.Size / 2
		}
		s.pieces, s.first = cut(f.Payload, f.Header.Size, half)
		s.posted, s.through, s.midDone = 0, 0, f.Mid == nil
		if err := l.post(slot, len(announce(slot.memory, &f.Header, s.pieces))); err != nil {
			return false, err
		}
		l.streaming.Add(1)
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
		l.streaming.Add(-1)
	}
	return ok, err
}

// slot returns the next slot with memory for size bytes, or nil if it is in use.
func (l *link) slot(size int) (*slot, error) {
	s := &l.out.slots[l.out.next]
	if s.used {
		ok, err := l.world.complete(&s.req)
		if err != nil {
			return nil, l.broken(err)
		}
		if !ok {
			return nil, nil
		}
		s.used = false
	}
	s.reserve(size)
	return s, nil
}

func (s *slot) reserve(size int) {
	switch {
	case size <= len(s.memory):
	case size <= smallest:
		s.memory = make([]byte, smallest)
	default:
		s.memory = make([]byte, packetSize)
	}
}

// post sends the first n bytes of a slot.
func (l *link) post(s *slot, n int) error {
	matched := l.out.next%(slots/2) == 0
	if err := l.world.send(s.memory[:n], l.peer, l.sends, matched, &s.req); err != nil {
		return l.broken(err)
	}
	s.used = true
	l.out.next = (l.out.next + 1) % slots
	return nil
}

// control sends a packet without content, if there is room for it.
func (l *link) control(kind byte) (bool, error) {
	s, err := l.slot(transport.HeaderSize)
	if s == nil {
		return false, err
	}
	s.memory[0] = kind
	return true, l.post(s, 1)
}

// leave ends this direction and says so to the peer: to one that is dead for
// certain too, for what this process took for a death may have been none.
func (l *link) leave() {
	s := &l.out
	s.ended = true
	if !l.peerGone.Load() {
		s.last.reserve(1)
		s.last.memory[0] = packetGone
		s.last.used = l.world.send(s.last.memory[:1], l.peer, l.sends, false, &s.last.req) == nil
	}
	if s.pieces != nil {
		l.streaming.Add(-1)
	}
	l.endOne()
}

// settled reports whether the library is through with all that was sent. The
// caller holds tx.
func (l *link) settled() bool {
	s := &l.out
	if s.pieces != nil {
		for ; s.through < s.posted; s.through++ {
			if ok, _ := l.world.complete(&s.pieces[s.through].req); !ok {
				return false
			}
		}
	}
	for i := range s.slots {
		if !l.free(&s.slots[i]) {
			return false
		}
	}
	return l.free(&s.last)
}

// free reports whether the library is through with a slot.
func (l *link) free(s *slot) bool {
	if s.used {
		ok, _ := l.world.complete(&s.req)
		s.used = !ok
	}
	return !s.used
}

// broken says that the library could not send or receive.
func (l *link) broken(err error) error {
	return fmt.Errorf("MPI rank %d: %w: %w", l.peer, transport.ErrPeerGone, err)
}
