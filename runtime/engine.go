package intra

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/section"
	"github.com/intrahpc/intra/sched"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/sdr"
	"github.com/intrahpc/intra/update"
)

// inboxBytes bounds the updates kept for sections not yet entered, per peer.
const inboxBytes = 64 << 20

// engine drives the protocols of one process: it carries out what the state
// machines ask for, over the links to the other replicas of its rank.
type engine struct {
	setup  job.Setup
	ctx    context.Context // done when the job ends
	head   head
	poller *transport.Poller
	links  map[job.Process]transport.Link
	peers  []transport.Link // to the replicas of this rank; nil for itself
	msgs   *sdr.Engine      // messages between ranks
	place  receiveMode
	kills  *kills
	start  time.Time

	pending atomic.Int64  // frames whose memory is the program's, not yet handed over
	changes atomic.Uint64 // counts what a waiting section should look at

	mu        sync.Mutex
	machine   *section.Machine
	once      *section.Once
	onceRun   bool // the protocol wants the function run here
	open      *Section
	staged    buffers
	err       error // a divergence: every section fails from now on
	finished  bool  // the program has returned
	stats     stats
	average   map[*Task]time.Duration // of a body run here, for claims
	decisions decisions
	trace     *tracer // nil: not asked for

	deaths deaths
}

// receiveMode says where updates are received that do not lie whole in the
// memory of a link.
type receiveMode uint8

const (
	// receiveStaged: into a buffer, applied when whole.
	receiveStaged receiveMode = iota
	// receiveInPlace: into the task's memory, with a snapshot of inout.
	receiveInPlace
	// receiveTorn is receiveInPlace without the snapshot. It is wrong, and
	// the tests show that it is.
	receiveTorn
)

func newEngine(ctx context.Context, h head, links map[job.Process]transport.Link, die func(job.Kill)) *engine {
	setup := h.Setup()
	replicas := setup.Degrees[setup.Self.Rank]
	e := &engine{
		setup: setup, ctx: ctx, head: h, links: links,
		poller:    transport.NewPoller(),
		peers:     make([]transport.Link, replicas),
		kills:     newKills(setup.Kills, die),
		start:     time.Now(),
		machine:   section.New(section.Config{Replica: setup.Self.Replica, Replicas: replicas, InboxBytes: inboxBytes}),
		once:      section.NewOnce(setup.Self.Replica, replicas),
		stats:     newStats(),
		average:   make(map[*Task]time.Duration),
		decisions: newDecisions(),
		deaths:    newDeaths(),
	}
	e.trace = newTracer(setup, e.start)
	for p, l := range links {
		if p.Rank == setup.Self.Rank {
			e.peers[p.Replica] = l
		}
	}
	return e
}

func (e *engine) now() time.Duration { return time.Since(e.start) }

// opened is called in the call that opens a section, and returns its number.
func (e *engine) opened() uint64 {
	e.kills.at(job.KillSection)
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.machine.Number()
}

// closed counts a section that was completed.
func (e *engine) closed(s *Section) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stats.total.Sections++
	if len(e.peers) == 1 { // its tasks ran when they were launched
		e.enter(s)
		e.machine.Leave()
	}
}

// alone runs task i of s at its launch, for a rank with one replica.
func (e *engine) alone(s *Section, i int) {
	from := e.now()
	s.run(i)
	e.kills.at(job.KillTask)
	to := e.now()
	e.mu.Lock()
	e.stats.ran(s.tasks[i].task, to-from)
	e.mu.Unlock()
	e.trace.task(s, i, from, to)
}

// enter tells the machine of a section whose tasks have all been launched.
func (e *engine) enter(s *Section) ([]section.Action, error) {
	var sig update.Signature
	for i := range s.tasks {
		sig.Add(s.tasks[i].task.name, s.tasks[i].regions)
		update.Aliased(s.tasks[i].regions)
	}
	policy := s.policy
	if e.setup.Sched != "" {
		var err error
		if policy, err = sched.Parse(e.setup.Sched); err != nil {
			return nil, err
		}
	}
	if s.check != nil {
		policy = sched.Replicate
	}
	if policy == sched.Adaptive {
		s.decision = e.decisions.about(s)
		policy = s.decision.policy()
	}
	s.policy = policy
	return e.machine.Enter(section.Entry{
		Policy: policy, Tasks: len(s.tasks), Signature: sig.Sum(),
		Patience: func(t int) time.Duration { return e.patience(&s.tasks[t]) },
	}, e.now())
}

// patience is how long a claim of a task is believed: twice the time that
// such a task takes here, and the time of its update over a slow link. While
// nothing is known it is long: a peer that has stopped is fenced before.
func (e *engine) patience(l *launched) time.Duration {
	const unknown, slack, bytesPerMicrosecond = 100 * time.Millisecond, 200 * time.Microsecond, 1000
	spent, ok := e.average[l.task]
	if !ok {
		return unknown
	}
	transfer := time.Duration(update.Size(l.regions)/bytesPerMicrosecond) * time.Microsecond
	return 2*spent + transfer + slack
}

// share completes s together with the other replicas [INTRA, Algorithm 1,
// lines 20 to 28].
func (e *engine) share(s *Section) error {
	e.mu.Lock()
	e.open = s
	begun := e.now()
	var inBodies time.Duration
	ran := 0
	acts, err := e.enter(s)
	if err == nil {
		err = e.perform(acts)
	}
	for err == nil && e.err == nil {
		seen := e.changes.Load()
		step, acts := e.machine.Next(e.now())
		if step.Kind == section.Done {
			break
		}
		if step.Kind == section.Wait {
			err = e.await(s, seen, step.Until)
			continue
		}
		if e.machine.Adopted(step.Task) {
			e.stats.total.TasksRerun++
		}
		sends := e.frames(s, acts)
		e.mu.Unlock()
		e.send(sends)
		from := e.now()
		s.run(step.Task)
		e.kills.at(job.KillTask)
		to := e.now()
		spent := to - from
		e.trace.task(s, step.Task, from, to)
		e.mu.Lock()
		t := s.tasks[step.Task].task
		e.stats.ran(t, spent)
		e.average[t] = average(e.average[t], spent)
		inBodies, ran = inBodies+spent, ran+1
		sends = e.frames(s, e.machine.Ran(step.Task))
		e.mu.Unlock()
		e.send(sends)
		e.poller.Poll()
		e.mu.Lock()
	}
	if err == nil && e.err != nil {
		err = e.err
	}
	e.mu.Unlock()
	if err == nil {
		err = e.handedOver(s)
	}
	if err == nil && s.check != nil {
		err = e.agree(s)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil {
		e.fail(err) // the section stays open: its updates may still arrive
		return diverged(err)
	}
	e.open = nil
	e.machine.Leave()
	e.completed(s, begun)
	if s.decision != nil && len(s.tasks) > 0 {
		s.decision.learn(s.policy, e.now()-begun, inBodies, ran, len(s.tasks))
		e.stats.of(s.tasks[0].task).Decision = s.decision.word()
	}
	return nil
}

// await waits, without the lock, until something has changed since seen or
// the time until has come.
func (e *engine) await(s *Section, seen uint64, until time.Duration) error {
	missing := e.machine.Missing()
	e.mu.Unlock()
	changed := func() bool { return e.changes.Load() != seen }
	from := e.now()
	var err error
	if until > 0 {
		err = e.poller.WaitUntil(e.ctx, e.start.Add(until), changed)
	} else {
		err = e.poller.Wait(e.ctx, changed)
	}
	e.mu.Lock()
	if missing >= 0 {
		e.waited(s, missing, from)
	}
	return e.ended(err)
}

// handedOver waits until the memory of this section is no link's any more.
func (e *engine) handedOver(s *Section) error {
	if e.pending.Load() == 0 {
		return nil
	}
	from := e.now()
	err := e.poller.Wait(e.ctx, func() bool { return e.pending.Load() == 0 })
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waited(s, 0, from)
	return e.ended(err)
}

// ended puts the reason why the job ended into the error of a wait.
func (e *engine) ended(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrJobEnded, context.Cause(e.ctx))
}

// perform carries out what a received frame led to, under the lock.
func (e *engine) perform(acts []section.Action) error {
	for _, a := range acts {
		switch a.Kind {
		case section.Apply:
			l := &e.open.tasks[a.Task]
			b := a.Token.(*buffer)
			if err := update.Apply(l.regions, b.mem); err != nil {
				return fmt.Errorf("%w: task %d (%s): replica %d sent %w", ErrDiverged, a.Task, l.task.name, a.Peer, err)
			}
			e.stats.received(l.task)
			e.trace.update(job.TraceReceive, e.open, a.Task, a.Peer, e.now())
			e.staged.put(b)
		case section.Drop:
			e.staged.put(a.Token.(*buffer))
		}
	}
	return nil
}

// fail makes every section fail from now on; if there will be none, the head
// hears of it at once.
func (e *engine) fail(err error) {
	if e.err != nil {
		return
	}
	e.err = err
	if e.finished {
		go func() { _ = e.head.Fail(failure(diverged(err)), e.snapshot()) }()
	}
}

// changed wakes whoever waits for a change of the protocol's state.
func (e *engine) changed() {
	e.changes.Add(1)
	e.poller.Wake()
}
