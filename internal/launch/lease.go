package launch

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/intrahpc/intra/internal/agentwire"
	"github.com/intrahpc/intra/internal/arbiter"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/lease"
	"github.com/intrahpc/intra/internal/watchdog"
)

// When a host is lost is the arbiter's to say. Its part here is that none of
// the processes of a host act any more by then: they look at a word of memory
// before they act on the outside world, and while the lease of the host is over
// its guard keeps them stopped. That is a pause, no death: a host that was
// merely slow goes on with the next lease. Where none comes, the agent kills
// its processes and ends, after Timing.Abandon or when it hears that the host
// has been declared lost; and the guard does so for an agent that cannot, at
// abandonTime.
//
// A control connection that ends proves nothing about the host, but unless there
// is another head soon (heir.go) its agent kills its processes and ends then, so
// that the host falls silent. The kernel
// ends a connection that carries nothing in one direction within
// connectionTime or little more; beats find a way around, so the arbiter alone
// would not notice.
const (
	abandonTime    = 15 * time.Second
	connectionTime = 2 * time.Second

	// doubtTime of silence is enough not to trust what others say of a host, and
	// what is left of a lease when a pause is near.
	doubtTime = 300 * time.Millisecond
)

// leaseTime bounds the wait of an agent for its first lease. The head waits
// longer, so that it hears what the agent says of it.
const leaseTime = 10 * time.Second

// timing is that of the arbiter's nodes, which wait for each other's first word
// for the given time. rarer is as in Config.
func timing(join time.Duration, rarer int) arbiter.Timing {
	t := arbiter.DefaultTiming
	if rarer > 1 {
		t = t.Rarer(rarer)
	}
	t.Join = join
	return t
}

// keepAlive has the kernel try an idle connection.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: time.Second, Count: int(connectionTime / time.Second)}

// bound sets how long what a control connection sends may stay unacknowledged.
// Accepted connections have it from the listening socket.
func bound(_, _ string, c syscall.RawConn) error {
	var set error
	err := c.Control(func(fd uintptr) {
		set = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(connectionTime.Milliseconds()))
	})
	if err = errors.Join(err, set); err != nil {
		return fmt.Errorf("bound how long data may stay unacknowledged: %w", err)
	}
	return nil
}

// place tells an agent which node of the arbiter it is, and of whom.
type place struct {
	Self   arbiter.ID     `json:"self"`
	Roster []arbiter.Peer `json:"roster"`
	Will   *will          `json:"will,omitempty"` // nil if the job ends with the head
	Rarer  int            `json:"rarer,omitempty"`
}

// tenant holds the lease of this host.
type tenant struct {
	sock    *arbiter.Socket
	secret  job.Secret
	guard   *watchdog.Watchdog
	word    *lease.Word   // what the processes see of it
	evicted chan error    // why the processes must go
	leased  chan struct{} // closed with the first lease
	renewed chan struct{} // until has changed
	quit    chan struct{}
	engine  *arbiter.Engine // once it has entered
	heir    *heir           // is told all that the arbiter says; nil if there is none

	mu    sync.Mutex
	until time.Duration // when the lease is over
}

func newTenant(sock *arbiter.Socket, secret job.Secret, g *watchdog.Watchdog) (*tenant, error) {
	word, err := lease.NewWord()
	if err != nil {
		return nil, err
	}
	return &tenant{sock: sock, secret: secret, guard: g, word: word, evicted: make(chan error, 1),
		leased: make(chan struct{}), renewed: make(chan struct{}, 1), quit: make(chan struct{})}, nil
}

// enter joins the arbiter and returns once there is a lease.
func (t *tenant) enter(at place) error {
	if t.engine != nil {
		return agentwire.ErrFrame
	}
	var err error
	t.engine, err = arbiter.Start(t.sock, arbiter.Config{
		Self: at.Self, Roster: at.Roster, Secret: t.secret, Timing: timing(leaseTime, at.Rarer), Word: t.word, Renewed: t.renew,
	})
	if err != nil {
		return err
	}
	go t.instruct()
	go t.obey()
	select {
	case <-t.leased:
		return nil
	case err := <-t.evicted:
		return err
	}
}

// renew takes in a new end of the lease. It does not block, as the engine
// calls it.
func (t *tenant) renew(until time.Duration) {
	t.mu.Lock()
	first := t.until == 0 && until > 0
	t.until = max(t.until, until)
	t.mu.Unlock()
	if first {
		close(t.leased)
	}
	select {
	case t.renewed <- struct{}{}:
	default: // it is to be told anyway
	}
}

// instruct tells the guard how long the lease is.
func (t *tenant) instruct() {
	for {
		select {
		case <-t.renewed:
			if until := t.end(); until > 0 {
				t.guard.Lease(until, until+abandonTime)
			}
		case <-t.quit:
			return
		}
	}
}

// obey waits for the arbiter to put an end to it.
func (t *tenant) obey() {
	for {
		a, ok := t.engine.Next()
		if !ok {
			return
		}
		t.heir.take(a)
		switch a := a.(type) {
		case arbiter.Fence:
			t.evicted <- errors.New(a.Why)
			return
		case arbiter.Broken:
			t.evicted <- a.Err
			return
		}
	}
}

func (t *tenant) end() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.until
}

// paused: the guard has, or may have, stopped the processes.
func (t *tenant) paused() bool { return lease.Now() > t.end()-doubtTime }

// close ends this host's part in the arbiter, when its processes are gone.
func (t *tenant) close() {
	close(t.quit)
	if t.engine != nil {
		_ = t.engine.Close() // nobody has closed it before
	}
	_ = t.word.Close() // it is only memory
}
