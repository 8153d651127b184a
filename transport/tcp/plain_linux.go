package tcp

import (
	"io"
	"net"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// iovec is a piece of memory for the kernel to fill or to send.
type iovec = unix.Iovec

// errAgain means that nothing can be moved now.
var errAgain error = unix.EAGAIN

// plain is the stream of a socket.
type plain struct {
	conn net.Conn
	raw  syscall.RawConn
	in   direction
	out  direction
}

// direction holds the state of one direction. It is made once, so that moving
// bytes does not allocate.
type direction struct {
	pieces  []iovec
	message unix.Msghdr
	n       int
	errno   unix.Errno
	call    func(fd uintptr)
	waiting bool
	ready   func(fd uintptr) bool
}

func newPlain(conn net.Conn) (*plain, error) {
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return nil, errNotSocket
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil, err
	}
	s := &plain{conn: conn, raw: raw}
	s.in.init(unix.SYS_RECVMSG, unix.MSG_DONTWAIT, unix.POLLIN)
	s.out.init(unix.SYS_SENDMSG, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, unix.POLLOUT)
	return s, nil
}

func (d *direction) init(number, flags uintptr, events int16) {
	d.call = func(fd uintptr) {
		d.message = unix.Msghdr{Iov: &d.pieces[0]}
		d.message.SetIovlen(len(d.pieces))
		for {
			n, _, errno := unix.Syscall(number, fd, uintptr(unsafe.Pointer(&d.message)), flags)
			if errno != unix.EINTR {
				d.n, d.errno = int(n), errno
				return
			}
		}
	}
	// The runtime ignores that a socket became ready before the wait began. So the first
	// call of ready, which comes after the wait has begun, has to poll the socket itself.
	d.ready = func(fd uintptr) bool {
		if d.waiting {
			return true
		}
		d.waiting = true
		return pollNow(fd, events)
	}
}

// pollNow reports whether a socket is ready at this moment. It does not wait.
func pollNow(fd uintptr, events int16) bool {
	p := [1]unix.PollFd{{Fd: int32(fd), Events: events}}
	n, err := unix.Poll(p[:], 0)
	return n != 0 || err != nil
}

func (d *direction) move(raw syscall.RawConn, pieces []iovec) (int, error) {
	d.pieces, d.errno = pieces, 0
	err := raw.Control(d.call)
	d.pieces = nil
	switch {
	case err != nil: // closed
		return 0, err
	case d.errno == unix.EAGAIN:
		return 0, errAgain
	case d.errno != 0:
		return 0, d.errno
	}
	return d.n, nil
}

func (s *plain) receive(pieces []iovec) (int, error) {
	n, err := s.in.move(s.raw, pieces)
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

func (s *plain) send(pieces []iovec) (int, error) { return s.out.move(s.raw, pieces) }

func (s *plain) flush() error { return nil }

func (s *plain) awaitReceive() error {
	s.in.waiting = false
	return s.raw.Read(s.in.ready)
}

func (s *plain) awaitSend() error {
	s.out.waiting = false
	return s.raw.Write(s.out.ready)
}

// These calls fail only if the connection has ended, which the reader notices by itself. So
// their errors are ignored.

func (s *plain) setReadDeadline(t time.Time) { _ = s.conn.SetReadDeadline(t) }

func (s *plain) closeWrite() {
	if c, ok := s.conn.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite()
	}
}

func (s *plain) close() { _ = s.conn.Close() }
