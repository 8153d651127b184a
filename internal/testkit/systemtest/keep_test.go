//go:build system

package systemtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/internal/testkit/simseed"
)

// keeps runs the random program with a seed.
func keeps(t *testing.T, flags string, seed uint64, args ...string) jobRun {
	return newJobRun(t, jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: strings.Fields(flags),
		Program: append([]string{binaries.Program(t, "internal/testkit/systemtest/keeps"), fmt.Sprint(seed)}, args...)}))
}

// sorted returns the lines of an output in a fixed order. Lines of different ranks are printed in
// any order.
func sorted(out string) []string {
	lines := strings.Split(out, "\n")
	slices.Sort(lines)
	return lines
}

// Results stay where they were computed, and processes die. The other replica goes on, or runs
// again alone. The output is that of a run without replicas. INTRA_KEEP=N tries N seeds,
// INTRA_SEED=S begins there.
func TestKeptResults(t *testing.T) {
	t.Parallel()
	first, n := simseed.Environment(t, "INTRA_SEED", 0), simseed.Environment(t, "INTRA_KEEP", uint64(jobtest.Count(6, 60)))
	for seed := first; seed < first+n; seed++ {
		random := rand.New(rand.NewPCG(seed, 4))
		ranks := 1 + random.IntN(3)
		when := []string{"section", "task", "update", "update", "message"}[random.IntN(5)]
		flags := fmt.Sprintf("-n %d -r 2 -link %s -lag %s -fault stale -threads %d -kill %d.%d@%s:%d", ranks, []string{"shm", "tcp"}[random.IntN(2)],
			[]string{"1ms", "20ms", "10s"}[random.IntN(3)], 1+random.IntN(2), random.IntN(ranks), random.IntN(2), when, random.IntN(150))
		t.Run(fmt.Sprint(seed, " ", flags), func(t *testing.T) {
			t.Parallel()
			want := keeps(t, fmt.Sprintf("-n %d -r 1", ranks), seed, "30", "0s")
			require.Zero(t, want.code, want.stderr)
			got := keeps(t, flags, seed, "30", "0s")
			require.Zero(t, got.code, got.stderr)
			require.Equal(t, sorted(want.stdout), sorted(got.stdout), got.stderr)
			require.NotContains(t, got.stderr, "differ")
			for _, p := range got.report.Processes {
				for _, s := range p.SecondRuns {
					require.Positive(t, s.Detection, got.stderr)
					require.Positive(t, s.Age, got.stderr)
					require.Positive(t, s.First, got.stderr)
					require.Greater(t, s.Seconds, s.First, got.stderr)
				}
			}
		})
	}
}

// Results stay where they were computed in jobs that take consistent cuts: processes that die are
// replaced, ranks lose all their replicas, and a job that has ended continues from its files.
func TestKeptResultsAndCuts(t *testing.T) {
	t.Parallel()
	for _, c := range jobtest.Some([]struct {
		flags   string
		happens string
	}{
		{"-replace -link shm -lag 8ms -kill 0.1@section:90", "0.1 is replaced by another process on "},
		{"-replace -link tcp -lag 10s -kill 1.0@update:150 -kill 1.1@section:400", "1.1 is replaced by another process on "},
		{"-replace -backup 5 -link shm -lag 8ms -kill 1.0@section:301 -kill 1.1@section:303", "the job rolls back to safe point "},
		{"-replace -backup 7 -link tcp -lag 10s -kill 0.0@section:300 -kill 0.1@section:300 -kill 1.0@section:450", "the job rolls back to safe point "},
	}, 0, 2) {
		t.Run(c.flags, func(t *testing.T) {
			t.Parallel()
			want := keeps(t, "-n 2 -r 1", 3, "150", "0s")
			require.Zero(t, want.code, want.stderr)
			got := keeps(t, "-n 2 -r 2 -fault stale "+c.flags, 3, "150", "5ms")
			require.Zero(t, got.code, got.stderr)
			require.Contains(t, got.stderr, c.happens)
			require.Equal(t, sorted(want.stdout), sorted(got.stdout), got.stderr)
		})
	}
	t.Run("restart", func(t *testing.T) {
		t.Parallel()
		want := keeps(t, "-n 2 -r 1", 3, "60", "0s")
		require.Zero(t, want.code, want.stderr)
		flags, dir := "-n 2 -r 2 -fault stale -lag 8ms ", t.TempDir()
		lost := keeps(t, flags+"-checkpoint "+dir+" -checkpoint-every 5 -kill 1.0@section:150 -kill 1.1@section:151", 3, "60", "1ms")
		require.NotZero(t, lost.code, lost.stderr)
		got := keeps(t, flags+"-restart "+dir+" -kill 0.0@section:30", 3, "60", "1ms")
		require.Zero(t, got.code, got.stderr)
		require.Contains(t, got.stderr, "the job continues from safe point ")
		require.Equal(t, slices.Max(sorted(want.stdout)), slices.Max(sorted(got.stdout)), "the line with the result")
	})
}

// A variable that is not registered is found when the run from a settled point comes to a section
// whose tasks read it.
func TestKeptResultsWithAForgottenVariable(t *testing.T) {
	t.Parallel()
	r := keeps(t, "-n 2 -r 2 -link tcp -lag 10s -fault stale -kill 0.1@section:90", 2, "30", "0s", "forget")
	require.Equal(t, 4, r.code, r.stderr)
	require.Regexp(t, `keeptest/program\.go:\d+: .* the tasks of this section, or scalars that they read, differ: is a variable of the loop missing`, r.stderr)
}

// Clauses name windows that functions compute. The tasks get no more than these, and compute the
// bits of a run without replicas, also if a process dies.
func TestWindows(t *testing.T) {
	t.Parallel()
	for _, flags := range []string{"-r 1", "-r 2", "-r 3 -kill 0.1@task:40", "-r 2 -check", "-r 2 -lag 1s", "-r 2 -lag 1s -fault stale",
		"-r 2 -link tcp -lag 10s -fault stale", "-r 2 -lag 1s -fault stale -kill 0.0@section:70"} {
		t.Run(flags, func(t *testing.T) {
			t.Parallel()
			points, passes := "5000", "60"
			if strings.Contains(flags, "check") {
				passes = "10"
			}
			got := newJobRun(t, jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: strings.Fields(flags),
				Program: []string{binaries.Program(t, "internal/testkit/systemtest/windows"), points, passes}}))
			require.Zero(t, got.code, got.stderr)
			require.Equal(t, map[string]string{"60": "result c5aeea8f3f7c3612\n", "10": "result 02d6aa76f990ccfa\n"}[passes], got.stdout)
		})
	}
}
