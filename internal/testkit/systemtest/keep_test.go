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
)

// keeps runs the random program with a seed.
func keeps(t *testing.T, flags string, seed uint64, args ...string) jobRun {
	return newJobRun(t, jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: strings.Fields(flags),
		Program: append([]string{binaries.Program(t, "internal/testkit/systemtest/keeps"), fmt.Sprint(seed)}, args...)}))
}

// sorted returns the lines of an output: those of different ranks are in any order.
func sorted(out string) []string {
	lines := strings.Split(out, "\n")
	slices.Sort(lines)
	return lines
}

// Results stay where they were computed, and processes die. The other replica goes on, or runs
// again alone. The output is that of a run without replicas.
func TestKeptResults(t *testing.T) {
	t.Parallel()
	for seed := range uint64(jobtest.Count(6, 60)) {
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
		})
	}
}

// A variable that is not registered is found when the run from a settled point sends something
// else than the run before.
func TestKeptResultsWithAForgottenVariable(t *testing.T) {
	t.Parallel()
	r := keeps(t, "-n 2 -r 2 -link tcp -lag 10s -fault stale -kill 0.1@section:90", 2, "30", "0s", "forget")
	require.Equal(t, 4, r.code, r.stderr)
	require.Contains(t, r.stderr, "the run again from a settled point differs from the run before: ")
}
