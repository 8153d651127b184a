//go:build system

package systemtest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// TestWeibull makes real processes die at random. The bits are those of the plain program
// as long as a replica is left. The number of deaths depends on the speed of the machine.
// A job that lost all processes reports that.
func TestWeibull(t *testing.T) {
	args := strings.Fields("-nx 32 -ny 32 -nz 32 -iters 800 -json")
	want := serial(t, args...).sum(t)
	deaths := 0
	for _, seed := range jobtest.Some([]string{"1", "2", "3"}, 0) {
		r := intrarun(t, "-r 6 -fault weibull:shape=0.7,mtbf=150ms -seed "+seed, args...)
		for _, f := range r.report.Failures {
			require.Equal(t, job.CauseInjected, f.Cause, "%s", f.Detail)
		}
		if deaths += len(r.report.Failures); r.code == 3 {
			require.Contains(t, r.stderr, "rank 0 has lost its last replica")
			require.Len(t, r.report.Failures, 6)
			continue
		}
		got := r.sum(t)
		require.Equal(t, want, got, "seed %s", seed)
	}
	require.Positive(t, deaths)
}

// TestWeibullAgainstRecovery makes processes die at random. They are replaced, and the job
// rolls back to backups. If that cannot save the job, it is restarted from its files. In
// the end it has the bits of a run without failures.
func TestWeibullAgainstRecovery(t *testing.T) {
	args := strings.Fields("-nx 32 -ny 32 -nz 32 -iters 400 -json")
	want := intrarun(t, "-n 2 -r 1", args...).sum(t)
	dir := t.TempDir()
	for life := 0; ; life++ {
		flags := "-n 2 -r 2 -replace -backup 3 -checkpoint-every 10 -checkpoint " + dir
		if life < 2 {
			flags += fmt.Sprintf(" -fault weibull:shape=0.7,mtbf=250ms -seed %d", life+1)
		}
		if newest(t, dir) != "" {
			flags += " -restart " + dir
		}
		r := intrarun(t, flags, args...)
		if r.code == 3 {
			require.Less(t, life, 2, "%s", r.stderr)
			require.Regexp(t, "could not be brought back|cannot go back", r.stderr)
			continue
		}
		got := r.sum(t)
		require.Equal(t, want, got, flags)
		if life > 0 || len(r.report.Failures) > 0 {
			return
		}
		require.NoError(t, os.RemoveAll(dir)) // the job was too short to be hit
		require.Less(t, life, 2, "nobody died")
	}
}
