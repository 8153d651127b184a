package intra_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/intratest"
)

// The first SafePoint returns the error in the registered state on every replica. The error
// names the place.
func TestProtectErrors(t *testing.T) {
	tests := []struct {
		name    string
		protect func(p *intra.Process)
		want    string
	}{
		{"twice", func(p *intra.Process) {
			var a, b int
			intra.Protect(p, "a", &a)
			intra.Protect(p, "a", &b)
		}, `intra/protect_test.go:24: intra.Protect("a"): the name is taken already`},
		{"nil", func(p *intra.Process) {
			intra.Protect[int](p, "a", nil)
		}, `intra/protect_test.go:27: intra.Protect("a"): a nil pointer, want the address of a variable`},
		{"pointers", func(p *intra.Process) {
			var names []string
			intra.Protect(p, "names", &names)
		}, `intra/protect_test.go:31: intra.Protect("names"): type string holds pointers`},
		{"the first one counts", func(p *intra.Process) {
			intra.Protect(p, "", new(int))
			intra.Protect[int](p, "b", nil)
		}, `intra/protect_test.go:34: intra.Protect(""): a name of 0 bytes`},
		{"late", func(p *intra.Process) {
			if err := p.SafePoint(); err != nil {
				panic(err)
			}
			intra.Protect(p, "a", new(int))
		}, `intra/protect_test.go:41: intra.Protect("a"): register all state before the first SafePoint`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			intratest.Run(t, intra.Spec{Replicas: 2}, func(p *intra.Process) error {
				tt.protect(p)
				for range 2 {
					if err := p.SafePoint(); err == nil {
						return fmt.Errorf("no error")
					} else if got := err.Error(); len(got) < len(tt.want) || got[:len(tt.want)] != tt.want {
						return fmt.Errorf("got %q", got)
					}
				}
				return nil
			})
		})
	}
}

func TestSafePoints(t *testing.T) {
	program := func(p *intra.Process) error {
		x, sum := make([]float64, 100), 0.0
		intra.Protect(p, "x", &x)
		intra.Protect(p, "sum", &sum)
		if p.Restored() {
			return fmt.Errorf("nothing was saved")
		}
		for range 10 {
			if err := p.SafePoint(); err != nil {
				return err
			}
			s := p.Section()
			if err := p.SafePoint(); err == nil && p != nil {
				return fmt.Errorf("a safe point in a section")
			}
			s.Launch(taskWaxpby, func() { x[0]++ }, intra.InOut("x", x))
			if err := s.End(); err != nil {
				return err
			}
			sum += x[0]
		}
		if sum != 55 {
			return fmt.Errorf("sum is %v", sum)
		}
		return nil
	}
	require.NoError(t, program(nil))
	intratest.Run(t, intra.Spec{Degrees: []int{1, 2}}, program)
}

func BenchmarkSafePoint(b *testing.B) {
	err := intra.Run(b.Context(), intra.Spec{Replicas: 2}, func(p *intra.Process) error {
		for range b.N {
			if err := p.SafePoint(); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(b, err)
}
