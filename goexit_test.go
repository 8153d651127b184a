package intra_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/intratest"
)

// ends are the places where a program may end its goroutine.
var ends = map[string]struct {
	run  func(p *intra.Process) error
	want string
}{
	"the program": {func(*intra.Process) error { runtime.Goexit(); return nil },
		"the program called runtime.Goexit (intra/goexit_test.go:"},
	"a task": {func(p *intra.Process) error {
		s := p.Section()
		for range 4 {
			s.Launch(taskBad, func() { runtime.Goexit() })
		}
		return s.End()
	}, "task test.bad, launched at intra/goexit_test.go:"},
	"Once": {func(p *intra.Process) error {
		_, err := intra.Once(p, func() (int, error) { runtime.Goexit(); return 0, nil })
		return err
	}, "the function of the intra.Once called at intra/goexit_test.go:"},
}

// A program fails if it ends its goroutine, wherever it does so, and the error names the
// place.
func TestGoexit(t *testing.T) {
	for name, c := range ends {
		for _, spec := range []intra.Spec{{}, {Replicas: 2}, {Replicas: 2, Check: true}} {
			for _, threads := range []int{1, 3} {
				t.Run(name, func(t *testing.T) {
					r := intratest.Run(t, spec, c.run, intratest.Fails(), intratest.Threads(threads))
					require.ErrorContains(t, r.Err, c.want)
					require.ErrorContains(t, r.Err, " called runtime.Goexit (intra/goexit_test.go:")
					require.ErrorContains(t, r.Err, "return an error instead\n\n")
					require.ErrorContains(t, r.Err, "intra/goexit_test.go:", "the stack of the program")
				})
			}
		}
	}
}

// A trial of checked mode that ends its goroutine reports that as well.
func TestGoexitInATrial(t *testing.T) {
	r := intratest.Run(t, intra.Spec{Replicas: 2, Check: true}, func(p *intra.Process) error {
		var x int
		intra.Protect(p, "x", &x)
		if p.Restored() {
			runtime.Goexit()
		}
		for range 4 {
			if err := p.SafePoint(); err != nil {
				return err
			}
		}
		return nil
	}, intratest.Fails())
	require.ErrorContains(t, r.Err, "the program called runtime.Goexit (intra/goexit_test.go:")
}
