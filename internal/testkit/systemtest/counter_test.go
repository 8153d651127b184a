//go:build system

package systemtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// A loop counter that is missing in the state is found in checked mode. It is also found
// when a restored replica ends with another result than its peers.
func TestForgottenCounter(t *testing.T) {
	program := binaries.Program(t, "internal/testkit/systemtest/testdata/counter")
	const cure = "is a variable of the loop missing in //intra:state, or in intra.Protect?"
	for _, flags := range []string{"-r 1 -check", "-n 2 -r 2 -check"} {
		r := jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: strings.Fields(flags),
			Program: []string{program, "-messages"}})
		require.Equal(t, 1, r.Code, r.Stderr)
		require.Contains(t, r.Stderr, "counter/main.go:49: a process that is restored at this safe point, the 2nd, comes to 59 more safe points and 61 sections until it returns, and without that to 58 and 60: "+cure)
	}
	for _, size := range []int{200_000, 800_000, 3_200_000} { // larger sizes, until the joiner is early enough
		r := jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: strings.Fields("-r 2 -replace -kill 0.1@section:30"),
			Program: []string{program, "-passes", "200", "-n", fmt.Sprint(size)}})
		if !slices.ContainsFunc(strings.Split(r.Stderr, "\n"), func(line string) bool { return strings.Contains(line, "it joined at safe point") }) {
			continue
		}
		require.Equal(t, 4, r.Code, r.Stderr)
		require.Contains(t, r.Stderr, "was restored at safe point")
		require.Contains(t, r.Stderr, cure)
		return
	}
	require.Fail(t, "no joiner was in time")
}

// Replicas that run different sections are found at the next cut, long before they end.
func TestOtherSections(t *testing.T) {
	program := binaries.Program(t, "internal/testkit/systemtest/testdata/counter")
	r := jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: strings.Fields("-n 2 -r 2 -sched replicate -replace -backup 5"),
		Program: []string{program, "-passes", "1000000", "-extra", "7"}})
	require.Equal(t, 4, r.Code, r.Stderr)
	require.Regexp(t, `divergence of [01]\.[01] and [01]\.[01] at safe point \d+: the first left \d+ sections, the second \d+`, r.Stderr)
}
