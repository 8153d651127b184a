package localjob

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/intrahpc/intra/internal/engine"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// ErrLost means that a rank has lost all its replicas.
var ErrLost = errors.New("a rank has lost all its replicas")

// Program is what the processes run.
type Program struct {
	Run     func(*engine.Program) error
	Failure func(error) job.Failure // how a run that returned that error failed
	Hello   job.Hello               // what a process of it says of itself
}

// Run runs a job in this process until every rank has finished in at least one
// replica, or the job cannot go on. What tests want of it comes with the
// context (job.LocalFrom).
func Run(ctx context.Context, spec job.Spec, program Program) error {
	degrees, err := spec.Resolve()
	if err != nil {
		return err
	}
	l := &localJob{
		want:    job.LocalFrom(ctx),
		procs:   make(map[job.Process]*process),
		drained: make(map[int]bool),
		spec:    spec, degrees: degrees, program: program, began: time.Now(),
	}
	l.want.Fired = make([]bool, len(l.want.Kills))
	l.want.Stats = make(map[job.Process]job.Stats)
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	defer l.cancel(nil)
	if l.want.Replace || l.want.Backup > 0 || l.want.Every > 0 || l.want.Restart != "" {
		c := recovery.Config{Degrees: degrees, Start: l.want.Replace, Backup: recovery.Policy{Every: l.want.Backup}}
		if err := l.openFiles(&c); err != nil {
			return fmt.Errorf("intra.Run: %w", err)
		}
		l.recovery = recovery.NewHead(c)
	}
	all := job.Processes(degrees)
	links, err := l.connectAll(all)
	if err != nil {
		return fmt.Errorf("intra.Run: %w", err)
	}
	for _, p := range all {
		l.procs[p] = newProcess(l, l.setup(p, 1), links[p])
	}
	defer context.AfterFunc(ctx, func() { l.end(context.Cause(ctx)) })()
	l.mu.Lock()
	for _, p := range all {
		l.start(l.procs[p])
	}
	l.mu.Unlock()
	l.running.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.want.Verdicts = l.verdicts
	if l.err == nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return l.err
}

// localJob is a job in this process, with its head.
type localJob struct {
	want    *job.Local
	ctx     context.Context
	cancel  context.CancelCauseFunc
	spec    job.Spec
	degrees []int
	program Program
	began   time.Time
	running sync.WaitGroup
	files   *job.Files   // nil: none are written
	restart *job.Restart // nil: the program begins anew

	mu       sync.Mutex
	procs    map[job.Process]*process
	recovery *recovery.Head // nil: what dies stays dead
	loss     *recovery.Loss // nothing brings a rank back any more
	verdicts []job.Verdict
	drained  map[int]bool // ranks without which the others can do
	over     bool
	err      error
}

// now is the time of the job, for decisions about recovery.
func (l *localJob) now() time.Duration { return time.Since(l.began) }

// setup describes a process to itself.
func (l *localJob) setup(p job.Process, incarnation uint32) job.Setup {
	s := job.Setup{Self: p, Incarnation: incarnation, Degrees: l.degrees,
		Check: l.spec.Check, Sched: l.want.Sched, Threads: l.want.Threads, Kills: l.killsOf(p)}
	if l.recovery != nil {
		s.Recovery, s.Next = true, l.recovery.Next()
		s.Files, s.Restart = l.files, l.restart
	}
	return s
}

// start lets a process live.
func (l *localJob) start(p *process) {
	l.running.Go(func() { p.live(l.program) })
}

func (l *localJob) killsOf(p job.Process) []job.Kill {
	var own []job.Kill
	for i, k := range l.want.Kills {
		if k.Process == p && !l.want.Fired[i] {
			own = append(own, k)
		}
	}
	return own
}
