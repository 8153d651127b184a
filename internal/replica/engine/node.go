package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/replica/fault"
	"github.com/intrahpc/intra/internal/replica/section"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/sdr"
)

// node is the part of a process that all its protocols use: the links to other processes,
// the clock, and the lock that guards the state.
type node struct {
	began     uint32          // incarnation with which this process began
	ctx       context.Context // done when the job ends
	head      Head
	poller    *transport.Poller
	peerLinks peerLinks
	messages  atomic.Pointer[sdr.Engine] // messages between ranks; nil for a joiner without a position
	faults    *fault.Points
	start     time.Time
	trace     *tracer       // nil: no trace was requested
	changes   atomic.Uint64 // counts changes that waiting goroutines have to check

	mu sync.Mutex // guards all fields below, and those of sharing and recovering
	// yield is unlocked. A function that is called with the lock and releases it temporarily
	// takes yield as an argument, so that every call shows this.
	yield    func(func())
	setup    job.Setup
	err      error    // error of all sections from now on; nil: sections do not fail
	restored []string // texts about the replicas of this rank that were restored, and at which safe points
	finished bool     // the program has returned
	// programEnded is the reason why the program has ended its goroutine, nil if it has not.
	programEnded error
	progress     progress
	failed       func(error) // called with an error that is found after finished was set
	// runCtx is the context of the run of the program. It ends when the job ends or rolls
	// back.
	runCtx context.Context
	endRun context.CancelCauseFunc
	// incarnations holds the incarnations of the live processes. Frames of any other
	// incarnation are refused.
	incarnations map[job.Process]uint32
}

// firstIncarnation is the incarnation of the processes that start with the job.
const firstIncarnation = 1

func newNode(ctx context.Context, c Config) *node {
	setup := c.Head.Setup()
	n := &node{
		setup: setup, began: setup.Incarnation, ctx: ctx, head: c.Head,
		poller:       transport.NewPoller(),
		faults:       fault.New(setup.Kills, c.Die),
		start:        time.Now(),
		incarnations: make(map[job.Process]uint32),
	}
	n.poller.Crowd(c.Local, c.Balance)
	n.yield = n.unlocked
	n.runCtx, n.endRun = context.WithCancelCause(ctx)
	n.trace = newTracer(setup, n.start)
	for p, l := range c.Links {
		n.peerLinks.set(p, firstIncarnation, l)
	}
	if !setup.Joiner {
		for _, p := range job.Processes(setup.Degrees) {
			n.incarnations[p] = firstIncarnation
		}
	}
	return n
}

func (n *node) now() time.Duration { return time.Since(n.start) }

// since returns the time since a moment of the node's clock, in seconds.
func (n *node) since(from time.Duration) float64 { return (n.now() - from).Seconds() }

// unlocked calls f without the lock. It takes the lock again even if f does not return.
func (n *node) unlocked(f func()) {
	n.mu.Unlock()
	defer n.mu.Lock()
	f()
}

// changed wakes all goroutines that wait for a change of the protocol's state.
func (n *node) changed() {
	n.changes.Add(1)
	n.poller.Wake()
}

// changedSince reports whether the state has changed since seen was read from changes.
func (n *node) changedSince(seen uint64) bool { return n.changes.Load() != seen }

// fail makes every section fail from now on. The first error stays.
func (n *node) fail(err error) {
	if n.err != nil {
		return
	}
	err = n.withCause(err)
	n.err = err
	if n.finished {
		n.failed(err)
	}
}

// withCause adds a likely cause to a divergence: a replica that was restored.
func (n *node) withCause(err error) error {
	var d *section.Divergence
	if len(n.restored) == 0 || !errors.As(err, &d) && !errors.As(err, new(*Differing)) || errors.As(err, new(*afterRestore)) {
		return err
	}
	return &afterRestore{err, n.restored[len(n.restored)-1]}
}

// afterRestore is a divergence between replicas, at least one of which began with saved state.
type afterRestore struct {
	error
	who string
}

func (e *afterRestore) Error() string {
	return fmt.Sprintf("%v; %s: %s", e.error, e.who, job.ForgottenState)
}

func (e *afterRestore) Unwrap() error { return e.error }

// broken makes all calls fail because of an error that the protocol excludes, such as a
// malformed frame of a peer.
func (n *node) broken(err error) {
	n.mu.Lock()
	n.fail(err)
	n.mu.Unlock()
	n.changed()
}

// ended adds the reason why the job ended to the error of a wait.
func (n *node) ended(err error) error {
	if err == nil {
		return nil
	}
	if n.ctx.Err() == nil {
		return context.Cause(n.runCtx) // the job rolls back
	}
	return fmt.Errorf("%w: %w", comm.ErrJobEnded, context.Cause(n.ctx))
}

// leased is called right before an effect on the outside world. It waits while this host may be
// considered lost, because another replica may then cause the same effect. An error means that the
// job, or this run of the program, has ended.
func (n *node) leased(ctx context.Context) error { return n.ended(n.head.Leased(ctx)) }

// reply sends replies to the head. It never blocks for long.
func (n *node) reply(rs []job.Reply) {
	for _, r := range rs {
		n.head.Reply(r)
	}
}

// linkTo returns the link to a process, nil if it is dead.
func (n *node) linkTo(p job.Process) transport.Link {
	if l := n.peerLinks.get(p, 0); l != nil {
		return l.Link
	}
	return nil
}

// linked reports whether there is a link to the process of p, or to an earlier one in its slot.
func (n *node) linked(p job.Peer) bool {
	l := n.peerLinks.get(p.Process, 0)
	return l != nil && l.Incarnation <= p.Incarnation
}

// Crowded reports whether more processes of the job run on this host than it has cores.
func (n *node) Crowded() bool { return n.poller.Crowded() }
