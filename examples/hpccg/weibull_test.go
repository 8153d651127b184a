//go:build !intra

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// TestWeibull lets real processes die at random: the bits are those of the
// plain program as long as a replica is left. How many die depends on how
// fast the machine is; a job that lost all of them says so.
func TestWeibull(t *testing.T) {
	args := strings.Fields("-nx 32 -ny 32 -nz 32 -iters 800 -json")
	_, want := plain(t, args...).sum(t)
	deaths := 0
	for _, seed := range []string{"1", "2", "3"} {
		r := intrarun(t, "-r 6 -weibull shape=0.7,mtbf=150ms -seed "+seed, args...)
		for _, f := range r.report.Failures {
			require.Equal(t, job.CauseInjected, f.Cause, "%s", f.Detail)
		}
		if deaths += len(r.report.Failures); r.code == 3 {
			require.Contains(t, r.stderr, "rank 0 has lost its last replica")
			require.Len(t, r.report.Failures, 6)
			continue
		}
		_, got := r.sum(t)
		require.Equal(t, want, got, "seed %s", seed)
	}
	require.Positive(t, deaths)
}
