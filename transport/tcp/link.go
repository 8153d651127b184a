package tcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/internal/queue"
)

// drainGrace is how long a link waits for the end of the stream of a peer that is known to
// be dead. Normally the kernel of the peer's host ends the stream at once. If that host has
// died as well, the stream never ends.
const drainGrace = 100 * time.Millisecond

// link sends with write, under tx, and receives with receive, under rx. Both only make
// system calls that do not block. The goroutines runReader and runWriter of a connection
// wait for the socket to become ready, and then move the bytes that no other goroutine has
// moved. Send, Progress and Close never wait for tx or rx, so a Receiver, an Owner or Mid
// may call them.
type link struct {
	broken error         // why the connection given to New cannot be used
	kick   chan struct{} // holds one wake-up for runWriter
	done   chan struct{} // closed when both directions have ended

	mu       sync.Mutex
	receiver transport.Receiver
	outbox   outbox
	sendErr  error // why no more frames are accepted or sent
	failure  error // why not all frames were sent
	ending   bool  // Shutdown was called: no more frames are accepted
	closeErr error // the error passed to Closed
	conn     *connection

	closed   atomic.Bool // this side has closed the link
	peerDead atomic.Bool

	tx     sync.Mutex
	writer writer

	rx     sync.Mutex
	reader reader

	reconnecting *reconnecting // nil: the link ends with its connection
	sums         bool          // frames carry checksums
}

// connection is one connection of a link.
type connection struct {
	stream
	once  sync.Once
	down  chan struct{} // closed when it is broken
	cause atomic.Pointer[error]
}

func newConnection(s stream) *connection { return &connection{stream: s, down: make(chan struct{})} }

// fail breaks the connection. It keeps the first reason.
func (c *connection) fail(err error) {
	c.once.Do(func() {
		c.cause.CompareAndSwap(nil, &err)
		close(c.down)
		c.close()
	})
}

func newLink() *link {
	l := &link{kick: make(chan struct{}, 1), done: make(chan struct{})}
	l.reader.buf = make([]byte, readBuffer)
	return l
}

// New makes a link of a connected *net.TCPConn or *net.UnixConn, or of a
// *tls.Conn over a Socket. The connection then belongs to the link, which ends
// with it. Any other connection gives a link that is closed with an error as
// soon as it is started.
func New(conn net.Conn) transport.Link {
	l := newLink()
	s, err := newStream(conn)
	if err != nil {
		l.broken = err
		s = &unusable{conn}
	}
	c := newConnection(s)
	l.conn, l.writer.conn, l.reader.conn = c, c, c
	return l
}

func (l *link) Start(r transport.Receiver) {
	l.mu.Lock()
	l.receiver = r
	if l.broken != nil && l.sendErr == nil {
		l.sendErr = fmt.Errorf("%w: %w", transport.ErrPeerGone, l.broken)
	}
	c := l.conn
	l.mu.Unlock()
	if l.reconnecting != nil {
		l.reconnecting.start()
		return
	}
	go func() {
		defer close(l.done)
		var both sync.WaitGroup
		both.Go(func() { l.runReader(c) })
		both.Go(func() { l.runWriter(c) })
		both.Wait()
	}()
}

// Attend does nothing. The kernel wakes this process in any case. The woken goroutines find
// nothing to do if another one has already moved the bytes.
func (l *link) Attend(bool) {}

func (l *link) Progress() bool {
	moved := l.pump()
	if l.rx.TryLock() {
		if n, _ := l.receive(); n {
			moved = true
		}
		l.rx.Unlock()
	}
	return moved
}

func (l *link) Send(f *transport.Frame) {
	if l.push(f) {
		l.pump()
	}
}

// Queue implements transport.Queuer: frames that are sent together need one
// system call.
func (l *link) Queue(f *transport.Frame) { l.push(f) }

// push queues f. It returns false if f cannot be sent.
func (l *link) push(f *transport.Frame) bool {
	f.Header.Size = transport.Size(f.Payload)
	l.mu.Lock()
	err := l.sendErr
	if err == nil && l.ending {
		err = transport.ErrClosed
	}
	if err == nil && f.Droppable && l.reconnecting != nil && l.conn == nil && l.outbox.len() < maxLost {
		l.outbox.push(entry{header: f.Header, droppable: true, lost: true, sums: l.sums})
		err = transport.ErrLost
	}
	if err != nil {
		l.mu.Unlock()
		queue.Sent(f, err)
		return false
	}
	l.outbox.push(entry{frame: f, header: f.Header, droppable: f.Droppable && l.reconnecting != nil, sums: l.sums})
	l.mu.Unlock()
	return true
}

// fail ends sending. It keeps the first reason.
func (l *link) fail(err error) {
	l.mu.Lock()
	if l.sendErr == nil {
		l.sendErr = err
	}
	l.mu.Unlock()
	l.wakeWriter()
}

func (l *link) wakeWriter() {
	select {
	case l.kick <- struct{}{}:
	default:
	}
}

func (l *link) PeerDied() {
	l.peerDead.Store(true)
	l.fail(transport.ErrPeerGone)
	l.reconnecting.end()
	l.mu.Lock()
	c := l.conn
	l.mu.Unlock()
	if c != nil {
		// When the deadline expires, runReader reads the bytes that have arrived and ends.
		c.setReadDeadline(time.Now().Add(drainGrace))
	}
}

func (l *link) Close() error {
	l.closed.Store(true)
	l.fail(transport.ErrClosed)
	l.reconnecting.end()
	l.mu.Lock()
	c := l.conn
	l.mu.Unlock()
	if c != nil {
		// The runtime closes the descriptor when no system call uses it. Then the reader
		// makes the last calls of the Receiver.
		c.fail(transport.ErrClosed)
	}
	return nil
}

func (l *link) Shutdown(ctx context.Context) error {
	l.mu.Lock()
	if !l.ending {
		l.ending = true
		if l.sendErr == nil {
			l.outbox.push(entry{bye: true, sums: l.sums})
		}
	}
	l.mu.Unlock()
	l.wakeWriter()
	defer l.Close()
	select {
	case <-l.done:
	case <-ctx.Done():
		return fmt.Errorf("shut down link: %w", ctx.Err())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := errors.Join(l.closeErr, l.failure); err != nil {
		return fmt.Errorf("shut down link: %w", err)
	}
	return nil
}

// unusable is the stream of a connection that is not a socket.
type unusable struct{ net.Conn }

func (*unusable) setReadDeadline(time.Time)    {}
func (*unusable) receive([]iovec) (int, error) { return 0, errNotSocket }
func (*unusable) send([]iovec) (int, error)    { return 0, errNotSocket }
func (*unusable) flush() error                 { return errNotSocket }
func (*unusable) awaitReceive() error          { return errNotSocket }
func (*unusable) awaitSend() error             { return errNotSocket }
func (*unusable) closeWrite()                  {}
func (u *unusable) close()                     { _ = u.Close() }
