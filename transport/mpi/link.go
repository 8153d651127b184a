//go:build mpi && linux

package mpi

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/internal/queue"
)

// link is one end of a path to a process of the world. It sends with write, under tx, and
// receives with receive, under rx. Any goroutine that finds one of these locks free may do
// so, and none waits for them. So a Receiver, an Owner or Mid may call every method except
// Shutdown.
type link struct {
	world *World
	peer  int
	// sends and receives are the tags of this side's packets and of the peer's.
	// The pieces of large frames have the next tag.
	sends, receives int

	done      chan struct{} // closed when both directions have ended
	attended  atomic.Int32
	streaming atomic.Int32 // number of large frames under way; changed by stream
	busy      atomic.Bool  // there may be something to send; changed under mu
	closed    atomic.Bool  // this side has closed the link
	peerDead  atomic.Bool
	peerGone  atomic.Bool // the peer has reported that it closed its end

	mu       sync.Mutex
	receiver transport.Receiver
	started  bool
	running  bool // finish is running
	given    bool // released without having been started
	queue    queue.Queue
	sendErr  error // why no more frames are accepted or sent
	ending   bool  // Shutdown was called: no more frames are accepted
	closeErr error // the error passed to Closed
	failure  error // why not all frames were sent
	endings  int   // number of directions that have ended

	tx  sync.Mutex
	out sender

	rx sync.Mutex
	in receiver

	suspicion suspicion
}

// patience is how long a link that has ended waits until the peer has received
// the last packets.
const patience = time.Second

// maxChannel bounds the channels of a pair of processes: tags up to 32767 are
// valid with every library.
const maxChannel = 8000

// Link makes this side's end of a link to the process of a rank. Both sides must use the
// same channel, and no earlier link between the two may have used it. If suspect
// is not nil, the link calls it with an error when, after the death of any process, the peer has
// received nothing for 10 s (blocked), and with nil when the peer receives again.
func (w *World) Link(peer, channel int, suspect func(error)) (transport.Link, error) {
	side := 0
	if w.rank > peer {
		side = 1
	}
	l, err := w.link(peer, channel, side)
	if err != nil {
		return nil, err
	}
	l.suspicion.report = suspect
	return l, nil
}

// link makes the end of a link with the given side, 0 or 1.
func (w *World) link(peer, channel, side int) (*link, error) {
	if peer < 0 || peer >= w.size {
		return nil, fmt.Errorf("open MPI link: no rank %d in a world of %d", peer, w.size)
	}
	if channel < 0 || channel > maxChannel {
		return nil, fmt.Errorf("open MPI link: channel %d, want 0 to %d", channel, maxChannel)
	}
	l := &link{
		world: w, peer: peer, done: make(chan struct{}),
		sends: 4*channel + 2*side, receives: 4*channel + 2*(1-side),
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.finished {
		return nil, errors.New("open MPI link: the process has left MPI")
	}
	if key := [2]int{peer, l.sends}; w.tags[key] {
		return nil, fmt.Errorf("open MPI link: channel %d to rank %d was in use before", channel, peer)
	} else {
		w.tags[key] = true
	}
	return l, nil
}

func (l *link) Start(r transport.Receiver) {
	l.mu.Lock()
	l.receiver = r
	l.mu.Unlock()
	if l.closed.Load() {
		go r.Closed(transport.ErrClosed)
		return
	}
	l.world.add(l)
	l.mu.Lock()
	l.started = true
	ends := l.sendErr != nil || l.endings > 0 // the peer may have died before: its packets are still delivered
	l.mu.Unlock()
	if ends {
		l.conclude()
	}
}

func (l *link) Attend(on bool) {
	if on {
		l.attended.Add(1)
	} else if l.attended.Add(-1) == 0 {
		l.world.ring()
	}
}

func (l *link) Progress() bool {
	moved := l.pump()
	if l.rx.TryLock() {
		moved = l.receive() || moved
		l.rx.Unlock()
	}
	return moved
}

// fail ends sending. It keeps the first reason.
func (l *link) fail(err error) {
	l.mu.Lock()
	if l.sendErr == nil {
		l.sendErr = err
	}
	l.busy.Store(true)
	l.mu.Unlock()
}

// conclude makes sure that a link that is ending does end, even if its attendants do not
// poll.
func (l *link) conclude() {
	l.mu.Lock()
	start := l.started && !l.running
	l.running = l.running || start
	l.mu.Unlock()
	if start {
		go l.finish()
	}
}

// finish moves a link until both directions have ended, and releases it when the
// library no longer needs its memory.
func (l *link) finish() {
	for nap := shortest; !l.ended(); nap = min(2*nap, overdue) {
		for start := time.Now(); time.Since(start) < shortest; runtime.Gosched() {
			if l.Progress() {
				nap = shortest
			}
		}
		sleep(nap)
	}
	close(l.done)
	l.release()
}

// release removes a link that has ended. It waits up to patience for the packets under way.
// Packets that are still under way then were for a peer that has died or closed its end.
// release does not wait for a peer that is known to be dead. If the peer is this process, release
// waits in any case, because packets to itself still arrive.
func (l *link) release() {
	l.tx.Lock()
	defer l.tx.Unlock()
	l.rx.Lock()
	defer l.rx.Unlock()
	settled, dead := l.settled(), l.peerDead.Load() && l.peer != l.world.rank
	for end := time.Now().Add(patience); !settled && !dead && time.Now().Before(end); settled = l.settled() {
		time.Sleep(shortest)
	}
	l.stream(-l.streaming.Load()) // the frame that this side has abandoned
	l.world.remove(l, settled && !l.in.abandoned)
}

// stream changes the number of large frames under way.
func (l *link) stream(more int32) {
	l.streaming.Add(more)
	l.world.streaming.Add(more)
}

func (l *link) ended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.endings == 2
}

// endOne counts a direction that has ended.
func (l *link) endOne() {
	l.mu.Lock()
	l.endings++
	l.mu.Unlock()
	l.conclude() // the peer's end arrives without a call of this side
}

// PeerDied implements transport.Link.
func (l *link) PeerDied() {
	l.peerDead.Store(true)
	if l.peer != l.world.rank {
		l.world.Mourn()
	}
	l.fail(transport.ErrPeerGone)
	l.pump()
	l.conclude()
}

func (l *link) Close() error {
	l.closed.Store(true)
	l.fail(transport.ErrClosed)
	l.pump()
	l.conclude()
	l.mu.Lock()
	fresh := !l.started && !l.given
	l.given = l.given || fresh
	l.mu.Unlock()
	if fresh {
		l.release()
	}
	return nil
}

func (l *link) Shutdown(ctx context.Context) error {
	l.mu.Lock()
	l.ending = true
	l.busy.Store(true)
	l.mu.Unlock()
	l.conclude()
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
