package localjob

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
	"github.com/intrahpc/intra/internal/replica/engine"
)

// Program is the program that the processes run.
type Program struct {
	Run     func(*engine.Program) error
	Failure func(error) job.Failure // describes the failure of a run that has returned an error
	Hello   job.Hello               // the report of each process about itself
}

// Run runs a job in this process until every rank has finished in at least one
// replica, or the job cannot continue. Options of tests are in the context
// (job.LocalFrom).
func Run(ctx context.Context, spec job.Spec, program Program) error {
	degrees, err := spec.Resolve()
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	l := &localJob{
		ctx: ctx, want: job.LocalFrom(ctx), spec: spec, program: program, began: time.Now(),
		procs: make(map[head.From]*process), some: make(chan struct{}, 1),
	}
	c := l.config(degrees)
	if c.Checkpoint != nil || c.Restart != "" { // opening takes some time, and only jobs with files need it
		if l.program.Hello, err = job.Describe(program.Hello.Tag, program.Hello.Tasks); err != nil {
			return fmt.Errorf("intra.Run: %w", err)
		}
	}
	l.head = head.New(c)
	l.loop()
	l.running.Wait()
	s := l.head.Summary()
	l.tellWhatHappened(&s)
	l.leaveFolder(&s)
	return l.outcome(&s)
}

// localJob is a job in this process. The fields after the field some belong to the goroutine that
// drives the head. All other goroutines send events to that goroutine by tell.
type localJob struct {
	ctx     context.Context // context of the caller; when it ends, the head ends the processes
	want    *job.Local
	spec    job.Spec
	program Program
	began   time.Time // the zero of the head's clock
	running sync.WaitGroup

	mu     sync.Mutex
	events []head.Event  // events that wait for the head
	some   chan struct{} // receives when there are events

	head    *head.Head
	procs   map[head.From]*process
	started []*process       // all processes, in the order of their starts
	refused error            // why the job cannot run; set before the head gets the event about it
	lock    *checkpoint.Lock // lock on the folder of the files; set before the head gets the event about it
}

// here is the node of all processes.
const here detect.ID = head.FirstHead + 1

// config returns the configuration of the head.
func (l *localJob) config(degrees []int) head.Config {
	w := l.want
	c := head.Config{
		Degrees: degrees, Nodes: []head.Node{{ID: here, Name: "this process"}}, Of: make(map[job.Process]detect.ID),
		Setup:   job.Setup{Job: rand.Uint32(), Check: l.spec.Check, Sched: w.Sched, Threads: w.Threads, Verify: w.Verify, Diverge: cmp.Or(w.Diverge, job.DivergeStrict)},
		Link:    anyLink,
		Replace: w.Replace, Backup: recovery.Policy{Every: w.Backup}, Restart: w.Restart, Kills: w.Kills, Flips: w.Flips,
	}
	if c.Setup.Lag, c.Setup.Stale = w.Lag, w.Lag > 0; w.Lag > 0 {
		c.Setup.Diverge = job.DivergeOff // each replica lacks other results
	}
	for _, p := range job.Processes(degrees) {
		c.Of[p] = here
	}
	if w.Every > 0 {
		c.Checkpoint = &head.Checkpoint{Dir: w.Files, Every: w.Every}
	}
	return c
}

// now returns the time of the head's clock.
func (l *localJob) now() time.Duration { return time.Since(l.began) }

// tell queues an event for the head. It never blocks for long, so the caller may hold any
// other lock.
func (l *localJob) tell(e head.Event) {
	l.mu.Lock()
	l.events = append(l.events, e)
	l.mu.Unlock()
	select {
	case l.some <- struct{}{}:
	default:
	}
}

// takeEvents removes and returns the waiting events.
func (l *localJob) takeEvents() []head.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	events := l.events
	l.events = nil
	return events
}

// loop drives the head until it has nothing left to do.
func (l *localJob) loop() {
	l.step(head.Begin{})
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	for end := l.ctx.Done(); !l.head.Ended(); {
		var due <-chan time.Time
		if at, ok := l.head.Deadline(); ok {
			alarm.Reset(at - l.now())
			due = alarm.C
		}
		select {
		case <-l.some:
			for _, e := range l.takeEvents() {
				l.step(e)
			}
		case <-due:
			l.step(head.Tick{})
		case <-end:
			end = nil
			l.step(head.Signalled{Signal: terminate})
		}
	}
}

// step passes an event to the head, and then the answers to its actions.
func (l *localJob) step(e head.Event) {
	for next := []head.Event{e}; len(next) > 0; next = next[1:] {
		for _, a := range l.head.Step(next[0], l.now()) {
			next = append(next, l.do(a)...)
		}
	}
}

// do carries out an action of the head, and returns the answer if it is available at once.
// Jobs in one process have no spares and no successors. The output of the processes is not
// handled, and the head's log has no reader.
func (l *localJob) do(a head.Action) []head.Event {
	switch a := a.(type) {
	case head.Propose:
		return []head.Event{head.Committed(a)}
	case head.Start:
		p := newProcess(l, a.To)
		l.procs[a.To], l.started = p, append(l.started, p)
		return []head.Event{head.Started{From: a.To, PID: os.Getpid()}, head.Joined{From: a.To, Hello: &l.program.Hello}}
	case head.Link:
		if err := l.link(a); err != nil {
			if l.refused == nil { // only the first error counts; the others have the same reason
				l.refused = err
			}
			return []head.Event{head.Failed{Err: err.Error()}}
		}
	case head.Send:
		l.procs[a.To].receive(a.Message)
	case head.Kill:
		l.procs[a.To].end(l.killed())
	case head.AskQuiet:
		return []head.Event{head.Quiet{From: a.To, Number: a.Number}}
	case head.FinishOutput:
		return []head.Event{head.OutputSettled{From: a.To}}
	case head.Open:
		l.running.Go(func() { l.tell(l.open(a)) })
	case head.Publish:
		l.running.Go(func() { l.tell(publish(a)) })
	case head.Discard:
		l.running.Go(func() { _ = checkpoint.Discard(a.Dir, a.Set) }) // if this fails, the sweep at the end removes the files
	case head.Declared:
		l.want.Verdicts = append(l.want.Verdicts, a.Verdict.Verdict)
	}
	return nil
}
