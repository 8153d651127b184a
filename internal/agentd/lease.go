package agentd

import (
	"errors"
	"sync"
	"time"

	"github.com/intrahpc/intra/internal/agentwire"
	"github.com/intrahpc/intra/internal/arbiter"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/lease"
	"github.com/intrahpc/intra/internal/watchdog"
)

// When a host is lost is the arbiter's to say. Its part here is that none of
// the processes of a host act any more by then: they look at a word of memory
// before they act on the outside world, and while the lease of the host is over
// its watchdog keeps them stopped. That is a pause, no death: a host that was
// merely slow goes on with the next lease. Where none comes, the agent kills
// its processes and ends, after Timing.Abandon or when it hears that the host
// has been declared lost; and the watchdog does so for an agent that cannot,
// at abandonTime.
//
// A control connection that ends proves nothing about the host, but unless there
// is another head soon its agent kills its processes and ends then, so that the
// host falls silent. agentwire has the kernel end a connection that carries
// nothing in one direction; beats find a way around, so the arbiter alone would
// not notice.
const (
	abandonTime = 15 * time.Second

	// DoubtTime of silence is enough not to trust what others say of a host, and
	// what is left of a lease when a pause is near.
	DoubtTime = 300 * time.Millisecond
)

// LeaseTime bounds the wait of an agent for its first lease. The head waits
// longer, so that it hears what the agent says of it.
const LeaseTime = 10 * time.Second

// Timing returns that of the arbiter's nodes, which wait for each other's first
// word for the given time. Beats are so many times rarer than they should be, for
// measurements of what they cost; up to 1 means not at all.
func Timing(join time.Duration, rarer int) arbiter.Timing {
	t := arbiter.DefaultTiming
	if rarer > 1 {
		t = t.Rarer(rarer)
	}
	t.Join = join
	return t
}

// leaseHolder holds the lease of this host.
type leaseHolder struct {
	sock     *arbiter.Socket
	secret   job.Secret
	watchdog *watchdog.Watchdog
	word     *lease.Word   // what the processes see of it
	evicted  chan error    // why the processes must go
	leased   chan struct{} // closed with the first lease
	renewed  chan struct{} // until has changed
	quit     chan struct{}
	engine   *arbiter.Engine // once it has entered
	follower *follower       // is told all that the arbiter says; nil if there is none

	mu    sync.Mutex
	until time.Duration // when the lease is over
}

func newLeaseHolder(sock *arbiter.Socket, secret job.Secret, w *watchdog.Watchdog) (*leaseHolder, error) {
	word, err := lease.NewWord()
	if err != nil {
		return nil, err
	}
	return &leaseHolder{sock: sock, secret: secret, watchdog: w, word: word, evicted: make(chan error, 1),
		leased: make(chan struct{}), renewed: make(chan struct{}, 1), quit: make(chan struct{})}, nil
}

// enter joins the arbiter and returns once there is a lease.
func (h *leaseHolder) enter(at NodeConfig) error {
	if h.engine != nil {
		return agentwire.ErrFrame
	}
	var err error
	h.engine, err = arbiter.Start(h.sock, arbiter.Config{
		Self: at.Self, Roster: at.Roster, Secret: h.secret, Timing: Timing(LeaseTime, at.Rarer), Word: h.word, Renewed: h.renew,
	})
	if err != nil {
		return err
	}
	go h.instruct()
	go h.obey()
	select {
	case <-h.leased:
		return nil
	case err := <-h.evicted:
		return err
	}
}

// renew takes in a new end of the lease. It does not block, as the engine
// calls it.
func (h *leaseHolder) renew(until time.Duration) {
	h.mu.Lock()
	first := h.until == 0 && until > 0
	h.until = max(h.until, until)
	h.mu.Unlock()
	if first {
		close(h.leased)
	}
	select {
	case h.renewed <- struct{}{}:
	default: // it is to be told anyway
	}
}

// instruct tells the watchdog how long the lease is.
func (h *leaseHolder) instruct() {
	for {
		select {
		case <-h.renewed:
			if until := h.end(); until > 0 {
				h.watchdog.Lease(until, until+abandonTime)
			}
		case <-h.quit:
			return
		}
	}
}

// obey waits for the arbiter to end it.
func (h *leaseHolder) obey() {
	for {
		a, ok := h.engine.Next()
		if !ok {
			return
		}
		h.follower.take(a)
		switch a := a.(type) {
		case arbiter.Fence:
			h.evicted <- errors.New(a.Why)
			return
		case arbiter.Broken:
			h.evicted <- a.Err
			return
		}
	}
}

func (h *leaseHolder) end() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.until
}

// paused reports whether the watchdog has, or may have, stopped the processes.
func (h *leaseHolder) paused() bool { return lease.Now() > h.end()-DoubtTime }

// close ends this host's part in the arbiter, when its processes are gone.
func (h *leaseHolder) close() {
	close(h.quit)
	if h.engine != nil {
		_ = h.engine.Close() // nobody has closed it before
	}
	_ = h.word.Close() // it is only memory
}
