//go:build system

package systemtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/head/runreport"
)

// TestVary runs HPCCG and GTC undisturbed, and with the last bits of results disturbed.
// What they print is that of an ordinary run, and of what they solve for most digits are
// left; residuals have none.
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
			r, _ := verified(t, "-n 2 -vary sets=3,bits=1%,order -seed 9", program)
			require.Zero(t, r.Code, r.Stderr)
			require.Equal(t, plain.Stdout, r.Stdout)
			var report runreport.Report
			r.Decode(t, &report)
			require.Len(t, report.Vary.Sets, 2)
			for _, s := range report.Vary.Sets {
				require.Greater(t, s.Disturbed, int64(100))
				require.Nil(t, s.Apart, "it takes the same way")
			}
			digits := make(map[string]float64)
			for _, v := range report.Vary.Variables {
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
