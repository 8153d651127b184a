package intra

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/job"
)

// Exit codes of a process; those of the job are the launcher's.
const (
	exitFailed   = 1
	exitRefused  = 2
	exitDiverged = 4
)

// Main joins the job that started this process, runs the program in it, and
// exits; it does not return. The process counts as finished when run returns
// nil. Without a launcher the program is one rank with one replica. In a job
// that goes back to a backup run is called again in the same process, with
// another *Process: what it needs, flags for example, it can get twice.
func Main(run func(*Process) error) {
	os.Exit(enter(run))
}

func enter(run func(*Process) error) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	// A second thread lets the network be polled while a long kernel runs.
	if runtime.GOMAXPROCS(0) < 2 {
		runtime.GOMAXPROCS(2)
	}
	session, err := job.Join(ctx, job.Hello{Tag: Tagged, Tasks: tasks})
	if err != nil {
		fmt.Fprintln(os.Stderr, "intra:", err)
		return exitRefused
	}
	if session == nil {
		return runAlone(run)
	}
	defer session.Close()
	// The workers may all be in long kernels, too.
	if n := threads(session.Setup()) + 1; runtime.GOMAXPROCS(0) < n {
		runtime.GOMAXPROCS(n)
	}
	links, err := session.Connect(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "intra:", err)
		return exitRefused
	}
	var e *engine
	e = newEngine(ctx, session, links, func(k job.Kill) {
		e.trace.flush(session)
		session.Fired(k, e.snapshot())
		if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
			panic(fmt.Errorf("kill this process at %s: %w", k, err))
		}
		select {} // until the signal is delivered
	})
	e.silence = silenceOutput
	e.explainOnQuit(session.LastWords)
	arrays, err := session.Arena()
	if err != nil {
		fmt.Fprintln(os.Stderr, "intra:", err)
		return exitRefused
	}
	if arrays != nil {
		shared.Store(arrays)
		e.storeInto(arrays, func() { shared.Store(nil) })
	}
	released := make(chan struct{})
	if err = e.begin(); err == nil {
		go func() {
			if code, over := e.follow(cancel, released); over {
				os.Exit(code)
			}
		}()
		err = e.live(run, released)
	}
	e.trace.flush(session)
	if err != nil {
		f := failure(err)
		if session.Fail(f, e.snapshot()) != nil {
			fmt.Fprintf(os.Stderr, "intra: %s: %s\n", f.Kind, f.Text)
		}
		if f.Kind == job.FailDivergence {
			return exitDiverged
		}
		return exitFailed
	}
	e.shutdown()
	return 0
}

// runAlone runs a program that no launcher started.
func runAlone(run func(*Process) error) int {
	p := &Process{degrees: []int{1}, world: comm.Alone(), ctx: context.Background()}
	if err := guard(p, run); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return exitFailed
	}
	return 0
}

// guard runs the program and turns every way to fail into an error.
func guard(p *Process, run func(*Process) error) (err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case *SectionError:
			err = v
		case *TaskPanic:
			err = v
		default:
			err = &programPanic{v, debug.Stack()}
		}
	}()
	if err := run(p); err != nil {
		return err
	}
	if p.section != nil {
		return fmt.Errorf("the program returned with the section open that began at %s: call End", p.section.position())
	}
	return nil
}

// programPanic is a panic outside of any task.
type programPanic struct {
	value any
	stack []byte
}

func (p *programPanic) Error() string { return fmt.Sprintf("panic: %v\n\n%s", p.value, p.stack) }

// failure says how a run that returned err failed.
func failure(err error) job.Failure {
	f := job.Failure{Kind: job.FailError, Text: err.Error()}
	var task *TaskPanic
	var other *programPanic
	var found *CheckError
	switch {
	case errors.Is(err, ErrDiverged):
		f.Kind = job.FailDivergence
	case errors.As(err, &found):
		f.Kind = job.FailFinding
	case errors.As(err, &task), errors.As(err, &other):
		f.Kind = job.FailPanic
	}
	return f
}

// follow does what the head says. It returns the exit code of the process when
// the job is over before its end, or false when the process was released.
func (e *engine) follow(cancel context.CancelCauseFunc, released chan<- struct{}) (code int, over bool) {
	for {
		event, err := e.head.Next()
		if err != nil {
			cancel(err)
			return exitFailed, true
		}
		switch event := event.(type) {
		case job.Verdict:
			if event.Process == e.setup.Self && incarnationOf(event) == e.incarnation {
				cancel(fmt.Errorf("%v was declared dead: %s", event.Process, event.Detail))
				return exitFailed, true
			}
			e.heard(event)
		case job.Connected, job.Order:
			e.heard(event)
		case job.Release:
			close(released)
			e.changed()
			return 0, false
		case job.End:
			// Without a word to the program: the error that it would return is
			// no failure of its own.
			return event.Code, true
		}
	}
}

// shutdownTime bounds how long a process waits for its peers to take what it
// has sent, after all of them have finished.
const shutdownTime = 2 * time.Second

// shutdown hands over what the links still hold.
func (e *engine) shutdown() {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	done := make(chan struct{})
	links := e.peerLinks.links()
	for _, l := range links {
		go func() {
			_ = l.Shutdown(ctx) // all have finished: what is lost now nobody needs
			done <- struct{}{}
		}()
	}
	for range links {
		<-done
	}
}
