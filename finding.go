package intra

import (
	"strings"

	"github.com/intrahpc/intra/internal/replica/checked"
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
	// Directive is file:line of the kernel's clauses, "" if its source is not
	// where the program was built.
	Directive string
}

func (f Finding) String() string { return checked.Finding(f).String() }

// CheckError holds what checked mode found in one section. End returns it
// inside a SectionError, and the job ends.
//
// In checked mode every replica runs all tasks itself, at the end of the
// section, from the entry state as it is. One of the r replicas that live, for
// task t the one at place t mod r, runs it again with other contents of all
// memory that tasks of the section write and of what earlier ones have left in
// scratch regions, which must make no difference: only what a task names in
// inout is then for it as it was. Control code may not write what
// tasks name, nor a task what it does not name in out, inout, reduce or scratch,
// which is watched in all regions and near them in the same arrays. Then the
// replicas compare, region by region, what the tasks have read and written; a
// difference is a divergence. After a section each replica has other contents
// in scratch regions. The times in the report are not those without checks.
//
// At some safe points the program is run a second time from its start, with
// Restored() true and the state registered there, up to the next safe point.
// Then it goes on, and what the tasks of the following sections read is
// compared with that run: a difference means that they depend on something
// that is not registered. From the second safe point that run goes on to the
// end of the program, and comes to as many safe points and sections.
//
// It sees the memory that clauses and Watch name and what is near it, not what
// else an in argument reaches through pointers, and the paths that the kernels
// take. Where a receive is pending, or several processes share one memory, what
// is behind the end of a slice is not watched.
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

func (o watchOption) apply(s *Section) { s.watched = update.Expand(s.watched, o) }

// findings makes an error of what checked mode has found.
func findings(found []checked.Finding) error {
	e := new(CheckError)
	for _, f := range found {
		e.Findings = append(e.Findings, Finding(f))
	}
	return e
}
