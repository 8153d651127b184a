package engine

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/intrahpc/intra/internal/base/callsite"
)

// inside records whether a worker is in a function of the program that not all replicas
// run: the body of a task, or the function of Once. In such a function the program must
// not start an operation that all replicas have to start: a message, a section, a safe
// point or another Once.
type inside struct {
	task atomic.Pointer[Task] // whose body runs; nil: none
	once atomic.Bool          // the function of Once runs
	// short is the section of the last task that runShort has run, until that section ends.
	// nil: none.
	short atomic.Pointer[Section]
}

// runTask runs the body of a task. refuse looks for the name of this function on stacks.
//
//go:noinline
func (in *inside) runTask(s *Section, t *Task, body func()) {
	in.task.Store(t)
	defer in.task.Store(nil)
	s.Guard(t, body)
}

// runShort runs the body of task i of s, which is short, without informing other goroutines.
// refuse looks for the name of runShort on stacks.
//
//go:noinline
func (in *inside) runShort(s *Section, i int) {
	if in.short.Load() != s {
		in.short.Store(s)
	}
	s.running = i
	t := &s.Tasks[i]
	s.Guard(t, t.Body)
}

// runOnce runs the function of a Once. refuse looks for the name of this function on
// stacks.
//
//go:noinline
func (in *inside) runOnce(f func() ([]byte, error)) ([]byte, error) {
	in.once.Store(true)
	defer in.once.Store(false)
	return f()
}

// These are the names of runTask, runShort and runOnce on stacks.
const (
	taskFrame  = ours + "internal/replica/engine.(*inside).runTask"
	shortFrame = ours + "internal/replica/engine.(*inside).runShort"
	onceFrame  = ours + "internal/replica/engine.(*inside).runOnce"
)

// These are prefixes of functions that a program calls.
const (
	commCalls  = ours + "comm."
	intraCalls = intra
)

// busy reports whether the worker is in a function that not all replicas run.
func (in *inside) busy() bool {
	return in.task.Load() != nil || in.once.Load() || in.short.Load() != nil
}

// refuse returns an error if the caller is in a function that not all replicas run, on one
// of these workers. prefix begins the name of the function that the program has called.
func refuse(prefix string, workers []*inside) error {
	if !slices.ContainsFunc(workers, (*inside).busy) {
		return nil
	}
	frame, called := innermost()
	if frame == "" { // the goroutine in that function is another one
		return nil
	}
	function, at := callsite.Into(prefix)
	where := fmt.Sprintf("the function of the intra.Once called at %s, which one replica runs", called)
	if frame != onceFrame {
		var tasks []string // several workers may each run one
		for _, in := range workers {
			t := in.task.Load()
			if s := in.short.Load(); s != nil && t == nil { // this goroutine runs a short task
				t = &s.Tasks[s.running]
			}
			if t != nil {
				tasks = append(tasks, fmt.Sprintf("task %s, launched at %s", t.Kernel.Name, t.At))
			}
		}
		slices.Sort(tasks)
		where = strings.Join(slices.Compact(tasks), " or ") + ", which not all replicas run"
	}
	return fmt.Errorf("%s is called at %s in %s: call it before or after", function, at, where)
}

// innermost returns which of runTask, runShort and runOnce was called last on the stack of
// the caller, "" if none was called. For runOnce it also returns the place where the
// program called Once.
func innermost() (frame, called string) {
	pcs := make([]uintptr, 64)
	n := runtime.Callers(2, pcs)
	for ; n == len(pcs); n = runtime.Callers(2, pcs) {
		pcs = make([]uintptr, 2*n)
	}
	for i, pc := range pcs[:n] {
		switch f := runtime.FuncForPC(pc - 1).Name(); {
		case frame == "" && (f == taskFrame || f == shortFrame || f == onceFrame):
			frame = f
		case frame == onceFrame && f == intraCalls+"OnceBytes": // in checked mode there are frames between the two
			_, called = callsite.Find(pcs[i:n], intraCalls)
			return frame, called
		}
	}
	return frame, ""
}

// InOnce returns where the program called the Once whose function the caller is in, "" if
// the caller is in none. It also works while that function ends its goroutine.
func InOnce() string {
	if frame, called := innermost(); frame == onceFrame {
		return called
	}
	return ""
}

// Refuse returns an error if the program calls package intra in the body of a task or
// in the function of Once.
func (p *Program) Refuse() error { return p.RefuseCalls(intraCalls) }

// RefuseCalls is Refuse for another package. prefix begins the names of its functions.
func (p *Program) RefuseCalls(prefix string) error {
	if p.engine != nil {
		return p.engine.refuse(prefix)
	}
	return refuse(prefix, []*inside{&p.inside})
}

// RunTask runs task i of a section at its launch, in a process that was started by
// itself, has not reached its first safe point, or runs again alone.
func (p *Program) RunTask(s *Section, i int) {
	p.rerun++
	if p.second != nil && !p.Resuming() {
		p.second.repetition.add(&s.Tasks[i])
	}
	p.inside.runTask(s, &s.Tasks[i], s.Tasks[i].Body)
}

// OnceAlone calls f for a rank that is not a process of a job. The result is encoded
// and decoded, as if another replica had sent it.
func OnceAlone(f func() ([]byte, error)) ([]byte, error) { return decodeOnce(encodeOnce(f())) }

// Once calls f in a process that was started by itself. The result is encoded and
// decoded, as if another replica had sent it. A process that runs again alone gets the result
// of its earlier run.
func (p *Program) Once(f func() ([]byte, error)) ([]byte, error) {
	if p.second != nil {
		b, err := p.second.onceAgain()
		if err != nil {
			return nil, err
		}
		return decodeOnce(b)
	}
	return decodeOnce(encodeOnce(p.inside.runOnce(f)))
}

// refuse returns an error if the program calls a function with that prefix from a task or
// from the function of Once.
func (h *sharing) refuse(prefix string) error {
	if !h.inCall() {
		return nil
	}
	all := []*inside{&h.rerun}
	for i := range h.workers {
		all = append(all, &h.workers[i].inside)
	}
	return refuse(prefix, all)
}

// inCall reports whether a worker may be in a function that not all replicas run.
func (h *sharing) inCall() bool {
	for i := range h.workers {
		if h.workers[i].inside.busy() {
			return true
		}
	}
	return h.rerun.busy()
}

// beforeMessages checks each message of a process that shares sections.
type beforeMessages struct{ *sharing }

func (b beforeMessages) Inside() bool              { return b.inCall() || b.Touches() }
func (b beforeMessages) Refuse() error             { return b.refuse(commCalls) }
func (b beforeMessages) Touches() bool             { return b.keeper.Touches() }
func (b beforeMessages) Touch(mem ...[]byte) error { return b.keeper.Touch(mem...) }

// beforeOwnMessages checks each message of a process that was started by itself.
type beforeOwnMessages struct{ *inside }

func (b beforeOwnMessages) Inside() bool        { return b.busy() }
func (beforeOwnMessages) Touches() bool         { return false }
func (beforeOwnMessages) Touch(...[]byte) error { return nil }
func (b beforeOwnMessages) Refuse() error       { return refuse(commCalls, []*inside{b.inside}) }
