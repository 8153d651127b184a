//go:build system

package systemtest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// Processes run again alone, from one safe point to another, while others die. Each line of
// output appears once, and what the program computes is right.
func TestProcessesRunAgainAlone(t *testing.T) {
	t.Parallel()
	for seed := range uint64(jobtest.Count(4, 60)) {
		random := rand.New(rand.NewPCG(seed, 9))
		flags := fmt.Sprintf("-n 3 -r %d -link %s", 2+seed%2, []string{"shm", "tcp"}[random.IntN(2)])
		for _, rank := range random.Perm(3)[:1+random.IntN(3)] {
			from := 1 + random.IntN(12)
			flags += fmt.Sprintf(" -fault again:%d.%d@%d-%d", rank, random.IntN(2), from, from+1+random.IntN(8))
		}
		if random.IntN(2) == 0 {
			flags += fmt.Sprintf(" -kill %d.%d@message:%d", random.IntN(3), random.IntN(2), random.IntN(120))
		}
		t.Run(flags, func(t *testing.T) {
			t.Parallel()
			r := newJobRun(t, jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: strings.Fields(flags),
				Program: []string{binaries.Program(t, "internal/testkit/systemtest/anyorder"), "100"}}))
			require.Zero(t, r.code, r.stderr)
			requireAnyOrder(t, r.stdout)
			require.NotContains(t, r.stderr, "differ")
			if !strings.Contains(flags, "kill") {
				runs := 0
				for _, p := range r.report.Processes {
					runs += len(p.SecondRuns)
				}
				require.Equal(t, strings.Count(flags, "again"), runs, r.stderr)
			}
		})
	}
}

// A process that runs again still shares its sections with its sibling, and both get the bits of a
// plain run.
func TestSectionsAfterARunAlone(t *testing.T) {
	t.Parallel()
	hash := func(flags string) string {
		r := newJobRun(t, jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: strings.Fields(flags),
			Program: append([]string{hpccg(t)}, strings.Fields("-nx 12 -ny 12 -nz 12 -iters 30 -tol 0 -json")...)}))
		require.Zero(t, r.code, r.stderr)
		var out struct {
			Hash string `json:"x_sha256"`
		}
		require.NoError(t, json.Unmarshal([]byte(r.stdout), &out))
		return out.Hash
	}
	want := hash("-n 2 -r 1")
	for _, flags := range []string{"-link shm", "-link tcp -kill 0.0@section:60", "-link tcp -sched static", "-replace -backup 4 -kill 1.0@section:100 -kill 1.1@section:110"} {
		require.Equal(t, want, hash("-n 2 -r 2 -fault again:0.1@2-12 -fault again:1.0@5-7 "+flags), flags)
	}
}

// A variable that is not registered is found when a run from a safe point sends other messages than
// the run before it.
func TestRunAgainWithAForgottenVariable(t *testing.T) {
	t.Parallel()
	r := jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: strings.Fields("-n 3 -r 2 -fault again:0.1@3-9"),
		Program: []string{binaries.Program(t, "internal/testkit/systemtest/anyorder"), "50", "forget"}})
	require.Equal(t, 4, r.Code, r.Stderr)
	require.Regexp(t, `the run again from a settled point differs from the run before: message \d+ to rank \d: the first run has sent tag 4, 8 bytes, hash [0-9a-f]{16}, this run tag 4, 8 bytes, hash [0-9a-f]{16} \(\w+, called at anyorder/main.go:\d+\)`, r.Stderr)
}
