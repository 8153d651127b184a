package checked

import (
	"fmt"
	"strings"

	"github.com/intrahpc/intra/update"
)

// Finding is an error in one kernel, or in the code around its launch.
type Finding struct {
	Task     string // name of the task's type, "" if the finding concerns no type
	Pos      string // file:line of the launch
	Argument string // as in the clause, like out(w); "" if the finding concerns no argument
	Element  int    // element of the argument, -1 if the finding concerns no element
	Text     string // the observation, and which clause to change
	// Directive is file:line of the kernel's clauses, "" if the source is not found.
	Directive string
}

func (f Finding) String() string {
	if f.Task == "" {
		return fmt.Sprintf("%s: %s", f.Pos, f.Text)
	}
	at := ""
	if f.Directive != "" {
		at = fmt.Sprintf(" (//intra:task at %s)", f.Directive)
	}
	return fmt.Sprintf("%s: task %s%s: %s", f.Pos, f.Task, at, f.Text)
}

// found adds a finding about task i. The tasks of one kernel usually have the same
// fault, so there is one finding for each argument of a kernel.
func (c *Section) found(i int, argument string, element int, text string) {
	l := &c.s.Tasks[i]
	for _, f := range c.findings {
		if f.Task == l.Kernel.Name && f.Argument == argument {
			return
		}
	}
	c.findings = append(c.findings, Finding{Task: l.Kernel.Name, Pos: l.At.String(), Argument: argument, Element: element, Text: text,
		Directive: directive(l.Kernel.Name, c.bodies[i])})
}

func clause(r *update.Region) string { return fmt.Sprintf("%s(%s)", r.Mode, r.Name) }

// region returns the region that o names.
func (c *Section) region(o owner) *update.Region {
	switch {
	case o.task == watched:
		return &c.watched[o.region]
	case o.folded:
		return &c.folded[o.region]
	}
	return &c.s.Tasks[o.task].Regions[o.region]
}

// elementAt returns the element of r that holds the byte at addr.
func elementAt(r *update.Region, addr uintptr) int {
	lo, _ := bounds(r.Mem)
	return int(addr-lo) / int(r.Type().Size())
}

// describe describes a changed byte for the user.
func (c *Section) describe(d change) string {
	r := c.region(d.owner)
	text := fmt.Sprintf("element %d of %s", elementAt(r, d.addr), clause(r))
	if d.owner.task != watched {
		l := &c.s.Tasks[d.owner.task]
		text += fmt.Sprintf(" of task %d (%s, launched at %s)", d.owner.task, l.Kernel.Name, l.At.String())
	}
	return text
}

func (c *Section) writtenByControl(d change) {
	r := c.region(d.owner)
	e := elementAt(r, d.addr)
	c.found(d.owner.task, clause(r), e, fmt.Sprintf(
		"%s element %d was written between the launch and the end of the section: write it before the launch or after the section", clause(r), e))
}

func (c *Section) writtenByBody(i int, d change) {
	if k, ok := c.own(i, d.addr); ok {
		r := &c.s.Tasks[i].Regions[k]
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
	if d.owner.folded {
		c.found(i, clause(r), e, fmt.Sprintf("the body writes %s itself, and partial results of tasks are folded into it when the section ends: fold into the parameter", c.describe(d)))
		return
	}
	if own := c.beside(i, d.addr); d.owner.near && own != nil {
		element, text, names := inArray(own, d.addr)
		c.found(i, clause(own), element, fmt.Sprintf("the body writes %s, and %s %s: name it in inout or out, or keep to the block", text, clause(own), names))
		return
	}
	c.found(i, clause(r), e, fmt.Sprintf(
		"the body writes %s, which none of its own clauses names: name it in inout or out, or keep to the block", c.describe(d)))
}

// writtenBySomeone reports a write that was observed once and could not be repeated.
func (c *Section) writtenBySomeone() {
	if len(c.s.Tasks) > 0 {
		c.found(0, "", -1, fmt.Sprintf("%s was written by a task of this section that does not name it in out or inout, but not when the tasks were run again one by one", c.trace))
	}
}

func (c *Section) changesByItself(i int, d difference) {
	const cure = "compute from the arguments only, not from time, a shared random source, the order of a map or of goroutines; name what is kept from call to call in inout"
	if d.panicked != nil {
		c.found(i, "", -1, fmt.Sprintf("the body ran once and, from the same state again, panicked (%v): %s", d.panicked.Value, cure))
		return
	}
	r := &c.s.Tasks[i].Regions[d.region]
	c.found(i, clause(r), d.element, fmt.Sprintf("%s element %d%s differs between two runs from the same state: %s", clause(r), d.element, inElement(d.path), cure))
}

func (c *Section) readBeforeWritten(i, k, element int, panicked *Panic) {
	r := &c.s.Tasks[i].Regions[k]
	text := fmt.Sprintf("%s element %d is read before it is written: make it inout(%s)", clause(r), element, r.Name)
	if r.Mode == update.Scratch {
		text += " or write it first"
	}
	if panicked != nil {
		text += fmt.Sprintf(" (with other contents the body panics: %v)", panicked.Value)
	}
	c.found(i, clause(r), element, text)
}

func (c *Section) dependsOnContents(i int, d difference) {
	if d.panicked != nil {
		c.found(i, "", -1, "the body panics when its out and scratch regions hold other contents together: one of them is read before it is written: make it inout")
		return
	}
	r := &c.s.Tasks[i].Regions[d.region]
	c.found(i, clause(r), d.element, fmt.Sprintf(
		"%s element %d%s depends on what several out and scratch regions held together: make those inout that are read before they are written", clause(r), d.element, inElement(d.path)))
}

// inElement names a part of an element, for the user.
func inElement(path string) string {
	if path == "" {
		return ""
	}
	return " (" + strings.TrimPrefix(path, ".") + ")"
}
