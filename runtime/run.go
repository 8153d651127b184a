package intra

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
	"github.com/intrahpc/intra/transport"
)

// ErrLost means that a rank has lost all its replicas.
var ErrLost = errors.New("a rank has lost all its replicas")

// Run runs a job in this process: each replica of each rank is a goroutine
// that calls run with a Process of its own. It is for tests and for trying
// things out; what the replicas share by accident (package variables,
// captured variables) is not replicated. It returns nil when every rank has
// finished in at least one replica.
func Run(ctx context.Context, spec Spec, run func(*Process) error) error {
	degrees, err := spec.Resolve()
	if err != nil {
		return err
	}
	l := &local{
		want:    job.LocalFrom(ctx),
		procs:   make(map[job.Process]*localProc),
		linkTo:  make(map[job.Process]map[job.Process]transport.Link),
		through: make(map[int]bool),
	}
	l.want.Fired = make([]bool, len(l.want.Kills))
	l.want.Stats = make(map[job.Process]job.Stats)
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	defer l.cancel(nil)
	l.spec, l.degrees, l.program, l.began = spec, degrees, run, time.Now()
	if l.want.Replace || l.want.Backup > 0 || l.want.Every > 0 || l.want.Restart != "" {
		c := recovery.Config{Degrees: degrees, Start: l.want.Replace, Backup: recovery.Policy{Every: l.want.Backup}}
		if err := l.openFiles(&c); err != nil {
			return fmt.Errorf("intra.Run: %w", err)
		}
		l.recovery = recovery.NewHead(c)
	}
	all := job.Processes(degrees)
	if err := l.connect(spec.Link, all); err != nil {
		return fmt.Errorf("intra.Run: %w", err)
	}
	for _, p := range all {
		l.procs[p] = newLocalProc(l, l.setup(p, firstIncarnation), l.linkTo[p])
	}
	defer context.AfterFunc(ctx, func() { l.end(context.Cause(ctx)) })()
	l.mu.Lock()
	for _, p := range all {
		l.startProc(l.procs[p])
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

// local is the head of a job in one process.
type local struct {
	want   *job.Local
	ctx    context.Context
	cancel context.CancelCauseFunc
	procs  map[job.Process]*localProc
	linkTo map[job.Process]map[job.Process]transport.Link

	spec    Spec
	degrees []int
	program func(*Process) error
	began   time.Time
	running sync.WaitGroup

	mu       sync.Mutex
	recovery *recovery.Head // nil: what dies stays dead
	loss     *recovery.Loss // nothing brings a rank back any more
	files    *job.Files     // nil: none are written
	restart  *job.Restart   // nil: the program begins anew
	verdicts []job.Verdict
	through  map[int]bool // ranks without which the others can do
	over     bool
	err      error
}

// setup describes a process to itself.
func (l *local) setup(p job.Process, incarnation uint32) job.Setup {
	s := job.Setup{Self: p, Incarnation: incarnation, Degrees: l.degrees,
		Check: l.spec.Check, Sched: l.want.Sched, Threads: l.want.Threads, Kills: l.killsOf(p)}
	if l.recovery != nil {
		s.Recovery, s.Next = true, l.recovery.Next()
		s.Files, s.Restart = l.files, l.restart
	}
	return s
}

// startProc lets a process live.
func (l *local) startProc(s *localProc) {
	l.running.Go(func() { s.live(l.program) })
}

func (l *local) killsOf(p job.Process) []job.Kill {
	var own []job.Kill
	for i, k := range l.want.Kills {
		if k.Process == p && !l.want.Fired[i] {
			own = append(own, k)
		}
	}
	return own
}

// dead declares a process dead, after the first of what it did to end.
func (l *local) dead(s *localProc, cause job.Cause, why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.dead || s.finished && l.over {
		return
	}
	s.dead = true
	p := s.setup.Self
	v := job.Verdict{Epoch: uint64(len(l.verdicts) + 1), Process: p, Incarnation: s.setup.Incarnation, Cause: cause, Detail: fmt.Sprint(why)}
	l.verdicts = append(l.verdicts, v)
	alive := l.through[p.Rank]
	for q, other := range l.procs {
		other.tell(v)
		alive = alive || q.Rank == p.Rank && !other.dead && !other.joiner
	}
	if l.recovery != nil && l.loss == nil {
		itself := cause == job.CauseExit || cause == job.CausePanic
		saved := l.apply(l.recovery.Died(p, s.setup.Incarnation, itself, l.now()))
		alive = saved // a joiner without its state saves nobody
	}
	switch {
	case alive:
		l.release()
	case l.loss != nil && l.loss.Back:
		l.endLocked(fmt.Errorf("rank %d: %w; %w: %v (%v)", l.loss.Since, ErrLost, l.loss, p, why))
	case cause == job.CauseInjected:
		err := fmt.Errorf("rank %d: %w; the last one was %v, killed on request: %v", p.Rank, ErrLost, p, why)
		if l.loss != nil {
			err = fmt.Errorf("%w; %w", err, l.loss)
		}
		l.endLocked(err)
	default:
		l.endLocked(fmt.Errorf("%v: %w", p, why))
	}
}

// release lets every process go once all live ones have finished.
func (l *local) release() {
	for _, s := range l.procs {
		if !s.dead && !s.finished && !s.dismissed {
			return
		}
	}
	if l.over {
		return
	}
	l.over = true
	for _, s := range l.procs {
		s.tell(job.Release{})
	}
}

func (l *local) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endLocked(err)
}

func (l *local) endLocked(err error) {
	if l.over {
		return
	}
	l.over, l.err = true, err
	if l.recovery != nil {
		l.recovery.Over()
	}
	for _, s := range l.procs {
		s.tell(job.End{Code: exitFailed, Text: err.Error()})
	}
	l.cancel(err)
}
