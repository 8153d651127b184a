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

// The arbiter decides when a host is lost. By then none of the host's processes may act any
// more. For that, a process checks a word of memory before it acts on the outside world. While
// the host's lease is over, its watchdog keeps the processes stopped. That is only a pause: a
// host that was merely slow continues with the next lease.
//
// If no lease follows, the agent kills its processes and ends, after Timing.Abandon or when it
// learns that its host has been declared lost. If the agent cannot do that, the watchdog does
// it at abandonTime.
//
// The end of a control connection proves nothing about the host. But unless there is another
// head soon, its agent kills its processes and ends, so that the host falls silent. agentwire
// makes the kernel end a connection that carries nothing in one direction. The arbiter alone
// would not notice such a connection, since its beats take another route.
const (
	abandonTime = 15 * time.Second

	// DoubtTime is the silence of a host after which the head does not yet decide anything by
	// reports from the host or about its processes. It is also the time before the end of a
	// lease in which the watchdog may already have stopped the processes.
	DoubtTime = 300 * time.Millisecond
)

// LeaseTime bounds how long an agent waits for its first lease. The head waits
// longer, so that it receives the agent's report.
const LeaseTime = 10 * time.Second

// Timing returns the timing of the arbiter's nodes. join bounds how long they wait for each
// other's first message. If rarer exceeds 1, the interval of beats is that many times longer,
// to measure their cost.
func Timing(join time.Duration, rarer int) arbiter.Timing {
	t := arbiter.DefaultTiming
	if rarer > 1 {
		t = t.Rarer(rarer)
	}
	t.Join = join
	return t
}

// node is this host's part of the arbiter. It holds the host's lease, knows which
// head the agent follows, and makes the agent the head if it is elected.
type node struct {
	bootstrap *spawn.Bootstrap
	watchdog  *watchdog.Watchdog
	sock      *arbiter.Socket
	listener  *takeoverListener
	word      *lease.Word     // the lease as the processes see it
	head      func(*Lead) int // see Config.Takeover
	evicted   chan error      // receives the reason why the processes must end
	leased    chan struct{}   // closed with the first lease
	renewed   chan struct{}   // receives a value after each change of the field until
	over      chan struct{}   // closed when the agent ends
	quit      chan struct{}   // closed when the host's processes have ended

	plan StartPlan // as received, without processes; set before the node enters

	// Set once the node has entered.
	NodeConfig
	engine  *arbiter.Engine
	entered time.Time
	drop    func() // ends the agent's connection to its head

	until atomic.Int64 // the end of the lease, as a time.Duration; only renew writes it

	heads *Pursuit

	mu   sync.Mutex
	lead *Lead // this agent as the head; nil: the agent is not elected
}

// newNode returns a node that is reachable, but has not entered.
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
	n := &node{bootstrap: s, watchdog: w, sock: sock, listener: listener, word: word, head: head, evicted: make(chan error, 1),
		leased: make(chan struct{}), renewed: make(chan struct{}, 1), over: make(chan struct{}), quit: make(chan struct{})}
	n.heads = &Pursuit{Name: agentwire.AgentName(s.Name), Secret: s.Secret, TLS: s.TLS, Leased: n.end, Over: n.over}
	n.heads.Start()
	return n, nil
}

// enter joins the arbiter. The node calls drop when there is another head.
func (n *node) enter(at NodeConfig, drop func()) error {
	if n.engine != nil {
		return agentwire.ErrFrame
	}
	n.NodeConfig, n.drop, n.entered = at, drop, time.Now()
	n.heads.Takeover, n.heads.Roster = at.Takeover, at.Roster
	if at.Term > 0 {
		n.heads.leader, n.heads.term = at.Leader, at.Term // no other goroutine uses them yet
	}
	if at.Takeover != nil {
		if err := n.listener.serve(); err != nil {
			return err
		}
	}
	var err error
	n.engine, err = arbiter.Start(n.sock, arbiter.Config{
		Self: at.Self, Roster: at.Roster, Secret: n.bootstrap.Secret, Timing: Timing(LeaseTime, at.Rarer), Guest: at.Guest, Word: n.word, Renewed: n.renew,
	})
	if err != nil {
		return err
	}
	go n.instruct()
	go n.obey()
	return nil
}

// hasLease waits for the first lease, before which no process is started. It
// returns false if the node ends.
func (n *node) hasLease() bool {
	select {
	case <-n.leased:
		return true
	case <-n.quit:
		return false
	}
}

// renew records a new end of the lease. It must not block, since the engine calls
// it.
func (n *node) renew(until time.Duration) {
	before := n.until.Load()
	n.until.Store(max(before, int64(until)))
	if before == 0 && until > 0 {
		close(n.leased)
	}
	select {
	case n.renewed <- struct{}{}:
	default: // instruct has not received the last wake-up yet
	}
}

// instruct passes the end of the lease to the watchdog.
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

// obey handles the arbiter's actions until one ends the node.
func (n *node) obey() {
	for {
		a, ok := n.engine.Next()
		if !ok {
			return
		}
		if n.Takeover != nil { // otherwise the job ends with its head
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

// paused reports whether the watchdog has stopped the processes, or may have.
func (n *node) paused() bool { return lease.Now() > n.end()-DoubtTime }

// close ends this host's part of the arbiter, once its processes are gone.
func (n *node) close() {
	close(n.quit)
	if n.engine != nil {
		_ = n.engine.Close() // not closed before
	}
	_ = n.word.Close() // only memory, so no error matters
	n.listener.close()
	_ = n.sock.Close() // the engine may have closed it already
}
