package intra

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/intrahpc/intra/internal/base/callsite"
	"github.com/intrahpc/intra/internal/base/cure"
	"github.com/intrahpc/intra/internal/base/sysmon"
	"github.com/intrahpc/intra/internal/checked"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/replica/engine"
)

// Exit codes of a process. The launcher determines the exit code of the job.
const (
	exitFailed   = 1
	exitRefused  = 2
	exitDiverged = 4
)

// Main joins the job that started this process, runs the program in it, and exits. It does
// not return. The process counts as finished when run returns nil. Without a launcher the
// program is one rank with one replica.
//
// In a job that rolls back to a backup, Main calls run again in the same process, with
// another *Process. So run must be able to read its inputs, such as flags, twice.
func Main(run func(*Process) error) {
	os.Exit(enter(run))
}

func enter(run func(*Process) error) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	// With a second thread the runtime can poll the network while a long kernel runs.
	if runtime.GOMAXPROCS(0) < 2 {
		runtime.GOMAXPROCS(2)
	}
	session, err := job.Join(ctx, job.Hello{Tag: Tagged, Tasks: tasks})
	if end := (job.End{}); errors.As(err, &end) { // the head has already shown the reason to the user
		return end.Code
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "intra:", err)
		return exitRefused
	}
	if session == nil {
		return runAlone(run)
	}
	defer session.Close()
	cure.WritesFail() // applies to checkpoint files, too
	// All workers may be in long kernels, so the runtime needs one more thread to poll the
	// network.
	if n := engine.Threads(session.Setup()) + 1; runtime.GOMAXPROCS(0) < n {
		runtime.GOMAXPROCS(n)
	}
	links, err := session.Connect(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "intra:", err)
		return exitRefused
	}
	var e *engine.Engine
	e = engine.New(ctx, engine.Config{Head: session, Links: links, Local: session.Local(), Balance: session.Slot().Balance, Die: func(k job.Kill) {
		e.FlushTrace()
		session.Fired(k, e.LastSnapshot())
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		if err != nil {
			panic(fmt.Errorf("kill this process at %s: %w", k, err))
		}
		select {} // until the signal is delivered
	}, Failure: failure})
	if !e.Crowded() { // no gain if processes share a core
		sysmon.Yield()
	}
	e.ExplainOnQuit(session.LastWords)
	released, returned := make(chan struct{}), false
	defer func() {
		if err := e.Ended(); err != nil && !returned {
			os.Exit(fail(e, session, err))
		}
	}()
	if err = e.Begin(); err == nil {
		go func() {
			if code, over := e.Follow(cancel, released); over {
				os.Exit(code)
			}
		}()
		run := program(run, checked.SilenceOutput)
		err = e.Live(func(p *engine.Program) error {
			shareArrays(e, session)
			return run(p)
		}, released)
	}
	returned = true
	if err != nil {
		return fail(e, session, err)
	}
	e.FlushTrace()
	e.Shutdown()
	_ = session.Leave() // all results have been sent, so an error of MPI at the end makes no difference
	return 0
}

// fail reports the failure of the program, and returns the exit code of its process.
func fail(e *engine.Engine, session *job.Session, err error) int {
	e.FlushTrace()
	f := failure(err)
	if session.Fail(f, e.Snapshot()) != nil {
		fmt.Fprintf(os.Stderr, "intra: %s: %s\n", f.Kind, f.Text)
	}
	if f.Kind == job.FailDivergence || f.Kind == job.FailCorruption {
		return exitDiverged
	}
	return exitFailed
}

// shareArrays places the arrays that the program will allocate in memory that the replicas
// of its rank share, if there is such memory.
func shareArrays(e *engine.Engine, session *job.Session) {
	if e.Stores() {
		return
	}
	arrays, err := session.Arena(e.Life())
	switch {
	case err != nil:
		e.CannotStore(err)
	case arrays != nil:
		e.StoreInto(arrays)
		shared.Store(arrays)
	}
}

// runAlone runs a program that no launcher has started.
func runAlone(run func(*Process) error) int {
	of, returned := engine.NewProgram(), false
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, "error:", err)
		return exitFailed
	}
	defer func() {
		if err := of.Ended(); err != nil && !returned {
			os.Exit(fail(err))
		}
	}()
	p := newProcess(of)
	err := p.attach()
	if err == nil {
		err = guard(p, run)
	}
	returned = true
	if err != nil {
		return fail(err)
	}
	return 0
}

// guard runs the program and converts every kind of failure to an error. If the program has
// ended its goroutine, guard does not return, and p.run.Ended returns the reason.
func guard(p *Process, run func(*Process) error) (err error) {
	returned := false
	defer func() {
		switch v := recover().(type) {
		case nil:
			if returned {
				return
			}
			if e := endedHere(p.function()); e != nil {
				p.run.End(e)
			}
		case *goexit: // goexit of a task, which may have run on another goroutine
			p.run.End(v)
			err = v
		case *SectionError:
			err = v
		case *TaskPanic:
			err = v
		default:
			err = &programPanic{v, debug.Stack()}
		}
	}()
	err = run(p)
	returned = true
	if f := p.run.Files(); f != nil {
		err = f.Return(err)
	}
	if err != nil {
		return err
	}
	if p.section != nil {
		return fmt.Errorf("the program returned before the section opened at %s had ended: call End", p.section.position())
	}
	return nil
}

// function names the function of the program that is running: that of Once, or run.
func (p *Process) function() string {
	if at := engine.InOnce(); at != "" {
		return "the function of the intra.Once called at " + at
	}
	return "the program"
}

// programPanic is a panic of the program outside of a task.
type programPanic struct {
	value any
	stack []byte
}

func (p *programPanic) Error() string {
	return fmt.Sprintf("panic: %v\n\n%s", p.value, callsite.UserStack(p.stack))
}

// failure classifies the error of a program.
func failure(err error) job.Failure {
	f := job.Failure{Kind: job.FailError, Text: err.Error()}
	var task *TaskPanic
	var other *programPanic
	var found *CheckError
	switch {
	case errors.Is(err, ErrDiverged):
		f.Kind = job.FailDivergence
	case errors.Is(err, engine.ErrCorrupt):
		f.Kind = job.FailCorruption
	case errors.Is(err, engine.ErrRefused):
		f.Kind = job.FailRefused
	case errors.As(err, &found):
		f.Kind = job.FailFinding
	case errors.As(err, &task), errors.As(err, &other):
		f.Kind = job.FailPanic
	}
	return f
}
