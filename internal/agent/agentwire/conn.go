package agentwire

import (
	"bufio"
	"cmp"
	"fmt"
	"net"
	"sync"
	"time"
)

// Conn carries frames over a connection. Any goroutine may send, without waiting;
// one goroutine reads.
type Conn struct {
	conn  net.Conn
	r     *bufio.Reader
	ahead *ahead // frames read ahead; nil: ReadAhead was not called

	mu     sync.Mutex
	some   *sync.Cond
	queue  [][]byte
	closed bool
	failed error         // why this side has ended the connection; nil if it has not
	sent   chan struct{} // closed when no more frames are sent
}

// NewConn takes over a connection. Close ends it.
func NewConn(conn net.Conn) *Conn {
	c := &Conn{conn: conn, r: bufio.NewReaderSize(conn, 64<<10), sent: make(chan struct{})}
	c.some = sync.NewCond(&c.mu)
	go c.write()
	return c
}

// Read returns the next frame. One goroutine reads.
func (c *Conn) Read() (f Frame, err error) {
	if c.ahead != nil {
		f, err = c.ahead.next()
	} else {
		f, err = readFrame(c.r)
	}
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		err = cmp.Or(c.failed, err)
	}
	return f, err
}

// Send queues a frame. It never waits. A frame that is too large for the other side ends the
// connection, and Read returns the reason.
func (c *Conn) Send(kind Kind, of Name, body []byte) {
	f := Frame{Kind: kind, Of: of, Body: body}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(body) > maxFrame && !c.closed {
		c.failed = fmt.Errorf("%w: a frame of kind %d about %v has %d bytes, at most %d are allowed", ErrFrame, kind, of.ID, len(body), maxFrame)
		c.closed, c.queue = true, nil
		c.some.Signal()
		c.conn.Close()
	}
	if !c.closed {
		c.queue = append(c.queue, f.append(make([]byte, 0, frameHeader+len(body))))
		c.some.Signal()
	}
}

// SendJSON sends a value that can always be encoded.
func (c *Conn) SendJSON(kind Kind, of Name, v any) { c.Send(kind, of, Encode(v)) }

func (c *Conn) write() {
	defer close(c.sent)
	for {
		c.mu.Lock()
		for len(c.queue) == 0 && !c.closed {
			c.some.Wait()
		}
		if len(c.queue) == 0 {
			c.mu.Unlock()
			return
		}
		b := c.queue[0]
		c.queue = c.queue[1:]
		c.mu.Unlock()
		if _, err := c.conn.Write(b); err != nil {
			c.Drop() // Read returns the error
			return
		}
	}
}

// Drop discards the frames that are not sent yet, and accepts no further ones.
func (c *Conn) Drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed, c.queue = true, nil
	c.some.Signal()
}

// Finish accepts no further frames. It waits until the queued ones are sent, or the connection
// has ended.
func (c *Conn) Finish() {
	c.mu.Lock()
	c.closed = true
	c.some.Signal()
	c.mu.Unlock()
	<-c.sent
}

// Ended returns a connection that has ended. It sends nothing.
func Ended() *Conn { return &Conn{closed: true} }

// LocalAddr returns the address of this end.
func (c *Conn) LocalAddr() net.Addr { return c.conn.LocalAddr() }

// RemoteAddr returns the address of the other end.
func (c *Conn) RemoteAddr() net.Addr { return c.conn.RemoteAddr() }

// SetDeadline bounds reading and sending, like SetDeadline of a net.Conn.
func (c *Conn) SetDeadline(t time.Time) {
	_ = c.conn.SetDeadline(t) // fails only on a connection that has ended, which the reader notices
}

// Close ends the connection at once.
func (c *Conn) Close() {
	c.Drop()
	c.conn.Close()
}
