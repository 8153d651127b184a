package engine

import (
	"context"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/sdr"
)

// Engine is one process of a job. It shares work with the replicas of its rank, and takes
// part in recovery, over its links to the other processes.
type Engine struct {
	*node
	*sharing
	recovering *recovering
	deaths     deaths
	failure    func(error) job.Failure
	released   chan<- struct{} // closed once the process may exit
}

// Config describes a process to its engine.
type Config struct {
	Head  Head
	Links map[job.Process]transport.Link
	Local int // number of processes of the job on this host
	// Balance moves the calling thread to a core with fewer processes of the job, if there
	// is one. nil: threads are not moved.
	Balance func()
	Die     func(job.Kill) // ends the process, at a kill point
	// Failure classifies an error of the program. nil: the engine does.
	Failure func(error) job.Failure
	// Receive selects where updates are received, and Share shares every section that may be
	// shared. Only tests set them.
	Receive job.Receive
	Share   bool
}

// New returns the engine of a process. Begin starts it.
func New(ctx context.Context, c Config) *Engine {
	n := newNode(ctx, c)
	e := &Engine{node: n, sharing: newSharing(n, c)}
	e.recovering = newRecovering(n, e.sharing, e.bury)
	e.keeper = newKeeper(e.sharing, e.recovering)
	e.deaths.links, e.deaths.do = &n.peerLinks, e.do
	e.failure = failure
	if c.Failure != nil {
		e.failure = c.Failure
	}
	n.failed = func(err error) {
		if e.verifier.dispute(failure(err)) {
			go e.head.Tell(e.Snapshot)
			return
		}
		go func() { _ = n.head.Fail(failure(err), e.Snapshot()) }()
	}
	return e
}

// Checked reports whether the job runs in checked mode.
func (e *Engine) Checked() bool { return e.setup.Check }

// Messages returns the engine of the messages between ranks.
func (e *Engine) Messages() *sdr.Engine { return e.messages.Load() }

// Fail makes every section fail from now on, and returns err in the form in which the
// program sees it.
func (e *Engine) Fail(err error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fail(err)
	return diverged(err)
}

// Err returns why every section fails, nil if none does.
func (e *Engine) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// do handles an event of the head. Events arrive in the order in which the head sent them.
func (e *Engine) do(event job.Event) {
	switch event := event.(type) {
	case job.Verdict:
		if messages := e.messages.Load(); messages != nil && event.Through {
			messages.Through(event.Process.Rank)
		}
		e.trace.dead(event.Process)
		e.dead(event.Process, incarnationOf(event))
		e.head.Handled(event.Epoch)
	case job.Connected:
		e.connect(event)
	case job.Order:
		e.recovering.order(event)
	case job.Release:
		close(e.released)
		e.changed()
	}
}

// dead handles the death of a process, all of whose bytes have been read.
func (e *Engine) dead(p job.Process, incarnation uint32) {
	l, holds := e.peerLinks.remove(p, incarnation)
	if l != nil {
		e.poller.Remove(l.Link)
	}
	e.mu.Lock()
	e.recovering.dead(p)
	e.mu.Unlock()
	if holds || p == e.setup.Self && incarnation != e.began { // a joiner that relieves the process in the slot has died, or this process has relieved the dead one
		e.changed()
		return
	}
	e.bury(p)
}

// bury removes the dead process of a slot from the live ones. The next joiner may already
// have its link and be about to get its state.
func (e *Engine) bury(p job.Process) {
	e.mu.Lock()
	if _, lived := e.incarnations[p]; lived {
		delete(e.incarnations, p)
		e.sharing.dead(p)
	}
	messages := e.messages.Load()
	e.mu.Unlock()
	e.changed()
	if messages != nil {
		messages.Dead(p.Rank, p.Replica)
	}
}

// connect adds the link to a joiner.
func (e *Engine) connect(c job.Connected) {
	if !e.peerLinks.set(c.Process, c.Incarnation, c.Link) {
		_ = c.Link.Close() // the process has died meanwhile
		return
	}
	e.begin(c.Link, c.Process, c.Incarnation)
	e.head.Reply(job.Reply{Kind: job.ReplyLinked, Process: c.Process, Incarnation: c.Incarnation})
}
