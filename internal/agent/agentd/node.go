package agentd

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/intrahpc/intra/internal/agent/agentwire"
	"github.com/intrahpc/intra/internal/agent/spawn"
	"github.com/intrahpc/intra/internal/agent/watchdog"
	"github.com/intrahpc/intra/internal/base/lease"
	"github.com/intrahpc/intra/internal/head/arbiter"
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

// node is this host's part in the arbiter: it holds the lease of the host, knows
// which head the agent follows, and has the agent be the head if it is elected.
type node struct {
	bootstrap *spawn.Bootstrap
	watchdog  *watchdog.Watchdog
	sock      *arbiter.Socket
	listener  *takeoverListener
	word      *lease.Word     // what the processes see of the lease
	head      func(*Lead) int // as Config.Takeover
	evicted   chan error      // why the processes must go
	leased    chan struct{}   // closed with the first lease
	renewed   chan struct{}   // until has changed
	over      chan struct{}   // closed when the agent ends
	quit      chan struct{}   // closed when its processes are gone

	// Once it has entered.
	NodeConfig
	engine  *arbiter.Engine
	entered time.Time
	drop    func() // ends the connection to the head that the agent obeys

	until atomic.Int64 // when the lease is over, as a time.Duration; only renew writes it

	mu      sync.Mutex
	leader  arbiter.ID
	term    uint64
	changed chan struct{} // closed and replaced when the leader does
	lead    *Lead         // this agent as the head; nil until it is
}

// newNode returns a node that can be reached, but has not entered.
func newNode(s *spawn.Bootstrap, w *watchdog.Watchdog, head func(*Lead) int) (*node, error) {
	sock, err := arbiter.Listen("")
	if err != nil {
		return nil, err
	}
	listener, err := listenForTakeover(s)
	if err != nil {
		sock.Close()
		return nil, err
	}
	word, err := lease.NewWord()
	if err != nil {
		sock.Close()
		listener.close()
		return nil, err
	}
	return &node{bootstrap: s, watchdog: w, sock: sock, listener: listener, word: word, head: head, evicted: make(chan error, 1),
		leased: make(chan struct{}), renewed: make(chan struct{}, 1), over: make(chan struct{}), quit: make(chan struct{}),
		leader: arbiter.Head, changed: make(chan struct{})}, nil
}

// enter joins the arbiter. drop is called when there is another head.
func (n *node) enter(at NodeConfig, drop func()) error {
	if n.engine != nil {
		return agentwire.ErrFrame
	}
	n.NodeConfig, n.drop, n.entered = at, drop, time.Now()
	if at.Takeover != nil {
		if err := n.listener.serve(at.Takeover.Hosts); err != nil {
			return err
		}
	}
	var err error
	n.engine, err = arbiter.Start(n.sock, arbiter.Config{
		Self: at.Self, Roster: at.Roster, Secret: n.bootstrap.Secret, Timing: Timing(LeaseTime, at.Rarer), Word: n.word, Renewed: n.renew,
	})
	if err != nil {
		return err
	}
	go n.instruct()
	go n.obey()
	return nil
}

// hasLease waits for the first lease. Without one nothing is started; false: the
// node ends.
func (n *node) hasLease() bool {
	select {
	case <-n.leased:
		return true
	case <-n.quit:
		return false
	}
}

// renew takes in a new end of the lease. It does not block, as the engine
// calls it.
func (n *node) renew(until time.Duration) {
	before := n.until.Load()
	n.until.Store(max(before, int64(until)))
	if before == 0 && until > 0 {
		close(n.leased)
	}
	select {
	case n.renewed <- struct{}{}:
	default: // it is to be told anyway
	}
}

// instruct tells the watchdog how long the lease is.
func (n *node) instruct() {
	for {
		select {
		case <-n.renewed:
			if until := n.end(); until > 0 {
				n.watchdog.Lease(until, until+abandonTime)
			}
		case <-n.quit:
			return
		}
	}
}

// obey does what the arbiter says until that ends the node.
func (n *node) obey() {
	for {
		a, ok := n.engine.Next()
		if !ok {
			return
		}
		if n.Takeover != nil { // else the job ends with its head
			n.follow(a)
		}
		switch a := a.(type) {
		case arbiter.Fence:
			n.evicted <- errors.New(a.Why)
			return
		case arbiter.Broken:
			n.evicted <- a.Err
			return
		}
	}
}

// end returns when the lease is over.
func (n *node) end() time.Duration { return time.Duration(n.until.Load()) }

// paused reports whether the watchdog has, or may have, stopped the processes.
func (n *node) paused() bool { return lease.Now() > n.end()-DoubtTime }

// close ends this host's part in the arbiter, when its processes are gone.
func (n *node) close() {
	close(n.quit)
	if n.engine != nil {
		_ = n.engine.Close() // nobody has closed it before
	}
	_ = n.word.Close() // it is only memory
	n.listener.close()
	_ = n.sock.Close() // unless it was the engine's
}
