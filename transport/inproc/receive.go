package inproc

import "github.com/intrahpc/intra/transport"

// deliver passes the chunks that have arrived to the Receiver, unless another goroutine
// does, and reports whether there were any.
func (l *link) deliver() (moved bool) {
	l.mu.Lock()
	if l.delivered || !l.started || l.received {
		l.mu.Unlock()
		return false
	}
	l.delivered = true
	for !l.closed {
		l.mu.Unlock()
		pc, ok, end := l.in.take()
		if !ok {
			if end == endOpen {
				l.mu.Lock()
				l.delivered = false
				l.mu.Unlock()
				// A chunk may have arrived after the last look, while this goroutine still
				// kept others from delivering.
				if l.in.readable() {
					l.notifyIdle()
				}
				return moved
			}
			l.finish(end)
			return true
		}
		l.accept(pc)
		l.in.release(pc.data)
		l.peer.notifyIdle()
		moved = true
		l.mu.Lock()
	}
	l.mu.Unlock()
	l.finish(endGone)
	return true
}

// accept delivers one chunk.
func (l *link) accept(pc chunk) {
	if pc.first && pc.last {
		l.header = pc.header
		l.receiver.End(&l.header, pc.data)
		return
	}
	if pc.first {
		l.header, l.got, l.inside = pc.header, 0, true
		l.memory = l.receiver.Begin(&l.header)
		if l.memory == nil {
			l.memory = make([]byte, l.header.Size)
		}
	}
	l.got += copy(l.memory[l.got:l.header.Size], pc.data)
	if pc.last {
		memory := l.memory[:l.header.Size]
		l.inside, l.memory = false, nil
		l.receiver.End(&l.header, memory)
	}
}

// finish makes the last calls of the Receiver.
func (l *link) finish(end end) {
	if l.inside {
		l.inside, l.memory = false, nil
		l.receiver.Torn(&l.header, l.got)
	}
	l.mu.Lock()
	switch {
	case l.closed:
		l.closedErr = transport.ErrClosed
	case end == endGone:
		l.closedErr = transport.ErrPeerGone
	}
	err := l.closedErr
	l.mu.Unlock()
	l.receiver.Closed(err)
	l.mu.Lock()
	l.received, l.delivered = true, false
	l.mu.Unlock()
	l.settle()
}

// settle ends run when both directions have ended.
func (l *link) settle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.received || l.sendErr == nil || l.queue.Len() > 0 || l.pumping {
		return
	}
	select {
	case <-l.done:
	default:
		close(l.done)
	}
}
