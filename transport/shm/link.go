//go:build linux

package shm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/internal/queue"
)

// link is one side of a segment. It sends with write, under tx, and receives with receive,
// under rx. Any goroutine that finds one of these locks free may do so, and only the run of
// the link's group waits for them. So a Receiver, an Owner or Mid may call every method
// except Shutdown.
//
// The memory is used under tx, rx or mu, and detached under all three. Only idle reads the
// control words without a lock: so detach maps zeros in their place, which stay until the
// link is garbage.
type link struct {
	memory   *mapping
	own      bell
	peer     bell
	done     chan struct{} // closed when both directions have ended
	sleeper  *Sleeper      // nil: the link has a group of its own
	watch    watch         // used by run
	closed   atomic.Bool   // this side has closed the link
	peerDead atomic.Bool
	busy     atomic.Bool // there may be something to send; changed under mu

	mu       sync.Mutex
	mapped   bool
	receiver transport.Receiver
	attended int
	queue    queue.Queue
	sendErr  error // why no more frames are accepted or sent
	ending   bool  // Shutdown was called: no more frames are accepted
	received bool  // Closed was called
	closeErr error // the error passed to Closed
	failure  error // why not everything was sent
	endings  int   // directions that have ended

	tx  sync.Mutex
	out sender

	rx sync.Mutex
	in receiver
}

// Open maps a segment and returns the link of one side, 0 or 1. The file is not
// needed afterwards. Shared memory does not reveal the death of a process: the
// owner of the link has to call PeerDied.
func Open(f *os.File, side int) (transport.Link, error) {
	return (*Sleeper)(nil).Open(f, side)
}

func open(f *os.File, side int) (*link, error) {
	if side != 0 && side != 1 {
		return nil, fmt.Errorf("open shared memory: side %d, want 0 or 1", side)
	}
	m, err := mapSegment(f)
	if err != nil {
		return nil, fmt.Errorf("open shared memory: %w", err)
	}
	l := &link{memory: m, mapped: true, own: m.bell(side), peer: m.bell(1 - side), done: make(chan struct{})}
	l.out.ring = m.words(side)
	l.in.ring = m.words(1 - side)
	l.out.laps.look = never
	l.out.need.Store(noNeed)
	runtime.AddCleanup(l, func(m *mapping) {
		m.unmap()
	}, m)
	return l, nil
}

func (l *link) Start(r transport.Receiver) {
	l.mu.Lock()
	l.receiver = r
	mapped := l.mapped
	l.mu.Unlock()
	if !mapped {
		go r.Closed(transport.ErrClosed)
		return
	}
	l.sleeper.add(l)
}

// mine reports whether run has to move the link. It has to if no goroutine attends to the
// link, or if the link is about to end, which attention must not delay.
func (l *link) mine() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.attended == 0 || l.ends()
}

// ends reports whether the link is about to end. The caller holds mu.
func (l *link) ends() bool { return l.ending || l.closed.Load() || l.peerDead.Load() }

// arm makes the peer wake run, if run has to move the link, and returns the value of the
// bell to sleep on. run then looks for work once more.
func (l *link) arm() uint32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.attended == 0 || l.ends() {
		return l.own.arm()
	}
	return l.own.word.Load()
}

// work is like Progress, but waits for the locks. The event that woke run may have occurred
// after the last look of the goroutine that holds them.
func (l *link) work() bool {
	l.tx.Lock()
	moved, blocked := l.write()
	l.tx.Unlock()
	// A Send that found tx taken left its frame to this goroutine, maybe after
	// write had looked at the queue for the last time.
	if !blocked && l.pump() {
		moved = true
	}
	l.rx.Lock()
	defer l.rx.Unlock()
	return l.receive(false) || moved
}

// unmapIfEnded ends the link when both directions have ended. It takes tx only in that
// case, because a Send that finds tx taken relies on the holder to look at the queue.
func (l *link) unmapIfEnded() bool {
	l.mu.Lock()
	ended := l.endings == 2
	l.mu.Unlock()
	if !ended {
		return false
	}
	l.tx.Lock()
	defer l.tx.Unlock()
	l.rx.Lock()
	defer l.rx.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mapped {
		l.mapped = false
		l.memory.detach()
		close(l.done)
	}
	return true
}

// endOne counts a direction that has ended.
func (l *link) endOne() {
	l.mu.Lock()
	l.endings++
	l.mu.Unlock()
}

// tell makes run look for work.
func (l *link) tell() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mapped {
		l.own.tell()
	}
}

// hasten makes run look for work even if a goroutine attends to the link.
func (l *link) hasten() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mapped {
		l.own.urge()
	}
}

func (l *link) Attend(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.attended
	if on {
		l.attended++
	} else {
		l.attended--
	}
	switch {
	case !l.mapped:
	case before == 0:
		if !l.ends() {
			l.own.unarm()
		}
	case l.attended == 0:
		l.own.rearm()
		if l.pending() {
			l.own.unarm()
			l.own.tell()
		}
		// The goroutine that attended may have waited for an answer. The peer may have
		// promised attention without polling now, so urge it.
		if l.out.tail.Load() != l.out.head.Load() {
			l.peer.urge()
		}
	}
}

// pending reports whether there may be something to move. The caller holds mu.
func (l *link) pending() bool {
	if l.queue.Len() > 0 && (l.out.need.Load() <= l.out.head.Load() || l.out.need.Load() == noNeed || l.out.reader.Load() != endOpen) {
		return true
	}
	return l.arrived() || l.in.sender.Load() != endOpen && !l.received
}

// idle reports, without a lock, whether there is nothing to move. It ignores
// ends, which run handles.
func (l *link) idle() bool {
	idle := !l.busy.Load() && !l.arrived()
	runtime.KeepAlive(l)
	return idle
}

// arrived reports whether there is something to receive, without a lock.
func (l *link) arrived() bool {
	in := &l.in.ring
	at := in.head.Load()
	if l.in.long.Load() {
		return in.tail.Load() != at
	}
	return in.first(at).Load() != 0
}

func (l *link) Progress() bool {
	if l.idle() {
		return false
	}
	moved := l.busy.Load() && l.pump()
	if l.rx.TryLock() {
		moved = l.receive(true) || moved
		l.rx.Unlock()
		if l.in.awaited() {
			l.peer.ring()
		}
		runtime.KeepAlive(l)
	}
	return moved
}

// TakeTurns implements transport.Turning.
func (l *link) TakeTurns() {
	l.tx.Lock()
	defer l.tx.Unlock()
	l.out.laps = firstLap(l.out.size)
}

// fail ends sending. It keeps the first error.
func (l *link) fail(err error) {
	l.mu.Lock()
	if l.sendErr == nil {
		l.sendErr = err
	}
	l.busy.Store(true)
	l.mu.Unlock()
}

func (l *link) PeerDied() {
	l.peerDead.Store(true)
	l.fail(transport.ErrPeerGone)
	l.tell()
}

func (l *link) Close() error {
	l.closed.Store(true)
	l.fail(transport.ErrClosed)
	l.mu.Lock()
	started := l.receiver != nil
	l.mu.Unlock()
	if started {
		l.tell()
		return nil
	}
	l.tx.Lock()
	l.write()
	l.tx.Unlock()
	l.rx.Lock()
	if !l.in.ended {
		l.leave()
		l.endOne()
	}
	l.rx.Unlock()
	l.unmapIfEnded()
	return nil
}

func (l *link) Shutdown(ctx context.Context) error {
	l.mu.Lock()
	l.ending = true
	l.busy.Store(true)
	l.mu.Unlock()
	l.tell()
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
