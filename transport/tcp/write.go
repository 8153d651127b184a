package tcp

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/internal/queue"
)

const (
	batchFrames = 16 // frames in one system call at most
	batchPieces = 64 // headers and pieces of payload in one
)

// writer is the state of sending, guarded by tx.
type writer struct {
	offset  int  // bytes of the frame in front that are handed over
	midDone bool // Mid of the frame in front was called
	bye     int  // bytes of the goodbye handed over
	ended   bool

	heads   [batchFrames][transport.HeaderSize]byte
	iov     [batchPieces]unix.Iovec
	pieces  int // used elements of iov
	message unix.Msghdr
	n       int
	errno   unix.Errno
	call    func(fd uintptr) // sendmsg, made once so that it does not allocate
	waiting bool
	ready   func(fd uintptr) bool

	failure error // guarded by the link's mu: why sending ended badly
}

func (w *writer) init() {
	w.call = func(fd uintptr) {
		w.message = unix.Msghdr{Iov: &w.iov[0]}
		w.message.SetIovlen(w.pieces)
		for {
			n, _, errno := unix.Syscall(unix.SYS_SENDMSG, fd, uintptr(unsafe.Pointer(&w.message)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
			if errno != unix.EINTR {
				w.n, w.errno = int(n), errno
				return
			}
		}
	}
	// The runtime forgets a readiness that came before it begins to wait, so
	// the first call, made when it has begun, has to look for itself.
	w.ready = func(fd uintptr) bool {
		if w.waiting {
			return true
		}
		w.waiting = true
		return pollNow(fd, unix.POLLOUT)
	}
}

// pollNow reports whether a socket is ready without waiting for it.
func pollNow(fd uintptr, events int16) bool {
	p := [1]unix.PollFd{{Fd: int32(fd), Events: events}}
	n, err := unix.Poll(p[:], 0)
	return n != 0 || err != nil
}

// goodbye is the link's own frame: nothing more comes, and the sender ends in
// good order. No layer's header begins like it.
var goodbye = [transport.HeaderSize]byte{0, 'b', 'y', 'e'}

// runWriter goes on with what would have blocked its sender.
func (l *link) runWriter() {
	w := &l.writer
	for range l.kick {
		for {
			l.tx.Lock()
			_, blocked := l.write()
			ended := w.ended
			l.tx.Unlock()
			if ended {
				l.endOne()
				return
			}
			if !blocked {
				// A Send that found tx taken left its frame to this
				// goroutine, maybe after write had looked for the last time.
				if l.idle() {
					break
				}
				continue
			}
			w.waiting = false
			if err := l.raw.Write(w.ready); err != nil {
				l.fail(fmt.Errorf("%w: %w", transport.ErrPeerGone, err))
			}
		}
	}
}

// idle reports whether there is nothing to send.
func (l *link) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queue.Len() == 0 && !l.ending
}

// pump hands over what the socket takes now, unless another goroutine is at
// it.
func (l *link) pump() (moved bool) {
	for {
		if l.idle() || !l.tx.TryLock() {
			return moved
		}
		m, blocked := l.write()
		ended := l.writer.ended
		l.tx.Unlock()
		moved = moved || m
		if blocked || ended {
			l.wakeWriter()
			return moved
		}
		// What came while tx was held is this goroutine's to send.
	}
}

// write hands over frames until the queue is empty or the socket full. The
// caller holds tx.
func (l *link) write() (moved, blocked bool) {
	w := &l.writer
	for !w.ended {
		l.mu.Lock()
		if l.sendErr != nil {
			failed, err := l.queue.Take(), l.sendErr
			if w.bye < len(goodbye) && err != transport.ErrClosed {
				w.failure = err
			}
			l.mu.Unlock()
			w.ended = true
			queue.Fail(failed, err)
			return true, false
		}
		w.gather(&l.queue, l.ending)
		l.mu.Unlock()
		if w.pieces == 0 {
			return moved, false
		}
		w.errno = 0
		if err := l.raw.Control(w.call); err != nil || w.errno != 0 {
			if w.errno == unix.EAGAIN {
				return moved, true
			}
			if err == nil {
				err = w.errno
			}
			l.fail(fmt.Errorf("%w: %w", transport.ErrPeerGone, err))
			continue
		}
		moved = moved || w.n > 0
		l.advance(w.n)
	}
	return moved, false
}

// middle is the offset in the stream of f at which its Mid is called. A frame
// without payload has it inside the header, which is seen only when whole.
func middle(f *transport.Frame) int {
	if f.Header.Size == 0 {
		return transport.HeaderSize / 2
	}
	return transport.HeaderSize + int(f.Header.Size/2)
}

// gather collects what comes next in the stream.
func (w *writer) gather(q *queue.Queue, ending bool) {
	w.pieces = 0
	from, midDone := w.offset, w.midDone
	for i := range min(q.Len(), batchFrames) {
		f := q.At(i)
		limit := transport.HeaderSize + int(f.Header.Size)
		stop := f.Mid != nil && !midDone
		if stop {
			limit = middle(f)
		}
		if from < transport.HeaderSize {
			f.Header.Encode(&w.heads[i])
			w.add(w.heads[i][from:min(transport.HeaderSize, limit)])
		}
		at := transport.HeaderSize
		for _, p := range f.Payload {
			if lo, hi := max(from-at, 0), min(limit-at, len(p)); lo < hi && !w.add(p[lo:hi]) {
				return
			}
			at += len(p)
		}
		if stop || w.pieces == len(w.iov) {
			return
		}
		from, midDone = 0, false
	}
	if ending && q.Len() <= batchFrames && w.bye < len(goodbye) {
		w.add(goodbye[w.bye:])
	}
}

func (w *writer) add(b []byte) bool {
	if w.pieces == len(w.iov) {
		return false
	}
	w.iov[w.pieces] = unix.Iovec{Base: &b[0]}
	w.iov[w.pieces].SetLen(len(b))
	w.pieces++
	return true
}

// advance notes that n more bytes of the stream are handed over.
func (l *link) advance(n int) {
	w := &l.writer
	clear(w.iov[:w.pieces])
	for {
		l.mu.Lock()
		if l.queue.Len() == 0 {
			l.mu.Unlock()
			break
		}
		f := l.queue.At(0)
		l.mu.Unlock()
		total := transport.HeaderSize + int(f.Header.Size)
		limit := total
		if f.Mid != nil && !w.midDone {
			limit = middle(f)
		}
		took := min(n, limit-w.offset)
		n -= took
		w.offset += took
		if w.offset < limit {
			return
		}
		if limit < total || f.Mid != nil && !w.midDone {
			w.midDone = true
			if !f.Mid() {
				l.Close()
				return
			}
			continue
		}
		l.mu.Lock()
		l.queue.Pop()
		l.mu.Unlock()
		w.offset, w.midDone = 0, false
		queue.Sent(f, nil)
		if n == 0 {
			return
		}
	}
	if w.bye += n; w.bye == len(goodbye) {
		w.ended = true
		l.fail(transport.ErrClosed)
	}
}

var errNoGoodbye = errors.New("stream ended without goodbye")
