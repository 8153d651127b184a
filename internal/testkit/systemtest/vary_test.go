//go:build system

package systemtest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/internal/vary"
)

// TestVary runs HPCCG and GTC undisturbed, and with the last bits of results disturbed.
// The output of the undisturbed run is that of an ordinary run. Most digits of the
// solutions remain significant; residuals have no significant digits.
func TestVary(t *testing.T) {
	for name, c := range map[string]struct {
		solution string
		least    float64
	}{
		"hpccg": {"cg.x", 13},
		"gtc":   {"gtc.fields.Potential", 9},
	} {
		t.Run(name, func(t *testing.T) {
			program := wrongPrograms(t)[name]
			plain, _ := verified(t, "-n 2 -r 1", program)
			r := jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Plain(t, "cmd/intravary"), Flags: strings.Fields("-sets 3 -bits 1% -order -seed 9"),
				Program: append([]string{binaries.Intrarun(t), "-n", "2", "-r", "1"}, program...)})
			require.Zero(t, r.Code, r.Stderr)
			require.Equal(t, plain.Stdout, timeless(t, strings.TrimSpace(r.Stdout)))
			var report vary.Result
			r.Decode(t, &report)
			require.Len(t, report.Sets, 2)
			for _, s := range report.Sets {
				require.Greater(t, s.Disturbed, int64(100))
				require.Nil(t, s.Apart, "it takes the same way")
			}
			digits := make(map[string]float64)
			for _, v := range report.Variables {
				if v.Digits != nil {
					digits[v.Name] = *v.Digits
				}
			}
			require.Greater(t, digits[c.solution], c.least, r.Stderr)
			require.Less(t, digits[c.solution], 15.95, "something has come of it: %s", r.Stderr)
			if name == "hpccg" {
				require.Less(t, digits["cg.r"], 6.0, "it is made of rounding errors: %s", r.Stderr)
			}
		})
	}
}
