package intra

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/intrahpc/intra/internal/base/callsite"
	"github.com/intrahpc/intra/internal/replica/checked"
	"github.com/intrahpc/intra/internal/replica/engine"
	"github.com/intrahpc/intra/internal/replica/reduce"
	"github.com/intrahpc/intra/update"
)

// Section is a block in which the replicas of a rank share work: tasks are launched in
// it, and all of them are complete on every replica when it ends. From the launch of a
// task to the end of the section, the program must not write what the task reads, nor
// access what it writes.
type Section struct {
	p         *Process
	shared    engine.Section
	at        callsite.Site // where it was opened
	known     bool          // at is the place in the user's source, of its tasks too
	results   reduce.Results
	err       *SectionError // the first error
	ended     bool
	completed bool      // every task is complete here
	opened    time.Time // when it was opened, if by hand

	check   *checked.Section // in checked mode
	watched []Region
}

// Section opens a section. All its tasks are launched before End. An error is kept
// until End, which has to be called.
func (p *Process) Section(opts ...SectionOption) *Section {
	s := &Section{p: p}
	if p != nil {
		s.results.Pool = &p.parts
	}
	for _, o := range opts {
		o.apply(s)
	}
	if !s.known {
		s.at.Mark(0)
		s.opened = time.Now()
	}
	s.shared.Guard, s.shared.At, s.shared.ByHand = guardTask, s.at, !s.known
	if p != nil {
		p.open(s)
	}
	return s
}

// Launch adds a task to the section. The body runs at any time until the section ends, on
// any replica, possibly more than once. It accesses only the regions, and may read memory
// that nothing writes during the section.
func (s *Section) Launch(t *Task, body func(), regions ...Region) {
	s.shared.Tasks = append(s.shared.Tasks, engine.Task{Kernel: &t.kernel, Body: body})
	l := &s.shared.Tasks[len(s.shared.Tasks)-1]
	if s.known {
		l.At = s.at
	} else {
		l.At.Mark(0)
	}
	if s.ended {
		panic(fmt.Sprintf("intra: task %s is launched at %s in a section that has ended", t.Name(), &l.At))
	}
	l.Regions = s.p.keep(regions)
	for i := range l.Regions {
		if err := l.Regions[i].Err; err != nil && s.err == nil {
			s.err = &SectionError{Section: s.shared.Number, Task: t.Name(), Pos: l.At.String(), Err: err}
		}
	}
	if err := update.CheckElements(l.Regions); err != nil && s.err == nil {
		s.err = &SectionError{Section: s.shared.Number, Task: t.Name(), Pos: l.At.String(), Err: err}
	}
	switch {
	case s.err != nil:
	case s.check != nil:
		s.check.Launched(regions)
	case s.p.alone():
		s.p.runAlone(&s.shared, len(s.shared.Tasks)-1)
	}
}

// End completes the section: when it returns nil, every task is complete, and the
// memory of this replica equals that of every other replica that leaves the section.
func (s *Section) End() error {
	if s.ended {
		return &SectionError{Section: s.shared.Number, Pos: s.position(), Err: fmt.Errorf("the section has ended before")}
	}
	s.ended = true
	if !s.known && len(s.shared.Tasks) == 0 {
		s.shared.Inside = time.Since(s.opened)
	}
	defer s.p.close(s)
	if s.err == nil {
		s.independent()
	}
	if s.err != nil && s.check != nil {
		s.check.Restore()
	}
	if err := s.complete(); err != nil {
		s.fail(err)
	}
	if s.err != nil {
		return s.err
	}
	s.fold()
	s.completed = true
	return nil
}

// fold folds the partial results of all tasks.
func (s *Section) fold() {
	if s.p != nil && s.p.varied != nil {
		for i := range s.shared.Tasks {
			s.p.varied.Ran(i, s.shared.Tasks[i].Regions)
		}
		if order := s.p.varied.Ended(); order != nil {
			s.results.FoldIn(order)
			return
		}
	}
	s.results.Fold()
}

// complete completes the tasks that have not run at their launch.
func (s *Section) complete() error {
	switch {
	case s.err != nil:
		return nil
	case s.check != nil:
		return s.check.Complete()
	case !s.p.alone():
		return s.p.engine.Share(&s.shared)
	}
	return nil
}

// MustEnd is End for generated code, which has nowhere to return an error: it
// panics with the *SectionError, and Main and Run recover it.
func (s *Section) MustEnd() {
	if err := s.End(); err != nil {
		panic(err)
	}
}

// independent checks that no task writes what another one names.
func (s *Section) independent() {
	var local update.Checker
	c := &local
	if s.p != nil {
		c = &s.p.checker
	}
	tasks := s.shared.Tasks
	if s.err = s.apart(); s.err != nil {
		return
	}
	err := c.Check(len(tasks), func(i int) []Region { return tasks[i].Regions })
	if o, ok := err.(*update.Overlap); ok {
		a, b := &tasks[o.TaskA], &tasks[o.TaskB]
		s.err = &SectionError{Section: s.shared.Number, Task: b.Kernel.Name, Pos: b.At.String(),
			Err: fmt.Errorf("%w (task %d is %s, launched at %s)", err, o.TaskA, a.Kernel.Name, &a.At)}
	}
}

// apart checks that no task names memory that partial results are folded into: its
// contents are undefined until the section ends.
func (s *Section) apart() *SectionError {
	seen := make(map[*byte]bool) // all tasks usually reduce into the same memory
	for into := range s.results.Into() {
		if seen[&into[0]] {
			continue
		}
		seen[&into[0]] = true
		for i := range s.shared.Tasks {
			t := &s.shared.Tasks[i]
			for k := range t.Regions {
				if r := &t.Regions[k]; update.Shared(r.Mem, into) {
					return &SectionError{Section: s.shared.Number, Task: t.Kernel.Name, Pos: t.At.String(),
						Err: fmt.Errorf("%s(%s) of task %d is memory that tasks of this section reduce into, and has its value after it; use it after the section", r.Mode, r.Name, i)}
				}
			}
		}
	}
	return nil
}

func (s *Section) fail(err error) {
	se, ok := err.(*SectionError)
	if !ok {
		se = &SectionError{Section: s.shared.Number, Pos: s.position(), Err: err}
	}
	s.err = se
}

// guardTask calls a body of a task, and names the task if it panics.
func guardTask(t *engine.Task, body func()) {
	returned := false
	defer func() {
		if v := recover(); v != nil {
			stack := debug.Stack()
			if p, ok := v.(*checked.Panic); ok {
				v, stack = p.Value, p.Stack
			}
			panic(&TaskPanic{Task: t.Kernel.Name, Pos: t.At.String(), Value: v, Stack: stack})
		}
		if returned {
			return
		}
		if e := endedHere(fmt.Sprintf("task %s, launched at %s,", t.Kernel.Name, &t.At)); e != nil {
			panic(e)
		}
	}()
	body()
	returned = true
}

func (s *Section) position() string { return s.at.String() }
