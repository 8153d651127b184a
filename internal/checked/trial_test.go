package checked_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/intratest"
)

var taskGrow = intra.Register("test.grow")

// growth is a program with several kinds of state. It does not register the variables
// named in forget.
type growth struct {
	forget map[string]bool
	passes int
	global *[]float64 // if not nil, the vector is stored in it
	calls  *atomic.Int64
}

func (g growth) run(p *intra.Process) error {
	x, factor, pass, clock := make([]float64, 40), 1.0, 0, int64(0)
	vector := &x
	if g.global != nil {
		if !p.Restored() {
			*g.global = x
		}
		vector = g.global
	}
	row, err := p.World().Split(p.Rank()/2, p.Rank())
	if err != nil {
		return err
	}
	if !g.forget["x"] {
		intra.Protect(p, "x", vector)
	}
	if !g.forget["factor"] {
		intra.Protect(p, "factor", &factor)
	}
	if !g.forget["pass"] {
		intra.Protect(p, "pass", &pass)
	}
	intra.Protect(p, "clock", &clock)
	if g.forget["initial message"] || !p.Restored() {
		if factor, err = comm.AllreduceValue(p.World(), 0.5, comm.Sum); err != nil {
			return err
		}
	}
	for ; pass < g.passes; pass++ {
		if err := p.SafePoint(); err != nil {
			return err
		}
		now, err := intra.Once(p, func() (int64, error) { return g.calls.Add(1), nil })
		if err != nil {
			return err
		}
		clock += now
		x := *vector
		s := p.Section()
		for lo, hi := range intra.Blocks(len(x), 4) {
			s.Launch(taskGrow, func() {
				for i := lo; i < hi; i++ {
					x[i] += factor + float64(now)
				}
			}, intra.InVar("factor", &factor), intra.InVar("now", &now), intra.InOut("x", x[lo:hi]))
		}
		if err := s.End(); err != nil {
			return err
		}
		if factor, err = comm.AllreduceValue(row, factor*1.5, comm.Sum); err != nil {
			return err
		}
	}
	return nil
}

func TestCheckedModeRestores(t *testing.T) {
	tests := []struct {
		forget string
		want   []string
	}{
		{"x", []string{"checked/trial_test.go:55: task test.grow: the section opened at checked/trial_test.go:64 differs in a process that is restored at this safe point, the 2nd: ",
			"at the entry of the section, inout(x) of test.grow, launched at checked/trial_test.go:66, has element 0 with hash ",
			"and in the restored process ", "what it depends on is not registered (intra.Protect), or not computed again"}},
		{"factor", []string{"in(factor) of test.grow, launched at checked/trial_test.go:66, has element 0 with hash "}},
		{"pass", []string{"checked/trial_test.go:55: a process that is restored at this safe point, the 2nd, comes to 7 more safe points and 8 sections until it returns, and without that to 6 and 7: is a variable of the loop missing in //intra:state, or in intra.Protect?"}},
		{"initial message", []string{"checked/trial_test.go:55: a process that is restored at this safe point, the 2nd, fails: ", "restored"}},
	}
	for _, spec := range []intra.Spec{{Check: true}, {Degrees: []int{2, 1, 2}, Check: true}} {
		for _, tt := range tests {
			t.Run(fmt.Sprint(tt.forget, spec.Degrees), func(t *testing.T) {
				// The loop ends after the 8th safe point.
				g := growth{forget: map[string]bool{tt.forget: true}, passes: 8, calls: new(atomic.Int64)}
				err := intra.Run(t.Context(), spec, g.run)
				for _, want := range tt.want {
					require.ErrorContains(t, err, want)
				}
			})
		}
	}
}

// Checked mode does not disturb programs that register all their state. This includes
// results of Once, and variables that both runs share.
func TestCheckedModeRestoresCompletePrograms(t *testing.T) {
	for _, degrees := range [][]int{{1}, {2}, {3, 1}, {2, 2, 1}} {
		t.Run(fmt.Sprint(degrees), func(t *testing.T) {
			calls := new(atomic.Int64)
			intratest.Run(t, intra.Spec{Degrees: degrees, Check: true}, growth{passes: 40, calls: calls}.run)
			require.GreaterOrEqual(t, calls.Load(), int64(40*len(degrees)))
		})
	}
	var shared []float64
	intratest.Run(t, intra.Spec{Check: true}, growth{passes: 10, global: &shared, calls: new(atomic.Int64)}.run)
}

// Deaths in a trial are handled like other deaths: the remaining replicas repeat the
// trial.
func TestDeathsWhileCheckedModeRestores(t *testing.T) {
	for _, kill := range []string{"0.1@section:1", "0.1@section:2", "0.0@section:2", "1.0@task:30", "0.0@message:3", "1.1@message:6"} {
		t.Run(kill, func(t *testing.T) {
			report := intratest.Run(t, intra.Spec{Degrees: []int{2, 2}, Check: true},
				growth{passes: 10, calls: new(atomic.Int64)}.run, intratest.Kills(kill))
			require.Len(t, report.Deaths, 1)
		})
	}
}
