//go:build !intra

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/netns"
	"github.com/intrahpc/intra/internal/seeds"
)

// TestWeibullOnHosts: on four hosts processes die at random for minutes, and
// are replaced; ranks come back from backups. INTRA_WEIBULL is how many seeds
// run for each choice of degrees, about half a minute each. Every run ends with
// the bits of one without failures, or says which rank nothing could bring back.
func TestWeibullOnHosts(t *testing.T) {
	runs := seeds.Environment(t, "INTRA_WEIBULL", 0)
	if runs == 0 {
		t.Skip("it takes minutes: INTRA_WEIBULL is how many seeds run")
	}
	n := netns.Test(t, 4)
	const problem = "-nx 64 -ny 64 -nz 64 -iters 700"
	_, want := intrarun(t, "-n 2 -r 1", append(strings.Fields(problem), "-json")...).sum(t)
	for seed := uint64(1); seed <= runs; seed++ {
		for _, degrees := range []string{"2,2", "3,3", "1,3"} {
			flags := fmt.Sprintf("-degrees %s -replace -backup 10 -weibull shape=0.7,mtbf=1s -seed %d", degrees, seed)
			code, hash, stderr, rep := onHosts(t, n, 2, flags, problem, nil)
			t.Logf("degrees %s, seed %d: exit %d, %d failures, %d replaced, %d times back", degrees, seed, code,
				len(rep["failures"].([]any)), len(rep["replacements"].([]any)), len(rep["rollbacks"].([]any)))
			if code == 3 {
				require.Contains(t, stderr, "could not be brought back")
				continue
			}
			require.Equal(t, 0, code, stderr)
			require.Equal(t, want, hash, stderr)
		}
	}
}
