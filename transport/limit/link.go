package limit

import (
	"context"
	"sync"
	"time"

	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/internal/queue"
)

// burst is how many bytes pass an idle link at once. What is limited is the
// bandwidth, not the latency of small messages.
const burst = 16 << 10

// New returns a link over inner whose frames leave, in their order, at a rate
// of at most so many bytes per second, headers included. A frame passes when
// the last of its bytes would have on a link of that bandwidth. The other
// direction is limited by the link at the other end.
func New(inner transport.Link, rate Rate) transport.Link {
	return &link{inner: inner, perByte: float64(time.Second) / float64(rate), clock: time.Now()}
}

// link holds frames until they are due. One goroutine at a time hands them to
// inner, whichever comes first: a sender, Progress or one that naps until the
// next frame is due.
type link struct {
	inner   transport.Link
	perByte float64 // nanoseconds
	clock   time.Time

	mu        sync.Mutex
	held      []heldFrame
	free      time.Duration // when the line has sent everything accepted so far
	releasing bool
	flush     bool          // the link has ended: inner gives all frames back
	ending    bool          // Shutdown: nothing more is accepted
	napping   bool          // a goroutine will look at what is held
	empty     chan struct{} // closed when nothing is held; set while Shutdown waits
}

type heldFrame struct {
	frame *transport.Frame
	due   time.Duration // by the link's clock
}

func (l *link) now() time.Duration { return time.Since(l.clock) }

func (l *link) Start(r transport.Receiver) { l.inner.Start(&receiver{r, l}) }

// receiver tells the link of the end of inner.
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

// release hands over what is due, unless another goroutine is at it, and
// reports whether anything was. It is called with mu held, and unlocks it.
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

// longestNap bounds how long the goroutine of a link outlives it.
const longestNap = 5 * time.Millisecond

// wakeAfter has what is held looked at, for when nobody polls. Frames become
// due in their order, so one that naps already wakes early enough.
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

// end gives back what is held, through inner, which has ended.
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
