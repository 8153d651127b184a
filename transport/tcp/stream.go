package tcp

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"
)

var errNotSocket = errors.New("connection is not a socket")

// stream moves the bytes of one connection without blocking. One goroutine
// receives at a time, and one sends.
type stream interface {
	// receive fills some of the pieces with what has arrived. It returns
	// errAgain if that is nothing, io.EOF at the end.
	receive(pieces []iovec) (int, error)
	// send takes over some of the bytes of the pieces, in order. It returns
	// errAgain if there is no room.
	send(pieces []iovec) (int, error)
	// flush hands to the socket what send has taken over. It returns errAgain
	// while something is left.
	flush() error
	// awaitReceive and awaitSend block until another call is worthwhile, the
	// read deadline has passed, or the connection is closed.
	awaitReceive() error
	awaitSend() error
	setReadDeadline(t time.Time)
	closeWrite()
	close()
}

// newStream sets up a connected socket, alone or under crypto/tls, for a link.
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
