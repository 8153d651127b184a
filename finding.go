package intra

import (
	"strings"

	"github.com/intrahpc/intra/internal/checked"
	"github.com/intrahpc/intra/internal/replica/option"
	"github.com/intrahpc/intra/update"
)

// Finding is a fault of one kernel, or of the code around its launch, found by checked
// mode.
type Finding struct {
	Task     string // name of the task's type, "" if the finding is not about a task
	Pos      string // folder/file:line of the launch
	Argument string // as in the clause, like out(w); "" if the finding is not about an argument
	Element  int    // index in the argument, -1 if the finding is not about an element
	Text     string // the observation, and the clause to change
	// Directive is file:line of the kernel's clauses, or "" if its source is no longer at
	// the place where the program was built.
	Directive string
}

func (f Finding) String() string { return checked.Finding(f).String() }

// CheckError holds the findings of checked mode in one section. End returns it inside a
// SectionError, and the job ends.
//
// In checked mode every replica runs all tasks itself, at the end of the section, from the
// real state at its entry. For each task one of the r live replicas runs the task a second
// time; for task t it is the replica at index t mod r. In the second run all memory that
// tasks of the section write has different contents, and so have all scratch regions that
// earlier tasks have used. Only memory that the task names in inout keeps its contents. The
// results must be the same.
//
// Control code must not write memory that tasks name. A task may write only memory that it
// names in out, inout, reduce or scratch. Checked mode watches all regions, and the memory
// near them in the same arrays. Then the replicas compare, region by region, the memory
// that the tasks have read and written. A difference is a divergence. After a section the
// scratch regions have different contents on each replica. The times in the report are not
// those of a run without checks.
//
// At some safe points the program runs a second time from its start, with Restored() true
// and the state registered there, up to the next safe point. Then the first run continues,
// and the memory that the tasks of the following sections read is compared with the second
// run. A difference means that the tasks depend on state that is not registered. At the
// second safe point, the second run continues to the end of the program, and has to reach
// as many safe points and sections as the first.
//
// Checked mode sees the memory that clauses and Watch name, and the memory near it. It also
// sees the memory that an in argument reaches through pointers, up to 1 MiB or 4096 pieces.
// It sees only the paths that the kernels take, and not the variables of closures. If
// control code reads the result of a task before the end of the section, a rank with one
// replica finds that only if another task gets the value unchanged. While a receive is
// pending, or if several processes share one memory, checked mode does not watch the memory
// beyond the end of a slice.
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

// Watch makes checked mode watch memory that no task of the section names, such as
// package variables, and report a kernel that writes it. Memory that is neither watched
// nor named is not checked. Without checked mode Watch does nothing.
func Watch(regions ...Region) SectionOption { return watchOption(regions) }

type watchOption []Region

func (o watchOption) Apply(section any) {
	to := section.(*option.Section)
	to.Watch = update.Expand(to.Watch, o)
}

// findings converts the findings of checked mode to an error.
func findings(found []checked.Finding) error {
	e := new(CheckError)
	for _, f := range found {
		e.Findings = append(e.Findings, Finding(f))
	}
	return e
}
