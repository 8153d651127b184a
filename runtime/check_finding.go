package intra

import (
	"fmt"
	"strings"

	"github.com/intrahpc/intra/update"
)

// Finding is a fault of one kernel, or of the code around its launch, that
// checked mode has seen.
type Finding struct {
	Task     string // name of the task's type, "" if it is not about one
	Pos      string // file:line of the launch
	Argument string // as in the clause, like out(w); "" if it is not about one
	Element  int    // of the argument, -1 if it is not about one
	Text     string // what was seen, and the clause to change
}

func (f Finding) String() string {
	if f.Task == "" {
		return fmt.Sprintf("%s: %s", f.Pos, f.Text)
	}
	return fmt.Sprintf("%s: task %s: %s", f.Pos, f.Task, f.Text)
}

// CheckError holds what checked mode found in one section. End returns it
// inside a SectionError, and the job ends.
//
// In checked mode every replica runs all tasks itself, at the end of the
// section and several times: from the entry state as it is, and with other
// contents of out and scratch regions, which must make no difference. Control
// code may not write what tasks name, nor a task what it does not name in
// out, inout, reduce or scratch. Then the replicas compare, region by region,
// what the tasks have read and written; a difference is a divergence. The
// times in the report are those of all runs.
//
// At some safe points the program is run a second time from its start, with
// Restored() true and the state registered there, up to the next safe point.
// Then it goes on, and what the tasks of the following sections read is
// compared with that run: a difference means that they depend on something
// that is not registered.
//
// It sees the memory that clauses and Watch name, not what an in argument
// reaches through pointers, and the paths that the kernels take.
type CheckError struct {
	Findings []Finding
}

func (e *CheckError) Error() string {
	lines := make([]string, len(e.Findings))
	for i, f := range e.Findings {
		lines[i] = f.String()
	}
	return "checked mode: " + strings.Join(lines, "\n")
}

// Watch makes checked mode watch memory that no task of the section names,
// such as package variables: a kernel that writes it is found. What is not
// watched and not named cannot be seen. Without checked mode it does nothing.
func Watch(regions ...Region) SectionOption { return watchOption(regions) }

type watchOption []Region

func (o watchOption) apply(s *Section) { s.watched = append(s.watched, o...) }

// found adds a finding about task i. The tasks of one kernel mostly have the
// same fault, so it is told once for each argument of a kernel.
func (c *check) found(i int, argument string, element int, text string) {
	l := &c.s.tasks[i]
	for _, f := range c.findings {
		if f.Task == l.task.name && f.Argument == argument {
			return
		}
	}
	c.findings = append(c.findings, Finding{Task: l.task.name, Pos: l.pos(), Argument: argument, Element: element, Text: text})
}

func clause(r *Region) string { return fmt.Sprintf("%s(%s)", r.Mode, r.Name) }

// region returns the region that o names.
func (c *check) region(o owner) *Region {
	if o.task == watched {
		return &c.s.watched[o.region]
	}
	return &c.s.tasks[o.task].regions[o.region]
}

// elementAt is the element of r that holds the byte at addr.
func elementAt(r *Region, addr uintptr) int {
	lo, _ := bounds(r.Mem)
	return int(addr-lo) / int(r.Type.Size())
}

// describe names a byte that has changed.
func (c *check) describe(d change) string {
	r := c.region(d.owner)
	text := fmt.Sprintf("element %d of %s", elementAt(r, d.addr), clause(r))
	if d.owner.task != watched {
		l := &c.s.tasks[d.owner.task]
		text += fmt.Sprintf(" of task %d (%s, launched at %s)", d.owner.task, l.task.name, l.pos())
	}
	return text
}

func (c *check) writtenByControl(d change) {
	r := c.region(d.owner)
	e := elementAt(r, d.addr)
	c.found(d.owner.task, clause(r), e, fmt.Sprintf(
		"%s element %d was written between the launch and the end of the section: write it before the launch or after the section", clause(r), e))
}

func (c *check) writtenByBody(i int, d change) {
	if k, ok := c.own(i, d.addr); ok {
		r := &c.s.tasks[i].regions[k]
		e := elementAt(r, d.addr)
		c.found(i, clause(r), e, fmt.Sprintf(
			"%s element %d is written by the body: move it to inout(%[3]s), or to out(%[3]s) if it is not read before", clause(r), e, r.Name))
		return
	}
	r := c.region(d.owner)
	e := elementAt(r, d.addr)
	if d.owner.task == watched {
		c.found(i, r.Name, e, fmt.Sprintf(
			"%s element %d is written by the body, and no clause names it: make it a parameter in inout(%[1]s)", r.Name, e))
		return
	}
	c.found(i, clause(r), e, fmt.Sprintf(
		"the body writes %s, which none of its own clauses names: name it in inout or out, or keep to the block", c.describe(d)))
}

// writtenBySomeone reports a write that was seen once and not again.
func (c *check) writtenBySomeone() {
	if len(c.s.tasks) > 0 {
		c.found(0, "", -1, fmt.Sprintf("%s was written by a task of this section that does not name it in out or inout, but not when the tasks were run again one by one", c.trace))
	}
}

func (c *check) changesByItself(i int, d difference) {
	const cure = "compute from the arguments only, not from time, a shared random source, the order of a map or of goroutines; name what is kept from call to call in inout"
	if d.panicked != nil {
		c.found(i, "", -1, fmt.Sprintf("the body ran once and, from the same state again, panicked (%v): %s", d.panicked.Value, cure))
		return
	}
	r := &c.s.tasks[i].regions[d.region]
	c.found(i, clause(r), d.element, fmt.Sprintf("%s element %d%s differs between two runs from the same state: %s", clause(r), d.element, inElement(d.path), cure))
}

func (c *check) readBeforeWritten(i, k, element int, panicked *TaskPanic) {
	r := &c.s.tasks[i].regions[k]
	text := fmt.Sprintf("%s element %d is read before it is written: make it inout(%s)", clause(r), element, r.Name)
	if r.Mode == update.Scratch {
		text += " or write it first"
	}
	if panicked != nil {
		text += fmt.Sprintf(" (with other contents the body panics: %v)", panicked.Value)
	}
	c.found(i, clause(r), element, text)
}

func (c *check) dependsOnContents(i int, d difference) {
	if d.panicked != nil {
		c.found(i, "", -1, "the body panics when its out and scratch regions hold other contents together: one of them is read before it is written: make it inout")
		return
	}
	r := &c.s.tasks[i].regions[d.region]
	c.found(i, clause(r), d.element, fmt.Sprintf(
		"%s element %d%s depends on what several out and scratch regions held together: make those inout that are read before they are written", clause(r), d.element, inElement(d.path)))
}

// inElement names a part of an element.
func inElement(path string) string {
	if path == "" {
		return ""
	}
	return " (" + strings.TrimPrefix(path, ".") + ")"
}
