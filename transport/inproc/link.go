package inproc

import (
	"context"
	"fmt"
	"sync"

	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/internal/queue"
)

// DefaultCapacity bounds the bytes under way in one direction, headers included.
const DefaultCapacity = 256 << 10

// Option changes a pair of links.
type Option func(*options)

type options struct{ capacity int }

// Capacity bounds the bytes under way in each direction. A frame that fits together with
// its header is delivered in one piece; a larger one is streamed in pieces.
func Capacity(bytes int) Option { return func(o *options) { o.capacity = max(bytes, 1) } }

// Pair returns the two ends of a link.
func Pair(opts ...Option) (a, b transport.Link) {
	o := options{capacity: DefaultCapacity}
	for _, opt := range opts {
		opt(&o)
	}
	ab, ba := &pipe{capacity: o.capacity}, &pipe{capacity: o.capacity}
	la, lb := newLink(ab, ba), newLink(ba, ab)
	la.peer, lb.peer = lb, la
	return la, lb
}

// link is one end. It sends (pump) and delivers (deliver), each in one goroutine at a time.
// Neither holds a lock while it makes callbacks.
type link struct {
	out, in *pipe
	peer    *link
	kick    chan struct{} // holds one wake-up for run
	done    chan struct{} // closed when both directions have ended

	mu        sync.Mutex
	attended  int
	urged     bool // the peer wants run to look even if a goroutine attends
	peerDead  bool
	started   bool
	receiver  transport.Receiver
	queue     queue.Queue
	pumping   bool
	ending    bool  // Shutdown was called: no more frames are accepted
	sendErr   error // why no more frames are sent
	delivered bool  // a goroutine is delivering
	closedErr error // argument of Closed, before and after the call
	closed    bool  // this side closed the link
	received  bool  // Closed was called

	// The frame being sent, owned by the goroutine that pumps.
	sent    int // payload bytes handed over
	opened  bool
	midDone bool

	// The frame being received, owned by the goroutine that delivers.
	header transport.Header
	memory []byte
	got    int
	inside bool // Begin was called and End was not
}

func newLink(out, in *pipe) *link {
	return &link{out: out, in: in, kick: make(chan struct{}, 1), done: make(chan struct{})}
}

func (l *link) Start(r transport.Receiver) {
	l.mu.Lock()
	l.receiver, l.started = r, true
	l.mu.Unlock()
	go l.run()
	l.notify()
}

// run drives the link while no goroutine attends to it, and also when the peer urges it, or this
// link is about to end.
func (l *link) run() {
	for {
		select {
		case <-l.done:
			return
		case <-l.kick:
		}
		l.mu.Lock()
		look := l.mine() || l.urged
		l.urged = false
		l.mu.Unlock()
		if look {
			for l.Progress() {
			}
		}
	}
}

// mine reports whether run has to drive the link: no goroutine attends to it, or the link
// is ending, which a broken promise to poll must not delay. The caller holds mu.
func (l *link) mine() bool { return l.attended == 0 || l.closed || l.ending || l.peerDead }

// notify wakes run.
func (l *link) notify() {
	select {
	case l.kick <- struct{}{}:
	default:
	}
}

// notifyIdle wakes run unless a goroutine attends to the link.
func (l *link) notifyIdle() {
	l.mu.Lock()
	mine := l.mine()
	l.mu.Unlock()
	if mine {
		l.notify()
	}
}

// urge makes run look even if a goroutine attends.
func (l *link) urge() {
	l.mu.Lock()
	l.urged = true
	l.mu.Unlock()
	l.notify()
}

func (l *link) Attend(on bool) {
	l.mu.Lock()
	if on {
		l.attended++
	} else {
		l.attended--
	}
	idle := l.attended == 0
	l.mu.Unlock()
	if !idle {
		return
	}
	l.notify() // run may have ignored events, even the end of the link
	if l.out.readable() {
		l.peer.urge()
	}
}

func (l *link) Progress() bool {
	moved := l.pump()
	return l.deliver() || moved
}

// PeerDied implements transport.Link.
func (l *link) PeerDied() {
	l.mu.Lock()
	l.peerDead = true
	l.mu.Unlock()
	l.in.finish(endGone)
	l.out.finish(endGone)
	l.notify()
	l.peer.notify()
}

func (l *link) Close() error {
	l.mu.Lock()
	l.closed = true
	if l.sendErr == nil {
		l.sendErr = transport.ErrClosed
	}
	if !l.started {
		// There is no receiver to call, and no goroutine runs.
		l.started, l.received = true, true
		close(l.done)
	}
	l.mu.Unlock()
	l.in.finish(endGone)
	l.out.finish(endGone)
	l.notify()
	l.peer.notify()
	return nil
}

func (l *link) Shutdown(ctx context.Context) error {
	l.mu.Lock()
	l.ending = true
	l.mu.Unlock()
	l.notify()
	defer l.Close()
	select {
	case <-l.done:
	case <-ctx.Done():
		return fmt.Errorf("shut down link: %w", ctx.Err())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closedErr != nil {
		return fmt.Errorf("shut down link: %w", l.closedErr)
	}
	if l.sendErr != transport.ErrClosed {
		return fmt.Errorf("shut down link: %w", l.sendErr)
	}
	return nil
}
