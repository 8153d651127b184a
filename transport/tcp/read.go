package tcp

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/intrahpc/intra/transport"
)

const (
	// Small frames are read many at a time through a buffer.
	readBuffer = 64 << 10
	// A longer payload that is not in the buffer yet goes to its place.
	smallPayload = 16 << 10
	// The link's own memory for a payload grows with what has come, because
	// a header may lie about the size.
	growStep = 1 << 20
)

// reader is the state of receiving, guarded by rx.
type reader struct {
	buf        []byte
	head, tail int // buf[head:tail] is not looked at yet

	header transport.Header
	inside bool   // Begin was called and End was not
	place  []byte // where the payload goes; shorter than it while own memory grows
	own    bool   // place is the link's
	got    int
	spare  []byte // own memory of the frame before
	bye    bool
	ended  bool

	iov     [2]unix.Iovec
	pieces  int
	n       int
	errno   unix.Errno
	call    func(fd uintptr) // readv
	waiting bool
	ready   func(fd uintptr) bool
}

func (r *reader) init() {
	r.buf = make([]byte, readBuffer)
	r.call = func(fd uintptr) {
		for {
			n, _, errno := unix.Syscall(unix.SYS_READV, fd, uintptr(unsafe.Pointer(&r.iov[0])), uintptr(r.pieces))
			if errno != unix.EINTR {
				r.n, r.errno = int(n), errno
				return
			}
		}
	}
	r.ready = func(fd uintptr) bool {
		if r.waiting {
			return true
		}
		r.waiting = true
		return pollNow(fd, unix.POLLIN)
	}
}

// runReader receives when nobody else does, and ends the receiving side.
func (l *link) runReader() {
	r := &l.reader
	defer l.endOne()
	for {
		l.rx.Lock()
		more := true
		for more && !r.ended {
			more, _ = l.receive() // an error ends the reader, which says so
		}
		ended := r.ended
		l.rx.Unlock()
		if ended {
			return
		}
		r.waiting = false
		err := l.raw.Read(r.ready)
		if err == nil {
			continue
		}
		l.rx.Lock()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			// The peer is dead: what is there now is all there will be.
			for more = true; more && !r.ended; {
				more, _ = l.receive()
			}
		}
		l.finish(err)
		l.rx.Unlock()
		return
	}
}

// receive makes one read of what has arrived, delivers it, and reports
// whether anything had. The caller holds rx.
func (l *link) receive() (bool, error) {
	r := &l.reader
	if r.ended {
		return false, nil
	}
	if l.receiver == nil {
		return false, nil
	}
	if l.broken != nil {
		l.finish(l.broken)
		return false, l.broken
	}
	r.aim()
	r.errno = 0
	err := l.raw.Control(r.call)
	switch {
	case err != nil: // closed
		l.finish(err)
		return false, err
	case r.errno == unix.EAGAIN:
		return false, nil
	case r.errno != 0:
		l.finish(r.errno)
		return false, r.errno
	case r.n == 0:
		l.finish(errNoGoodbye)
		return false, errNoGoodbye
	}
	l.accept(r.n)
	if err := l.parse(); err != nil {
		l.finish(err)
	} else if r.bye || l.closed.Load() {
		l.finish(nil)
	}
	return true, nil
}

// aim says where the next bytes go: to the rest of the payload's place, then
// to the buffer.
func (r *reader) aim() {
	r.pieces = 0
	add := func(b []byte) {
		r.iov[r.pieces] = unix.Iovec{Base: &b[0]}
		r.iov[r.pieces].SetLen(len(b))
		r.pieces++
	}
	if r.inside {
		if r.own && r.got == len(r.place) {
			r.grow()
		}
		add(r.place[r.got:])
		if uint64(len(r.place)) < r.header.Size {
			return
		}
	}
	// The buffer is empty inside a frame, and otherwise holds the beginning
	// of a frame that fits into it.
	if r.head > 0 {
		r.tail = copy(r.buf, r.buf[r.head:r.tail])
		r.head = 0
	}
	add(r.buf[r.tail:])
}

// grow makes the link's own place larger, up to the size of the payload.
func (r *reader) grow() {
	want := min(uint64(max(2*len(r.place), growStep)), r.header.Size)
	if uint64(cap(r.place)) >= want {
		r.place = r.place[:min(uint64(cap(r.place)), r.header.Size)]
		return
	}
	place := make([]byte, want)
	copy(place, r.place)
	r.place = place
}

// accept sorts n bytes just read.
func (l *link) accept(n int) {
	r := &l.reader
	clear(r.iov[:])
	if r.inside {
		took := min(n, len(r.place)-r.got)
		r.got += took
		n -= took
		l.endIfWhole()
	}
	r.tail += n
}

func (l *link) endIfWhole() {
	r := &l.reader
	if uint64(r.got) < r.header.Size {
		return
	}
	payload := r.place[:r.header.Size]
	if r.own {
		r.spare = r.place
	}
	r.inside, r.place = false, nil
	l.receiver.End(&r.header, payload)
}

// parse delivers what the buffer holds.
func (l *link) parse() error {
	r := &l.reader
	for !r.inside && r.tail-r.head >= transport.HeaderSize && !l.closed.Load() {
		head := (*[transport.HeaderSize]byte)(r.buf[r.head:])
		if *head == goodbye {
			r.bye = true
			if extra := r.tail - r.head - transport.HeaderSize; extra > 0 {
				return fmt.Errorf("%w: %d bytes after goodbye", transport.ErrHeader, extra)
			}
			return nil
		}
		if err := r.header.Decode(head); err != nil {
			return err
		}
		have := uint64(r.tail - r.head - transport.HeaderSize)
		body := r.buf[r.head+transport.HeaderSize : r.tail]
		if r.header.Size <= have {
			r.head += transport.HeaderSize + int(r.header.Size)
			l.receiver.End(&r.header, body[:r.header.Size:r.header.Size])
			continue
		}
		if r.header.Size <= smallPayload {
			return nil // the rest of it will fit into the buffer
		}
		r.inside, r.got = true, 0
		r.place = l.receiver.Begin(&r.header)
		if r.own = r.place == nil; r.own {
			r.place, r.spare = r.spare[:0], nil
			for uint64(len(r.place)) < have {
				r.grow()
			}
		} else {
			r.place = r.place[:r.header.Size:r.header.Size]
		}
		r.got = copy(r.place, body)
		r.head, r.tail = 0, 0
	}
	if r.head == r.tail {
		r.head, r.tail = 0, 0
	}
	return nil
}

// finish makes the last calls of the Receiver. cause says why the stream
// ended; after a goodbye it is nil.
func (l *link) finish(cause error) {
	r := &l.reader
	if r.ended {
		return
	}
	r.ended = true
	if r.inside {
		r.inside, r.place = false, nil
		l.receiver.Torn(&r.header, r.got)
	}
	var err error
	switch {
	case l.closed.Load():
		err = transport.ErrClosed
	case cause == nil:
	case l.peerDead.Load():
		err = transport.ErrPeerGone
	default:
		err = fmt.Errorf("%w: %w", transport.ErrPeerGone, cause)
	}
	l.mu.Lock()
	l.closeErr = err
	l.mu.Unlock()
	if err != nil {
		l.fail(err)
		l.conn.Close()
	}
	l.receiver.Closed(err)
}
