package engine

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/intrahpc/intra/internal/checkpoint"
	"github.com/intrahpc/intra/internal/direct"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/ntcopy"
	"github.com/intrahpc/intra/internal/recovery"
	"github.com/intrahpc/intra/internal/section"
	"github.com/intrahpc/intra/sched"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/sdr"
	"github.com/intrahpc/intra/update"
)

// inboxBytes bounds the updates kept for sections not yet entered, per peer.
const inboxBytes = 64 << 20

// Engine drives the protocols of one process: it carries out what the state
// machines ask for, over the links to the other replicas of its rank.
type Engine struct {
	setup       job.Setup
	incarnation uint32          // incarnation in which this process began
	ctx         context.Context // done when the job ends
	head        Head
	poller      *transport.Poller
	peerLinks   peerLinks
	peers       []transport.Link           // to the replicas of this rank; nil for itself and the dead
	msgs        atomic.Pointer[sdr.Engine] // messages between ranks; nil for a joiner that has no place yet
	receive     job.Receive
	kills       *kills
	start       time.Time

	pending atomic.Int64  // frames whose memory is the program's, not yet handed over
	filling atomic.Int64  // updates that are being received into it
	changes atomic.Uint64 // counts what a waiting section should look at

	mu        sync.Mutex
	machine   *section.Machine
	gathered  *section.Machine // whose replicas have waited for each other
	once      *section.Once
	onceRun   bool // the protocol wants the function run here
	open      *Section
	checker   update.Checker // of scratch space
	workers   []worker       // of which the first is the goroutine of the program
	staged    buffers
	err       error // a divergence: every section fails from now on
	finished  bool  // the program has returned
	stats     stats
	decisions decisions
	bandwidth bandwidth
	stores    *stores // nil: there are none
	trace     *tracer // nil: not asked for

	// Recovery. A life ends when the job goes back.
	life         context.Context
	endLife      context.CancelCauseFunc
	incarnations map[job.Process]uint32 // incarnations of the processes that live
	member       *recovery.Member
	program      *Program          // nil before the program runs, and after it has to go back
	image        *checkpoint.Image // that this life begins with
	startAt      *rankPosition     // where this life began; nil: at the beginning of the job
	outbound     map[job.Process]*outbound
	stopDrain    context.CancelFunc
	cutAt        *rankPosition // of the cut in which joiners were admitted
	slots        recovery.Slots[stateCopy]
	streams      uint32 // states sent so far
	back         recovery.Return[stateCopy]

	writer *checkpoint.Writer // of files; nil before the first one
	saving atomic.Int64       // files that are being written

	deaths deaths
}

// Config describes a process to its engine.
type Config struct {
	Head  Head
	Links map[job.Process]transport.Link
	Die   func(job.Kill) // ends the process at a kill point
	// Receive says where updates are received, and Share has every section be
	// shared that may be: tests want that.
	Receive job.Receive
	Share   bool
}

// New returns the engine of a process, which begins with Begin.
func New(ctx context.Context, c Config) *Engine {
	setup := c.Head.Setup()
	replicas := setup.Degrees[setup.Self.Rank]
	e := &Engine{
		setup: setup, incarnation: setup.Incarnation, ctx: ctx, head: c.Head,
		poller:       transport.NewPoller(),
		peers:        make([]transport.Link, replicas),
		receive:      c.Receive,
		kills:        newKills(setup.Kills, c.Die),
		start:        time.Now(),
		machine:      section.New(section.Config{Replica: setup.Self.Replica, Replicas: replicas, InboxBytes: inboxBytes}),
		once:         section.NewOnce(setup.Self.Replica, replicas),
		stats:        newStats(),
		decisions:    newDecisions(),
		incarnations: make(map[job.Process]uint32),
		member:       recovery.NewMember(setup.Self, 0, setup.Next),
		outbound:     make(map[job.Process]*outbound),
	}
	e.decisions.never = c.Share
	e.workers = newWorkers(e, Threads(setup))
	if setup.Limit > 0 {
		e.bandwidth.limit(setup.Limit)
	}
	e.life, e.endLife = context.WithCancelCause(ctx)
	e.trace = newTracer(setup, e.start)
	for p, l := range c.Links {
		e.peerLinks.set(p, &peerLink{link: l, incarnation: firstIncarnation})
		if p.Rank == setup.Self.Rank && !setup.Joiner {
			e.peers[p.Replica] = l
		}
	}
	if !setup.Joiner {
		for _, p := range job.Processes(setup.Degrees) {
			e.incarnations[p] = firstIncarnation
		}
	}
	return e
}

// Checked reports whether the job runs in checked mode.
func (e *Engine) Checked() bool { return e.setup.Check }

// Replicated reports whether the rank of this process began with more than one
// replica.
func (e *Engine) Replicated() bool { return len(e.peers) > 1 }

// Messages returns what carries the messages between ranks.
func (e *Engine) Messages() *sdr.Engine { return e.msgs.Load() }

// firstIncarnation is the incarnation of the processes that start with the job.
const firstIncarnation = 1

func (e *Engine) now() time.Duration { return time.Since(e.start) }

// Opened is called in the call that opens a section, and returns its number.
func (e *Engine) Opened() uint64 {
	e.kills.at(job.KillSection)
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.machine.Number()
}

// Closed counts a section that was completed.
func (e *Engine) Closed(s *Section) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stats.total.Sections++
	if e.Serial() { // its tasks ran when they were launched
		e.enter(s)
		e.machine.Leave()
	}
}

// RunAlone runs task i of s at its launch, where sections are serial.
func (e *Engine) RunAlone(s *Section, i int) {
	from := e.now()
	s.Run(i)
	e.kills.at(job.KillTask)
	to := e.now()
	e.mu.Lock()
	e.stats.ran(e.stats.of(s.Tasks[i].Kernel), to-from)
	e.mu.Unlock()
	e.trace.task(s, i, 0, from, to)
}

// enter tells the machine of a section whose tasks have all been launched.
func (e *Engine) enter(s *Section) ([]section.Action, error) {
	var sig update.Signature
	for i := range s.Tasks {
		l := &s.Tasks[i]
		sig.Add(l.Kernel.Name, l.Regions)
		update.Aliased(l.Regions)
		l.known, l.bytes = e.stats.of(l.Kernel), update.Size(l.Regions)
		l.times = l.known.timesOf(l)
		l.times.Transfer = e.delivery(l)
	}
	s.helpers.size = e.concurrency(s)
	policy := s.Policy
	if e.setup.Sched != "" {
		var err error
		if policy, err = sched.Parse(e.setup.Sched); err != nil {
			return nil, err
		}
	}
	if s.Agree != nil || len(e.peers) == 1 && !e.Serial() {
		policy = sched.Replicate
	}
	var bytes int
	var places uint64
	if policy == sched.Adaptive {
		s.decision, bytes = e.decisions.about(s)
		var transfer time.Duration // stores are part of what sharing takes
		if places, s.stored = e.storable(s); !s.stored {
			transfer = e.bandwidth.atBest(bytes * (len(e.peers) - 1) / len(e.peers))
		}
		policy = s.decision.policy(transfer)
		s.stored = s.stored && policy == sched.Adaptive
	}
	s.Policy = policy
	if s.stored {
		policy = sched.Replicate // as far as updates go
		s.past = bytes >= ntcopy.From
		e.stores.board.Enter(direct.Section{Number: e.machine.Number(), Tasks: len(s.Tasks),
			Signature: sig.Sum() + uint64(len(s.Tasks)), Places: places})
	}
	return e.machine.Enter(section.Entry{
		Policy: policy, Refuse: s.stored, Tasks: len(s.Tasks), Signature: sig.Sum(),
		Patience: func(t int) time.Duration { return e.patience(&s.Tasks[t]) },
		Times:    func(t int) *section.Times { return s.Tasks[t].times },
	}, e.now())
}

// patience is how long a claim of a task is believed: twice the time that
// such a task takes here, and the time of its update, which those of all
// workers may go before. While nothing is known
// it is long: a peer that has stopped is fenced before.
func (e *Engine) patience(l *Task) time.Duration {
	const unknown, slack = 100 * time.Millisecond, 200 * time.Microsecond
	if l.known.average == 0 {
		return unknown
	}
	return 2*(l.known.average+l.times.Transfer*time.Duration(len(e.workers))) + slack
}

// delivery is how long the update of a task is under way, roughly.
func (e *Engine) delivery(l *Task) time.Duration {
	if t := e.bandwidth.time(l.bytes); t > 0 {
		return t
	}
	return time.Duration(l.bytes) // as over a link of 1 GB/s
}

// perform carries out what a received frame led to, under the lock.
func (e *Engine) perform(acts []section.Action) error {
	for _, a := range acts {
		switch a.Kind {
		case section.Apply:
			l := &e.open.Tasks[a.Task]
			b := a.Token.(*buffer)
			if err := update.Apply(l.Regions, b.mem); err != nil {
				return fmt.Errorf("%w: task %d (%s): replica %d sent %w", ErrDiverged, a.Task, l.Kernel.Name, a.Peer, err)
			}
			e.stats.received(l.known, 1)
			e.traceUpdate(job.TraceReceive, e.open, a.Task, a.Peer)
			e.staged.put(b)
		case section.Drop:
			e.staged.put(a.Token.(*buffer))
		}
	}
	return nil
}

// Fail makes every section fail from now on, and returns err as the program
// sees it.
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

// fail makes every section fail from now on; if there will be none, the head
// hears of it at once.
func (e *Engine) fail(err error) {
	if e.err != nil {
		return
	}
	e.err = err
	if e.finished {
		go func() { _ = e.head.Fail(failure(err), e.Snapshot()) }()
	}
}

// changed wakes whoever waits for a change of the protocol's state.
func (e *Engine) changed() {
	e.changes.Add(1)
	e.poller.Wake()
}
