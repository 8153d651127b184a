package inproc

import (
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/internal/queue"
)

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
	l.mu.Unlock()
	l.pump()
}

// pump hands over the frames that fit, unless another goroutine does so, and reports
// whether anything moved.
func (l *link) pump() (moved bool) {
	l.mu.Lock()
	if l.pumping {
		l.mu.Unlock()
		return false
	}
	l.pumping = true
	for {
		if l.sendErr != nil {
			failed, err := l.queue.Take(), l.sendErr
			l.mu.Unlock()
			queue.Fail(failed, err)
			l.mu.Lock()
			l.pumping = false
			l.mu.Unlock()
			l.settle()
			return moved || len(failed) > 0
		}
		if l.queue.Len() == 0 {
			if !l.ending {
				break
			}
			l.out.finish(endBye)
			l.sendErr = transport.ErrClosed
			moved = true
			l.peer.notify()
			continue
		}
		f := l.queue.At(0)
		l.mu.Unlock()
		n, whole, open := l.transfer(f)
		if n > 0 || whole {
			moved = true
			l.peer.notifyIdle()
		}
		if whole {
			queue.Sent(f, nil)
		}
		l.mu.Lock()
		switch {
		case whole:
			// The frame was kept until here so that the frames of a failed link are
			// returned in order.
			l.queue.Pop()
		case !open:
			if l.sendErr == nil {
				l.sendErr = transport.ErrPeerGone
			}
		case n == 0:
			l.pumping = false
			l.mu.Unlock()
			// Room may have appeared after the check, while this goroutine still kept
			// others from pumping.
			if l.out.writable() {
				l.notifyIdle()
			}
			return moved
		}
	}
	l.pumping = false
	l.mu.Unlock()
	return moved
}

// transfer hands over the next piece of f. It reports the size of the piece, whether the
// frame is complete, and whether the pipe is still open.
func (l *link) transfer(f *transport.Frame) (n int, whole, open bool) {
	size := int(f.Header.Size)
	stream := cost(size) > l.out.capacity && size > 0
	want := size - l.sent
	if stream && !l.midDone {
		want = max(size/2-l.sent, 0)
	}
	if stream && want == 0 {
		l.midDone = true
		if f.Mid != nil && !f.Mid() {
			l.Close()
			return 0, false, false
		}
		want = size - l.sent
	}
	buf, ok, open := l.out.reserve(want, stream)
	if !ok {
		return 0, false, open
	}
	if !stream {
		half := size / 2
		transport.Gather(buf[:half], f.Payload, 0)
		if f.Mid != nil && !f.Mid() {
			l.out.release(buf)
			l.Close()
			return 0, false, false
		}
		transport.Gather(buf[half:], f.Payload, half)
	} else {
		transport.Gather(buf, f.Payload, l.sent)
	}
	n = len(buf)
	whole = l.sent+n == size
	if !l.out.put(chunk{header: f.Header, data: buf, first: !l.opened, last: whole}) {
		return 0, false, false
	}
	l.opened = true
	l.sent += n
	if whole {
		l.sent, l.opened, l.midDone = 0, false, false
	}
	return n, whole, true
}
