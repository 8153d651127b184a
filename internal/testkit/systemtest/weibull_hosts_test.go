//go:build system

package systemtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/netns"
	"github.com/intrahpc/intra/internal/testkit/simseed"
)

// TestWeibullOnHosts makes processes on four hosts die at random for minutes. They are
// replaced, and ranks are restored from backups. INTRA_WEIBULL is the number of seeds for
// each choice of degrees, about half a minute each. Every run ends with the bits of a run
// without failures, or names the rank that could not be restored.
func TestWeibullOnHosts(t *testing.T) {
	runs := simseed.Environment(t, "INTRA_WEIBULL", 0)
	if runs == 0 {
		t.Skip("it takes minutes: INTRA_WEIBULL is how many seeds run")
	}
	n := netns.Test(t, 4)
	const problem = "-nx 64 -ny 64 -nz 64 -iters 700"
	want := intrarun(t, "-n 2 -r 1", append(strings.Fields(problem), "-json")...).sum(t)
	for seed := uint64(1); seed <= runs; seed++ {
		for _, degrees := range []string{"2,2", "3,3", "1,3"} {
			flags := fmt.Sprintf("-degrees %s -replace -backup 10 -fault weibull:shape=0.7,mtbf=1s -seed %d", degrees, seed)
			r, hash := onHosts(t, n, 2, flags, problem, nil)
			t.Logf("degrees %s, seed %d: exit %d, %d failures, %d replaced, %d times back", degrees, seed, r.code,
				len(r.report.Failures), len(r.report.Replacements), len(r.report.Rollbacks))
			if r.code == 3 {
				require.Regexp(t, "could not be brought back|cannot go back", r.stderr)
				continue
			}
			require.Zero(t, r.code, r.stderr)
			require.Equal(t, want, hash, r.stderr)
		}
	}
}
