package intra

import (
	"fmt"
	"time"
	"unsafe"

	"github.com/intrahpc/intra/internal/base/callsite"
	"github.com/intrahpc/intra/internal/checked"
	"github.com/intrahpc/intra/internal/replica/engine"
	"github.com/intrahpc/intra/internal/replica/option"
	"github.com/intrahpc/intra/internal/replica/reduce"
	"github.com/intrahpc/intra/update"
)

// Section is a block in which the replicas of a rank share work. Tasks are launched in it,
// and all of them are complete on every replica when it ends. From the launch of a task to
// the end of the section, the program must not write memory that the task reads. It must
// not access memory that the task writes.
type Section struct {
	in   *section
	turn uint64 // value of in.turn for this section; in.turn is higher once a later section uses the memory
}

// section is the state of a section. A process reuses its memory for the next section.
type section struct {
	p         *Process
	turn      uint64 // number of sections that have used this memory
	shared    engine.Section
	at        *callsite.Site // place where the section was opened
	known     bool           // at is a place in the user's source, and so are the places of its tasks
	options   option.Section
	regions   []Region // regions of all tasks; each task has a part of the slice
	columns   update.Columns
	results   reduce.Results
	err       *SectionError // first error
	ended     bool
	completed bool      // every task is complete here
	opened    time.Time // when the section was opened, if by hand and without tasks so far

	check *checked.Section // nil unless in checked mode
}

// Section opens a section. All its tasks must be launched before End. Errors are kept until
// End, which the program must call.
func (p *Process) Section(opts ...SectionOption) *Section {
	in, turn := p.begin(opts) // in a function of its own, so that the Section need not be allocated
	return &Section{in, turn}
}

// begin may only be called by Section, because it finds the place of the call on the stack.
//
//go:noinline
func (p *Process) begin(opts []SectionOption) (in *section, turn uint64) {
	s := p.memory()
	for _, o := range opts {
		o.Apply(&s.options)
	}
	s.known = s.options.At != ""
	switch {
	case p == nil && s.known:
		s.at = new(callsite.Sites).At(s.options.At)
	case p == nil:
		s.at = new(callsite.Sites).Here(1)
	case s.known:
		s.at = p.sites.At(s.options.At)
	default:
		s.at = p.sites.Here(1)
	}
	if !s.known && (p == nil || p.launches != s.at) {
		s.opened = time.Now() // a section without tasks is reported if it takes long
	}
	s.shared.Guard, s.shared.At, s.shared.ByHand, s.shared.Policy = guardTask, s.at, !s.known, s.options.Policy
	s.shared.Keep = s.options.Keep
	if p != nil {
		p.open(s)
	}
	return s, s.turn
}

// memory returns the state of a new section.
func (p *Process) memory() *section {
	if p == nil {
		return new(section)
	}
	s := p.spare
	if s == nil {
		return &section{p: p, results: reduce.Results{Pool: &p.parts}}
	}
	p.spare = nil
	s.turn++
	s.shared.Reset()
	s.options = option.Section{}
	s.columns.Reset()
	s.results.Reset()
	s.regions, s.err, s.ended, s.completed, s.check = s.regions[:0], nil, false, false, nil
	return s
}

// Launch adds a task to the section. The body may run at any time until the section ends,
// on any replica, and more than once. It may access only the regions, and read memory that
// nothing writes during the section.
func (s *Section) Launch(t *Task, body func(), regions ...Region) {
	at := s.in.at
	if !s.in.known {
		at = s.in.place()
	}
	s.mustBeOpen(t, at)
	s.in.launch(t, body, at, s.in.copied(regions), regions)
}

// LaunchKept is for generated code: Launch with regions that nothing changes until the
// section has ended.
func (s *Section) LaunchKept(t *Task, body func(), regions []Region) {
	at := s.in.at
	if !s.in.known {
		at = s.in.place()
	}
	s.mustBeOpen(t, at)
	own := regions
	if !update.Plain(regions) {
		own = s.in.copied(regions)
	}
	s.in.launch(t, body, at, own, regions)
}

// place returns where its caller was called.
func (s *section) place() *callsite.Site {
	if s.p != nil {
		return s.p.sites.Here(1)
	}
	return new(callsite.Sites).Here(1)
}

func (s *Section) mustBeOpen(t *Task, at *callsite.Site) {
	if s.over() {
		panic(fmt.Sprintf("intra: task %s is launched at %s in a section that has ended", t.Name(), at))
	}
}

// copied returns the regions of a task in memory of the section.
func (s *section) copied(regions []Region) []Region {
	from := len(s.regions)
	s.regions = update.Expand(s.regions, regions)
	return s.regions[from:len(s.regions):len(s.regions)]
}

// launch adds a task that is launched at a place. own are the regions of the task, which were made
// from regions, the regions of the launch. The latter do not escape.
func (s *section) launch(t *Task, body func(), at *callsite.Site, own, regions []Region) {
	task := s.shared.Add()
	task.Kernel, task.Body, task.At, task.Regions = &t.kernel, body, at, own
	if !s.columns.Add(own) {
		if err := s.columns.Check(own); err != nil && s.err == nil {
			s.err = &SectionError{Section: s.shared.Number, Task: t.Name(), Pos: at.String(), Err: err}
		}
	}
	switch {
	case s.err != nil:
	case s.check != nil:
		s.check.Launched(regions)
	case s.p.alone():
		s.p.runAlone(&s.shared, len(s.shared.Tasks)-1)
	}
}

// over reports whether the section has ended.
func (s *Section) over() bool { return s.in.ended || s.in.turn != s.turn }

// End completes the section. When it returns nil, every task is complete, and the memory of
// this replica equals that of every other replica that leaves the section.
func (s *Section) End() error {
	if s.over() {
		e := &SectionError{Err: fmt.Errorf("the section has ended before")}
		if e.Pos = callsite.Outside(intraCalls); s.in.turn == s.turn {
			e.Section, e.Pos = s.in.shared.Number, s.in.position()
		}
		return e
	}
	return s.in.end()
}

// intraCalls is the prefix of the names of this package's functions.
const intraCalls = "github.com/intrahpc/intra."

func (s *section) end() error {
	s.ended = true
	if !s.known && len(s.shared.Tasks) == 0 {
		s.shared.Inside = time.Since(s.opened)
	}
	if s.p != nil && !s.known && len(s.shared.Tasks) > 0 {
		s.p.launches = s.at
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
func (s *section) fold() {
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
func (s *section) complete() error {
	switch {
	case s.err != nil:
		return nil
	case s.check != nil:
		return s.check.Complete()
	case !s.p.alone():
		return s.p.engine.Share(&s.shared)
	case s.p != nil && s.p.run != nil:
		return s.p.run.CompareRun()
	}
	return nil
}

// MustEnd is like End, for generated code, which cannot return an error. It panics with the
// *SectionError, and Main and Run recover it.
func (s *Section) MustEnd() {
	if err := s.End(); err != nil {
		panic(err)
	}
}

func (s *section) regionsOf(task int) []Region { return s.shared.Tasks[task].Regions }

// independent checks that no task writes memory that another task names.
func (s *section) independent() {
	if !s.results.Empty() {
		if s.err = s.apart(); s.err != nil {
			return
		}
	}
	if s.columns.Independent(s.regionsOf) {
		return
	}
	var local update.Checker
	c := &local
	if s.p != nil {
		c = &s.p.checker
	}
	tasks := s.shared.Tasks
	err := c.Compare(len(tasks), s.regionsOf)
	if o, ok := err.(*update.Overlap); ok {
		a, b := &tasks[o.TaskA], &tasks[o.TaskB]
		s.err = &SectionError{Section: s.shared.Number, Task: b.Kernel.Name, Pos: b.At.String(),
			Err: fmt.Errorf("%w (task %d is %s, launched at %s)", err, o.TaskA, a.Kernel.Name, a.At)}
	}
}

// apart checks that no task names memory into which partial results are folded: its
// contents are undefined until the section ends.
func (s *section) apart() *SectionError {
	var last *byte // usually all tasks reduce into the same memory
	for into := range s.results.Into() {
		at := uintptr(unsafe.Pointer(&into[0]))
		if last == &into[0] || !s.columns.Near(at, at+uintptr(len(into))) {
			continue
		}
		last = &into[0]
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

func (s *section) fail(err error) {
	se, ok := err.(*SectionError)
	if !ok {
		se = &SectionError{Section: s.shared.Number, Pos: s.position(), Err: err}
	}
	s.err = se
}

func (s *section) position() string { return s.at.String() }
