package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/base/bridge"
	"github.com/intrahpc/intra/internal/base/callsite"
	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/transport/sdr"
)

// ErrRollback means that the job rolls back to its last backup.
var ErrRollback = errors.New("the job goes back to its last backup")

// errBack ends a run of the program for a rollback.
var errBack = fmt.Errorf("safe point: %w", ErrRollback)

// Program is one run of the program: its rank and replica, its registered state, and its
// progress.
type Program struct {
	Self    job.Process
	Degrees []int
	World   *comm.Comm
	Context context.Context // done when the job ends or rolls back

	engine   *Engine // nil for a process that was started without a launcher
	inside   inside  // used without an engine, and before the first safe point
	state    checkpoint.State
	stateErr error  // the first error of registering state
	ended    error  // why the program has ended its goroutine, used without an engine
	restored bool   // the run began with saved state
	first    uint64 // number of safe points before the first one of this run
	points   atomic.Uint64
	called   *callsite.Site // the first call of SafePoint; nil before it
	steps    steps
	files    Files      // nil: the program does not use package file
	joined   bool       // the run began in a joiner
	trial    bool       // the run is a trial of checked mode
	began    uint64     // safe point of the saved state that the run began with; 0: no saved state
	second   *secondRun // this run repeats an earlier one, alone; nil: it does not
	rerun    int64      // tasks of an earlier run that it has repeated
	oldest   uint64     // the job rolls back to no safe point before this one, as known at the last cut; 0: unknown
	cut      uint64     // the last safe point at which all processes took a cut, 0: none

	// due may be set by any goroutine, to have stop called at the next safe point. The
	// program counts a safe point before it reads due. So a goroutine that sets due and then
	// reads points knows at which safe points stop may not be called any more.
	due  atomic.Bool
	stop func(point uint64) error
	// compare is called at each safe point after the one at which the run began. nil:
	// nothing is compared.
	compare func(point uint64, state *checkpoint.State) error
	// resumed is called at the first safe point, when the state is complete.
	resumed func() error
	// goAgain and settle are called at each safe point that no earlier run of this process has
	// reached: goAgain before everything else, settle after it. nil: this process never runs again
	// alone.
	goAgain, settle func(point uint64) error
}

// newWorld returns the communicator of all ranks of the engine's job.
func newWorld(e *sdr.Engine) (*comm.Comm, error) {
	world, err := bridge.World(e)
	return world.(*comm.Comm), err
}

// NewProgram returns the run of a process that was started without a launcher.
func NewProgram() *Program {
	p := &Program{Degrees: []int{1}, Context: context.Background()}
	var err error
	if p.World, err = newWorld(sdr.NewEngine(sdr.Config{Degrees: p.Degrees, Before: beforeOwnMessages{&p.inside}})); err != nil {
		panic(err) // a new engine has no context in use
	}
	return p
}

// Engine returns the engine that shares the sections of the program, nil if the program
// was started without a launcher.
func (p *Program) Engine() *Engine { return p.engine }

// Restored reports whether the program begins with saved state.
func (p *Program) Restored() bool { return p.restored }

// Resuming reports whether the program begins with saved state and has not reached its
// first safe point.
func (p *Program) Resuming() bool { return p.restored && p.points.Load() == p.first }

// Alone reports whether sections concern this process alone: the program resumes, or repeats
// what an earlier run of it has done.
func (p *Program) Alone() bool {
	return p.restored && (p.points.Load() < p.entered() || p.second != nil && p.second.left > 0)
}

// Repeated records the end of a section that concerned this process alone.
func (p *Program) Repeated() {
	s := p.second
	if s == nil || s.left == 0 || p.points.Load() < s.to {
		return
	}
	if s.left--; s.left == 0 {
		s.caughtUp()
	}
}

// Repeats reports whether the next call of Once was made by an earlier run of the program.
func (p *Program) Repeats() bool { return p.second != nil && p.second.calls < len(p.second.from.once) }

// entered returns the number of safe points that this process has entered, in any run.
func (p *Program) entered() uint64 {
	n := max(p.points.Load(), p.first+1)
	if p.second != nil {
		n = max(n, p.second.to)
	}
	return n
}

var errLate = errors.New("register all state before the first SafePoint")

// Protect registers the variable at x as state of the program.
func (p *Program) Protect(name string, x any) error {
	if p.points.Load() > p.first {
		return errLate
	}
	return p.state.Add(name, x)
}

// Fail makes the next safe point return err, unless it already has an error to return.
func (p *Program) Fail(err error) {
	if p.stateErr == nil {
		p.stateErr = err
	}
}

// restore makes p a run that begins with a saved state. It is called before the program
// runs. The first safe point of the run is then the one at which the state was taken, with
// the number point, counted from 1.
func (p *Program) restore(im *checkpoint.Image, point uint64) {
	p.restored = true
	p.state.From(im)
	if p.engine != nil {
		p.state.Alloc = p.engine.sharing.alloc
	}
	p.first, p.cut, p.began = point-1, point, point
	p.points.Store(point - 1)
}

// SafePoint performs the steps that are due at a safe point. If check is not nil, it is
// called first, except at the safe point at which the state was taken.
func (p *Program) SafePoint(check func(point uint64) error) error {
	point := p.points.Add(1)
	if p.engine != nil && p.engine.trace != nil {
		defer p.engine.trace.point(point)()
	}
	first := point == p.first+1
	if first && p.stateErr == nil {
		p.stateErr = p.ready()
	}
	if p.stateErr == nil && p.second != nil && p.second.left == 0 && point == p.second.to {
		p.second.caughtUp()
	}
	switch {
	case p.stateErr != nil:
		return p.stateErr
	case first && p.restored: // the state was taken at this safe point
		if s := p.second; s != nil {
			s.first = p.engine.now() - s.begun
		}
		if err := p.resumeFiles(); err != nil || p.second != nil || p.settle == nil {
			return err
		}
		return p.settle(point)
	case p.second != nil && point < p.second.to:
		return nil // an earlier run has done what was due
	}
	if p.goAgain != nil {
		if err := p.goAgain(point); err != nil {
			return err
		}
	}
	switch {
	case check != nil:
		if err := check(point); err != nil {
			return err
		}
	}
	if p.compare != nil {
		if err := p.compare(point, &p.state); err != nil {
			return err
		}
	}
	if p.due.Load() {
		if err := p.stop(point); err != nil {
			return err
		}
	}
	if p.settle != nil {
		return p.settle(point)
	}
	return nil
}

// End records that the program has ended its goroutine, and why.
func (p *Program) End(err error) {
	if p.engine == nil {
		p.ended = err
		return
	}
	p.engine.mu.Lock()
	defer p.engine.mu.Unlock()
	p.engine.programEnded = err
}

// Ended returns why a program that was started without a launcher has ended its goroutine,
// nil if it has not.
func (p *Program) Ended() error { return p.ended }

// Ended returns why the program has ended its goroutine, nil if it has not.
func (e *Engine) Ended() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.programEnded
}

// Progress records the progress that the program reports.
func (p *Program) Progress(done, total int) { p.steps.set(done, total) }

// Called reports whether the place of a call of SafePoint is known.
func (p *Program) Called() bool { return p.called != nil }

// CalledAt keeps the place of the first call of SafePoint.
func (p *Program) CalledAt(at callsite.Site) { p.called = &at }

func (p *Program) place() string {
	if p.called == nil {
		return ""
	}
	return p.called.String()
}

// ready ends the registration of state.
func (p *Program) ready() error {
	if err := p.state.Settle(); err != nil {
		return fmt.Errorf("intra.SafePoint: %w; register it before the first SafePoint", err)
	}
	if p.resumed != nil {
		return p.resumed()
	}
	return nil
}

// Variables returns the registered variables without copying them, except for measured
// ones.
func (p *Program) Variables() ([]checkpoint.Variable, error) { return p.state.Variables() }

// Image returns the registered state without copying it: the image refers to the program's
// memory. It is called only at a safe point.
func (p *Program) Image() (*checkpoint.Image, error) { return p.state.Image() }

// Reload gives the registered variables the values of an image.
func (p *Program) Reload(im *checkpoint.Image) error { return p.state.Reload(im) }

// Again returns another run of the program, which begins with the state of p at its safe
// point number point, and calls stop at the next safe point. It uses the communicators and
// the messaging engine of p, so the two must not run at the same time.
func (p *Program) Again(im *checkpoint.Image, point uint64, stop func(point uint64) error) *Program {
	q := &Program{Self: p.Self, Degrees: p.Degrees, World: p.World, Context: p.Context, engine: p.engine, stop: stop}
	q.restore(im, point)
	q.oldest = p.oldest
	q.resumed = func() error { p.engine.messages.Load().Resume(); return nil }
	q.due.Store(true)
	q.trial = true
	return q
}
