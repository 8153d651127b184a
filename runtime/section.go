package intra

import (
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/intrahpc/intra/internal/section"
	"github.com/intrahpc/intra/sched"
	"github.com/intrahpc/intra/update"
)

// Section is a block in which the replicas of a rank share work: tasks are
// launched in it, and all of them are done when it ends, on every replica.
// From a launch to the end the program must not write what the task reads,
// nor touch what it writes.
type Section struct {
	p         *Process
	number    uint64
	policy    sched.Policy
	decision  *decision     // to share or not, with the adaptive policy
	begun     time.Duration // to be shared, with all who came to the first one
	inBodies  time.Duration // spent in bodies here
	ran       int           // bodies run here
	helpers   helpers       // who helps to run them
	stored    bool          // results are stored into the arrays of the peers
	past      bool          // and go past the caches
	at        string        // place in the source that the user wrote, from At
	pos       string
	pc        [1]uintptr
	tasks     []launched
	folds     []folder
	err       *SectionError // the first one
	ended     bool
	completed bool // with every task done here

	check   *check // in checked mode
	watched []Region
}

// launched is one task of a section.
type launched struct {
	task    *Task
	body    func()
	regions []Region
	at      string     // place of the section in the user's source, if that is known
	pcs     [3]uintptr // of the launch

	known *known         // what this process knows of tasks of this type; set by enter
	times *section.Times // and of those that take as long as this one; set by enter
	bytes int            // of its update; set by enter
}

// Section opens a section. All its tasks are launched before End. An error in
// it is kept for End, which has to be called.
func (p *Process) Section(opts ...SectionOption) *Section {
	s := &Section{p: p}
	for _, o := range opts {
		o.apply(s)
	}
	if s.pos == "" {
		runtime.Callers(2, s.pc[:])
	}
	if p != nil {
		p.open(s)
	}
	return s
}

// Launch adds a task to the section. Its body runs at any time until the
// section ends, on any replica, possibly more than once; it touches only the
// regions, plus what it reads of memory that nobody writes.
func (s *Section) Launch(t *Task, body func(), regions ...Region) {
	s.tasks = append(s.tasks, launched{task: t, body: body, at: s.at})
	l := &s.tasks[len(s.tasks)-1]
	if l.at == "" {
		runtime.Callers(2, l.pcs[:])
	}
	if s.ended {
		panic(fmt.Sprintf("intra: task %s is launched at %s in a section that has ended", t.name, l.pos()))
	}
	l.regions = s.p.keep(regions)
	for i := range l.regions {
		if err := l.regions[i].Err; err != nil && s.err == nil {
			s.err = &SectionError{Section: s.number, Task: t.name, Pos: l.pos(), Err: err}
		}
	}
	switch {
	case s.err != nil:
	case s.check != nil:
		s.check.launched()
	case s.p.alone():
		s.p.runAlone(s, len(s.tasks)-1)
	}
}

// End completes the section: when it returns nil, every task is done and the
// memory of this replica is that of every other replica leaving the section.
func (s *Section) End() error {
	if s.ended {
		return &SectionError{Section: s.number, Pos: s.position(), Err: fmt.Errorf("the section has ended before")}
	}
	s.ended = true
	defer s.p.close(s)
	if s.err == nil {
		s.independent()
	}
	if err := s.complete(); err != nil {
		s.fail(err)
	}
	if s.err != nil {
		return s.err
	}
	for _, f := range s.folds {
		f.fold()
	}
	s.completed = true
	return nil
}

// complete has the tasks done that have not run at their launch.
func (s *Section) complete() error {
	switch {
	case s.err != nil:
		return nil
	case s.check != nil:
		return s.p.engine.checked(s)
	case !s.p.alone():
		return s.p.engine.share(s)
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
	err := c.Check(len(s.tasks), func(i int) []Region { return s.tasks[i].regions })
	if o, ok := err.(*update.Overlap); ok {
		a, b := &s.tasks[o.TaskA], &s.tasks[o.TaskB]
		s.err = &SectionError{Section: s.number, Task: b.task.name, Pos: b.pos(),
			Err: fmt.Errorf("%w (task %d is %s, launched at %s)", err, o.TaskA, a.task.name, a.pos())}
	}
}

func (s *Section) fail(err error) {
	se, ok := err.(*SectionError)
	if !ok {
		se = &SectionError{Section: s.number, Pos: s.position(), Err: err}
	}
	s.err = se
}

// run runs task i here.
func (s *Section) run(i int) {
	if s.check != nil {
		s.check.run(i)
		return
	}
	s.tasks[i].run()
}

// run runs the body once.
func (l *launched) run() { l.guard(l.body) }

// guard runs a body of the task and names the task if it panics.
func (l *launched) guard(body func()) {
	defer func() {
		if v := recover(); v != nil {
			panic(&TaskPanic{Task: l.task.name, Pos: l.pos(), Value: v, Stack: debug.Stack()})
		}
	}()
	body()
}

func (s *Section) position() string {
	if s.pos == "" {
		s.pos = position(s.pc[:])
	}
	return s.pos
}

// pos is where the task was launched. In generated code that is in its
// section, and where that stands in the user's source is known.
func (l *launched) pos() string {
	if l.at != "" {
		return l.at
	}
	return position(l.pcs[:])
}

// position returns file:line of the first caller that a user wrote.
func position(pcs []uintptr) string {
	frames := runtime.CallersFrames(pcs)
	pos := "unknown place"
	for {
		f, more := frames.Next()
		if f.File != "" {
			pos = fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
			if !strings.HasSuffix(f.File, "_intra.go") && !strings.HasSuffix(f.File, "_intra_test.go") {
				return pos
			}
		}
		if !more {
			return pos
		}
	}
}
