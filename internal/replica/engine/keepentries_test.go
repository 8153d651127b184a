package engine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/intratest"
)

// TestSecondRunComparesArguments runs a program that forgets to register a scalar. Only sections
// with Keep use it, so no message shows that it is wrong in a second run.
func TestSecondRunComparesArguments(t *testing.T) {
	for _, tt := range []struct {
		name    string
		forgets bool
		lag     time.Duration
	}{
		{"registered", false, time.Millisecond},
		{"forgotten", true, time.Millisecond},
		{"forgotten, one image", true, time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			report := intratest.Run(t, intra.Spec{Replicas: 2}, func(p *intra.Process) error {
				x, pass, factor := make([]float64, 100), int64(0), 1.0
				intra.Protect(p, "x", &x)
				intra.Protect(p, "pass", &pass)
				if !tt.forgets {
					intra.Protect(p, "factor", &factor)
				}
				for ; pass < 40; pass++ {
					if err := p.SafePoint(); err != nil {
						return err
					}
					factor *= 1.25
					s := p.Section(intra.Keep)
					for lo, hi := range intra.Blocks(len(x), 4) {
						s.Launch(taskRandom, func() {
							for i := lo; i < hi; i++ {
								x[i] += factor * float64(i)
							}
						}, intra.InOut("x", x[lo:hi]), intra.InVar("factor", &factor))
					}
					if err := s.End(); err != nil {
						return err
					}
				}
				return p.Settle()
			}, intratest.Lag(tt.lag), intratest.MayKill("0.1@section:30"), intratest.Fails())
			if !tt.forgets {
				require.NoError(t, report.Err)
				return
			}
			require.ErrorIs(t, report.Err, intra.ErrDiverged)
			require.ErrorContains(t, report.Err, "scalars that they read, differ")
			require.ErrorContains(t, report.Err, "keepentries_test.go:")
			require.ErrorContains(t, report.Err, "is a variable of the loop missing")
		})
	}
}
