package tcp

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"
)

var errNotSocket = errors.New("connection is not a socket")

// stream moves the bytes of one connection without blocking. At most one
// goroutine receives and one sends at a time.
type stream interface {
	// receive fills the pieces, in order, with the bytes that have arrived. It returns
	// errAgain if there are none, and io.EOF at the end of the stream.
	receive(pieces []iovec) (int, error)
	// send accepts some of the bytes of the pieces, in order. It returns errAgain if it can
	// accept none now.
	send(pieces []iovec) (int, error)
	// flush passes the bytes that send has accepted to the socket. It returns errAgain
	// while some are left.
	flush() error
	// awaitReceive and awaitSend block until another call is worthwhile, the
	// read deadline has passed, or the connection is closed.
	awaitReceive() error
	awaitSend() error
	setReadDeadline(t time.Time)
	closeWrite()
	close()
}

// newStream prepares a connected socket, plain or under crypto/tls, for a link.
func newStream(conn net.Conn) (stream, error) {
	if t, ok := conn.(*tls.Conn); ok {
		s, ok := t.NetConn().(*Socket)
		if !ok {
			return nil, fmt.Errorf("%w made by NewSocket under TLS", errNotSocket)
		}
		if err := tune(s.Conn); err != nil {
			return nil, err
		}
		base, err := newPlain(s.Conn)
		if err != nil {
			return nil, err
		}
		s.plain.Store(base)
		return &encrypted{plain: base, socket: s, tls: t}, nil
	}
	if err := tune(conn); err != nil {
		return nil, err
	}
	return newPlain(conn)
}
