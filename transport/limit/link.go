package limit

import (
	"context"
	"sync"
	"time"

	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/internal/queue"
)

// burst is how many bytes pass an idle link at once. The limit is meant for the bandwidth,
// not for the latency of small messages.
const burst = 16 << 10

// New returns a link over inner that sends frames in order, at most at the given rate,
// including their headers. A frame passes when its last byte would have passed on a link of
// that bandwidth. The link at the other end limits the other direction.
func New(inner transport.Link, rate Rate) transport.Link {
	return &link{inner: inner, perByte: float64(time.Second) / float64(rate), clock: time.Now()}
}

// link holds frames until they are due. One goroutine at a time passes them to
// inner: a sender, Progress, or one that sleeps until the next frame is due.
type link struct {
	inner   transport.Link
	perByte float64 // nanoseconds per byte
	clock   time.Time

	mu        sync.Mutex
	held      []heldFrame
	free      time.Duration // when the line will have sent all frames accepted so far
	releasing bool
	flush     bool          // the link has ended: inner returns all frames to their owners
	ending    bool          // Shutdown was called: no more frames are accepted
	napping   bool          // a goroutine sleeps and will then release frames
	empty     chan struct{} // closed when no frames are held; set while Shutdown waits
}

type heldFrame struct {
	frame *transport.Frame
	due   time.Duration // by the link's clock
}

func (l *link) now() time.Duration { return time.Since(l.clock) }

func (l *link) Start(r transport.Receiver) { l.inner.Start(&receiver{r, l}) }

// receiver reports the end of inner to the link.
type receiver struct {
	transport.Receiver
	link *link
}

func (r *receiver) Closed(err error) {
	r.Receiver.Closed(err)
	if err != nil { // after the peer's Shutdown this side may still send
		r.link.end()
	}
}

func (l *link) Send(f *transport.Frame) {
	size := transport.HeaderSize + transport.Size(f.Payload)
	l.mu.Lock()
	if l.ending && !l.flush {
		l.mu.Unlock()
		queue.Sent(f, transport.ErrClosed)
		return
	}
	now := l.now()
	l.free = max(l.free, now) + time.Duration(float64(size)*l.perByte)
	l.held = append(l.held, heldFrame{f, l.free - time.Duration(burst*l.perByte)})
	l.release(now)
}

// release sends the frames that are due, unless another goroutine does, and
// reports whether there were any. The caller holds mu, and release unlocks it.
func (l *link) release(now time.Duration) (moved bool) {
	defer l.mu.Unlock()
	if l.releasing {
		return false
	}
	l.releasing = true
	for len(l.held) > 0 && (l.flush || l.held[0].due <= now) {
		f := l.held[0].frame
		l.held[0] = heldFrame{}
		l.held = l.held[1:]
		l.mu.Unlock()
		l.inner.Send(f)
		l.mu.Lock()
		moved, now = true, l.now()
	}
	l.releasing = false
	switch {
	case len(l.held) > 0:
		l.wakeAfter(l.held[0].due - now)
	case l.empty != nil:
		close(l.empty)
		l.empty = nil
	}
	return moved
}

// longestNap bounds how long the sleeping goroutine of a link outlives it.
const longestNap = 5 * time.Millisecond

// wakeAfter releases frames after d, in case no goroutine polls. Frames become
// due in order, so a goroutine that already sleeps wakes early enough.
func (l *link) wakeAfter(d time.Duration) {
	if l.napping {
		return
	}
	l.napping = true
	go func() {
		nap(min(d, longestNap))
		l.mu.Lock()
		l.napping = false
		l.release(l.now())
	}()
}

func (l *link) Progress() bool {
	l.mu.Lock()
	moved := false
	if len(l.held) > 0 {
		moved = l.release(l.now())
	} else {
		l.mu.Unlock()
	}
	return l.inner.Progress() || moved
}

func (l *link) Attend(on bool) { l.inner.Attend(on) }

// end returns the held frames to their owners through inner, which has ended.
func (l *link) end() {
	l.mu.Lock()
	l.flush = true
	l.release(l.now())
}

func (l *link) PeerDied() {
	l.inner.PeerDied()
	l.end()
}

func (l *link) Shutdown(ctx context.Context) error {
	l.mu.Lock()
	l.ending = true
	var empty chan struct{}
	if len(l.held) > 0 || l.releasing {
		empty = make(chan struct{})
		l.empty = empty
	}
	l.mu.Unlock()
	if empty != nil {
		select {
		case <-empty:
		case <-ctx.Done(): // inner.Shutdown reports it
		}
	}
	defer l.end()
	return l.inner.Shutdown(ctx)
}

func (l *link) Close() error {
	err := l.inner.Close()
	l.end()
	return err
}
