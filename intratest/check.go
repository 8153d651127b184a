package intratest

import (
	"context"
	"errors"
	"testing"

	"github.com/intrahpc/intra"
)

// CheckOption changes how kernels are checked.
type CheckOption func(*checkOptions)

type checkOptions struct {
	section []intra.SectionOption
}

// Watch makes Check report a kernel that writes the variable at v, such as a package
// variable, although no clause names it. The type of the variable must hold no
// pointers.
func Watch[T any](name string, v *T) CheckOption {
	return func(o *checkOptions) { o.section = append(o.section, intra.Watch(intra.InVar(name, v))) }
}

// WatchSlice works like Watch, for the elements of a slice.
func WatchSlice[T any](name string, s []T) CheckOption {
	return func(o *checkOptions) { o.section = append(o.section, intra.Watch(intra.In(name, s))) }
}

// Check runs the tasks that launch puts into a section in checked mode, and fails the test
// for each fault of a clause that it finds. Each task runs several times from the same
// state, with different contents of its out and scratch regions. The results must not
// differ. They may depend only on the arguments of the task, and the task may write only
// the memory that its clauses allow.
//
// Check does not see memory that neither a clause nor Watch names. It does not see paths of
// the code that these arguments do not take.
//
// launch is called once, in a goroutine of its own, and must not end the section.
// Afterwards the results of the tasks are in place.
//
//	func TestWaxpbyClauses(t *testing.T) {
//		intratest.Check(t, func(s *intra.Section) { launchWaxpby(s, 2, x, 3, y, w) })
//	}
func Check(t testing.TB, launch func(s *intra.Section), opts ...CheckOption) {
	t.Helper()
	findings, err := Findings(launch, opts...)
	for _, f := range findings {
		t.Error(f)
	}
	if err != nil {
		t.Error(err)
	}
}

// Findings runs Check and returns its findings, for tests that expect them. The error is
// any other reason why the section could not be completed, such as tasks that are not
// independent or a panic in a body.
func Findings(launch func(s *intra.Section), opts ...CheckOption) ([]intra.Finding, error) {
	var o checkOptions
	for _, opt := range opts {
		opt(&o)
	}
	err := intra.Run(context.Background(), intra.Spec{Check: true}, func(p *intra.Process) error {
		s := p.Section(o.section...)
		launch(s)
		return s.End()
	})
	var found *intra.CheckError
	if errors.As(err, &found) {
		return found.Findings, nil
	}
	return nil, err
}
