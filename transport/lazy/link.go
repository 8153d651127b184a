package lazy

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/internal/queue"
)

// Link is a link that is made at its first use. It is a transport.Link, with one
// difference: Shutdown does not wait for a peer that has never sent a frame.
type Link struct {
	ask  func()
	used atomic.Pointer[used] // nil until the link is made and all waiting frames are sent

	mu       sync.Mutex
	receiver transport.Receiver // nil until Start
	made     func()             // see WhenMade
	asked    bool
	waiting  queue.Queue
	promises int            // number of Attend(true) without Attend(false)
	inner    transport.Link // set by Made
	opening  bool           // the waiting frames are being sent
	dead     bool           // the peer died while the link was opened
	end      error          // not nil: the link has ended without having been made
	settled  chan struct{}  // closed when the link is made or has ended without that
}

// used is a link that has been made.
type used struct {
	link   transport.Link
	prompt transport.Prompt // nil if link does not implement it
}

// New returns a link that calls ask for the first frame sent before the link is made. It
// calls ask once, from any goroutine, while the sender of the frame may hold locks.
func New(ask func()) *Link { return &Link{ask: ask, settled: make(chan struct{})} }

// WhenMade sets a function to call when the link is made and started, before any
// waiting frame is sent. It must be called before Start.
func (l *Link) WhenMade(f func()) { l.made = f }

// Made gives this end its link, after one of the two sides has asked for it. The caller must not
// have started inner. If this end has ended meanwhile, Made closes inner. It is called once.
func (l *Link) Made(inner transport.Link) {
	l.mu.Lock()
	if l.end != nil {
		l.mu.Unlock()
		_ = inner.Close() // it will not be used
		return
	}
	l.inner = inner
	if l.receiver == nil {
		l.mu.Unlock() // Start opens the link later
		return
	}
	l.open()
}

// Start implements transport.Link.
func (l *Link) Start(r transport.Receiver) {
	l.mu.Lock()
	l.receiver = r
	switch end := l.end; {
	case end != nil:
		l.mu.Unlock()
		r.Closed(end)
	case l.inner == nil:
		l.mu.Unlock()
	default:
		l.open()
	}
}

// open starts the link and sends the waiting frames in order; frames that arrive
// meanwhile wait behind them. The caller holds mu, and open unlocks it.
func (l *Link) open() {
	l.opening = true
	inner := l.inner
	l.mu.Unlock()
	inner.Start(l.receiver)
	if l.made != nil {
		l.made()
	}
	l.mu.Lock()
	for l.waiting.Len() > 0 {
		frames := l.waiting.Take()
		l.mu.Unlock()
		for _, f := range frames {
			inner.Send(f) // runs callbacks of owners, which may send
		}
		l.mu.Lock()
	}
	// From here on Attend reaches the link. The earlier promises must be passed on before
	// mu is unlocked. Otherwise a promise that ends in between would stay in force forever.
	for range l.promises {
		inner.Attend(true)
	}
	u := &used{link: inner}
	u.prompt, _ = inner.(transport.Prompt)
	l.used.Store(u)
	l.opening = false
	close(l.settled)
	dead := l.dead
	l.mu.Unlock()
	if dead {
		inner.PeerDied()
	}
}

// Failed ends a link that cannot be made, as if its peer had gone.
func (l *Link) Failed(why string) { l.finish(fmt.Errorf("%w: %s", transport.ErrPeerGone, why), nil) }

// finish ends a link that is not made, unless it has already ended. It calls the receiver's
// Closed with *closed, or with end if closed is nil. It reports whether the link was not
// made.
func (l *Link) finish(end error, closed *error) bool {
	l.mu.Lock()
	if l.inner != nil || l.end != nil {
		unmade := l.inner == nil
		l.mu.Unlock()
		return unmade
	}
	l.end = end
	frames, r := l.waiting.Take(), l.receiver
	close(l.settled)
	l.mu.Unlock()
	queue.Fail(frames, end)
	if closed == nil {
		closed = &end
	}
	if r != nil {
		r.Closed(*closed)
	}
	return true
}

// Send implements transport.Link.
func (l *Link) Send(f *transport.Frame) {
	if u := l.used.Load(); u != nil {
		u.link.Send(f)
		return
	}
	l.mu.Lock()
	if u := l.used.Load(); u != nil {
		l.mu.Unlock()
		u.link.Send(f)
		return
	}
	if end := l.end; end != nil {
		l.mu.Unlock()
		queue.Sent(f, end)
		return
	}
	l.waiting.Push(f)
	ask := !l.asked && l.inner == nil
	l.asked = l.asked || ask
	l.mu.Unlock()
	if ask {
		l.ask()
	}
}

// TakeTurns implements transport.Turning. It must be called when the link is
// made.
func (l *Link) TakeTurns() {
	l.mu.Lock()
	inner := l.inner
	l.mu.Unlock()
	if t, ok := inner.(transport.Turning); ok {
		t.TakeTurns()
	}
}

// SendNow implements transport.Prompt.
func (l *Link) SendNow(h *transport.Header, payload, rest []byte) bool {
	u := l.used.Load()
	return u != nil && u.prompt != nil && u.prompt.SendNow(h, payload, rest)
}

// Progress implements transport.Link.
func (l *Link) Progress() bool {
	u := l.used.Load()
	return u != nil && u.link.Progress()
}

// Attend implements transport.Link.
func (l *Link) Attend(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if u := l.used.Load(); u != nil {
		u.link.Attend(on)
	} else if on {
		l.promises++
	} else {
		l.promises--
	}
}

// PeerDied implements transport.Link. On a link that was never made no frame can
// have arrived.
func (l *Link) PeerDied() {
	if l.finish(transport.ErrPeerGone, nil) {
		return
	}
	l.mu.Lock()
	if l.used.Load() == nil { // open reports the death later
		l.dead = true
		l.mu.Unlock()
		return
	}
	l.mu.Unlock()
	l.inner.PeerDied()
}

// Shutdown implements transport.Link. A link that was never asked for ends at
// once.
func (l *Link) Shutdown(ctx context.Context) error {
	var err error
	l.mu.Lock()
	wait := l.asked || l.inner != nil
	l.mu.Unlock()
	if wait {
		select {
		case <-l.settled:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	var closed error
	if err != nil {
		closed = transport.ErrClosed
	}
	if l.finish(transport.ErrClosed, &closed) {
		return err
	}
	return l.inner.Shutdown(ctx)
}

// Close implements transport.Link.
func (l *Link) Close() error {
	l.mu.Lock()
	if l.inner != nil && l.receiver == nil { // made, but never started
		l.end = transport.ErrClosed
		frames := l.waiting.Take()
		l.mu.Unlock()
		queue.Fail(frames, transport.ErrClosed)
		return l.inner.Close()
	}
	l.mu.Unlock()
	if l.finish(transport.ErrClosed, nil) {
		return nil
	}
	return l.inner.Close()
}
