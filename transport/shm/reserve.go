//go:build linux

package shm

import (
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/internal/queue"
)

// Reserve implements transport.Reserver. The caller holds tx from here to
// Commit or Cancel, which keeps the ring mapped and others from writing.
func (l *link) Reserve(size int) []byte {
	s := &l.out
	if size <= 0 || !s.whole(uint64(size)) || !l.tx.TryLock() {
		return nil
	}
	if l.free(uint64(size)) {
		return s.at(s.pos+transport.HeaderSize, uint64(size))
	}
	l.tx.Unlock()
	l.pump()
	return nil
}

// free reports whether a frame could be written as a whole right now.
func (l *link) free(size uint64) bool {
	s := &l.out
	l.write() // what was queued before goes first
	l.mu.Lock()
	idle := l.queue.Len() == 0 && l.sendErr == nil && !l.ending
	l.mu.Unlock()
	if !idle || s.ended || s.reader.Load() != endOpen {
		return false
	}
	room, err := s.room(s.record(size))
	return err == nil && room >= s.record(size)
}

// Commit implements transport.Reserver.
func (l *link) Commit(f *transport.Frame) {
	f.Header.Size = transport.Size(f.Payload)
	l.mu.Lock()
	err := l.sendErr // it may have ended meanwhile
	l.mu.Unlock()
	if err == nil && (f.Mid == nil || f.Mid()) {
		s := &l.out
		n := s.record(f.Header.Size)
		takes := s.extent(n)
		s.end(s.pos + takes)
		s.put(&f.Header, transport.HeaderSize, takes > n)
		l.finishFrame(takes)
	} else if err == nil {
		err = transport.ErrClosed
		l.Close()
	}
	l.Cancel()
	queue.Sent(f, err)
}

// Cancel implements transport.Reserver.
func (l *link) Cancel() {
	l.tx.Unlock()
	l.pump() // what others have left to the holder of tx
}
