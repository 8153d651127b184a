package tcp

import (
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Socket is a connected socket for use under crypto/tls. Its calls block until a link takes
// over the TLS connection. From then on they do not block.
type Socket struct {
	net.Conn
	plain atomic.Pointer[plain] // set by the link

	mu      sync.Mutex
	pending []byte // written by crypto/tls, not yet passed to the socket
	scratch []byte // buffer that is swapped with pending
}

// NewSocket wraps a connected *net.TCPConn or *net.UnixConn.
func NewSocket(conn net.Conn) *Socket { return &Socket{Conn: conn} }

// again is errAgain for crypto/tls, which continues after temporary errors.
type again struct{}

func (again) Error() string   { return "nothing has arrived" }
func (again) Timeout() bool   { return true }
func (again) Temporary() bool { return true }

// Read implements net.Conn.
func (s *Socket) Read(b []byte) (int, error) {
	p := s.plain.Load()
	if p == nil {
		return s.Conn.Read(b)
	}
	iov := [1]iovec{piece(b)}
	n, err := p.receive(iov[:])
	if errors.Is(err, errAgain) {
		err = again{}
	}
	return n, err
}

// Write implements net.Conn. Once a link has taken over it always succeeds, because
// crypto/tls does not continue after an error.
func (s *Socket) Write(b []byte) (int, error) {
	if s.plain.Load() == nil {
		return s.Conn.Write(b)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = append(s.pending, b...)
	return len(b), nil
}

func piece(b []byte) iovec {
	v := iovec{Base: &b[0]}
	v.SetLen(len(b))
	return v
}

func bytesOf(v *iovec) []byte { return unsafe.Slice(v.Base, int(v.Len)) }

// encrypted is the stream of a TLS connection over a Socket.
type encrypted struct {
	*plain
	socket *Socket
	tls    *tls.Conn
	record []byte // small pieces, joined to one record
}

const (
	maxPending = 256 << 10 // of ciphertext
	maxRecord  = 16 << 10
)

func (s *encrypted) receive(pieces []iovec) (total int, err error) {
	for i := range pieces {
		b := bytesOf(&pieces[i])
		for len(b) > 0 {
			n, err := s.tls.Read(b)
			total, b = total+n, b[n:]
			if err != nil && total > 0 {
				return total, nil // the next call returns the error again
			}
			if errors.Is(err, again{}) {
				return 0, errAgain
			}
			if err != nil {
				return 0, err
			}
		}
	}
	return total, nil
}

func (s *encrypted) send(pieces []iovec) (total int, err error) {
	if err := s.flush(); err != nil {
		return 0, err
	}
	s.record = s.record[:0]
	put := func(b []byte) error {
		if len(b) == 0 {
			return nil
		}
		n, err := s.tls.Write(b)
		total += n
		return err
	}
	for i := range pieces {
		b := bytesOf(&pieces[i])
		for len(b) > 0 {
			n := min(len(b), maxRecord-len(s.record))
			if n == maxRecord {
				err = put(b[:n])
			} else if s.record = append(s.record, b[:n]...); len(s.record) == maxRecord {
				err = put(s.record)
				s.record = s.record[:0]
			}
			if err != nil {
				return total, err
			}
			if b = b[n:]; total >= maxPending {
				// Bytes in record do not count as accepted.
				return total, s.more(s.flush())
			}
		}
	}
	if err := put(s.record); err != nil {
		return total, err
	}
	return total, s.more(s.flush())
}

// more replaces errAgain of flush by nil: send succeeds even if bytes are left to flush.
func (s *encrypted) more(err error) error {
	if errors.Is(err, errAgain) {
		return nil
	}
	return err
}

func (s *encrypted) flush() error {
	s.socket.mu.Lock()
	b := s.socket.pending
	s.socket.pending = s.socket.scratch[:0]
	s.socket.scratch = nil
	s.socket.mu.Unlock()
	sent, err := 0, error(nil)
	for sent < len(b) && err == nil {
		n := 0
		iov := [1]iovec{piece(b[sent:])}
		n, err = s.plain.send(iov[:])
		sent += n
	}
	s.socket.mu.Lock()
	defer s.socket.mu.Unlock()
	if sent < len(b) {
		// Reading may have written something meanwhile, such as an alert.
		rest := append(b[:copy(b, b[sent:])], s.socket.pending...)
		s.socket.pending, s.socket.scratch = rest, s.socket.pending[:0]
		return err
	}
	s.socket.scratch = b[:0]
	return nil
}
