package tcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/internal/queue"
)

// drainGrace is how long a link waits for the end of the stream of a peer
// that is dead for certain. The kernel of a dead process's host ends the
// stream at once; only a host that died with it never does.
const drainGrace = 100 * time.Millisecond

// bufferSize is asked for in both directions of a Unix socket. TCP sizes its
// buffers by itself, and better.
const bufferSize = 4 << 20

var errNotSocket = errors.New("connection is not a socket")

// link sends with write, under tx, and receives with receive, under rx. Both
// only make system calls that do not block; the goroutines runReader and
// runWriter wait for the socket to become ready when nobody else makes the
// link move. Neither tx nor rx is ever waited for by Send, Progress or Close,
// so a Receiver, an Owner or Mid may call those.
type link struct {
	conn   net.Conn
	raw    syscall.RawConn
	broken error         // why conn cannot be used
	kick   chan struct{} // holds one wake-up for runWriter
	done   chan struct{} // closed when both directions have ended

	mu       sync.Mutex
	receiver transport.Receiver
	queue    queue.Queue
	sendErr  error // why nothing more is accepted or sent
	ending   bool  // Shutdown: nothing more is accepted
	closeErr error // what Closed was told
	ended    int   // directions that have ended

	closed   atomic.Bool // by this side
	peerDead atomic.Bool

	tx     sync.Mutex
	writer writer

	rx     sync.Mutex
	reader reader
}

// New makes a link of a connected *net.TCPConn or *net.UnixConn, which then
// belongs to the link. Any other connection gives a link that is closed with
// an error as soon as it is started.
func New(conn net.Conn) transport.Link {
	l := &link{conn: conn, kick: make(chan struct{}, 1), done: make(chan struct{})}
	switch c := conn.(type) {
	case *net.TCPConn:
		l.broken = c.SetNoDelay(true)
	case *net.UnixConn:
		l.broken = errors.Join(c.SetReadBuffer(bufferSize), c.SetWriteBuffer(bufferSize))
	}
	if sc, ok := conn.(syscall.Conn); !ok {
		l.broken = errNotSocket
	} else if raw, err := sc.SyscallConn(); err != nil {
		l.broken = err
	} else {
		l.raw = raw
	}
	l.writer.init()
	l.reader.init()
	return l
}

func (l *link) Start(r transport.Receiver) {
	l.mu.Lock()
	l.receiver = r
	if l.broken != nil && l.sendErr == nil {
		l.sendErr = fmt.Errorf("%w: %w", transport.ErrPeerGone, l.broken)
	}
	l.mu.Unlock()
	go l.runReader()
	go l.runWriter()
}

// Attend has nothing to do: the kernel wakes this process in any case, and
// the goroutines that it wakes leave to others what those have moved.
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
	f.Header.Size = transport.Size(f.Payload)
	l.mu.Lock()
	err := l.sendErr
	if err == nil && l.ending {
		err = transport.ErrClosed
	}
	if err != nil {
		l.mu.Unlock()
		queue.Sent(f, err)
		return
	}
	l.queue.Push(f)
	l.mu.Unlock()
	l.pump()
}

// fail ends sending. The first reason stays.
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
	// An expired deadline brings runReader to drain what is there and end.
	l.conn.SetReadDeadline(time.Now().Add(drainGrace))
}

func (l *link) Close() error {
	l.closed.Store(true)
	l.fail(transport.ErrClosed)
	// The descriptor is closed once no system call uses it; the reader then
	// makes the last calls of the Receiver.
	l.conn.Close()
	return nil
}

func (l *link) Shutdown(ctx context.Context) error {
	l.mu.Lock()
	l.ending = true
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
	if err := errors.Join(l.closeErr, l.writer.failure); err != nil {
		return fmt.Errorf("shut down link: %w", err)
	}
	return nil
}

// endOne ends one direction, and the link with the second.
func (l *link) endOne() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended++; l.ended == 2 {
		close(l.done)
	}
}
