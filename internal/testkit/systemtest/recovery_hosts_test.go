//go:build system

package systemtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/internal/testkit/netns"
)

// Processes of a lost host are replaced on hosts with free slots, by spares or by new
// processes. A rank that was only on the lost host is restored from its backup.
func TestRecoveryOnSeveralHosts(t *testing.T) {
	t.Parallel()
	n := netns.Test(t, 3)
	lose := func() { require.NoError(t, n.Hosts[1].Kill()) }
	want := make(map[string]string)
	for _, c := range jobtest.Some([]struct {
		name, flags string
		slots       int
		passes      int // at first; multiplied by four until the loss of a host is detected before the end
		during      func()
		replaced    []string
		rollbacks   int
		failures    int
	}{
		{"a process", "-n 2 -r 2 -replace -kill 1.1@section:50", 2, 100, nil, []string{"1.1"}, 0, 1},
		{"a spare, encrypted", "-n 2 -r 2 -spares 1 -tls -kill 1.1@section:50", 2, 100, nil, []string{"1.1"}, 0, 1},
		{"a host", "-n 2 -r 2 -replace", 2, 300, lose, []string{"0.1", "1.1"}, 0, 2},
		{"a host with the only replica", "-n 2 -r 1 -spares 1 -backup 2", 1, 300, lose, []string{"1.0"}, 1, 1},
	}, 1, 3) {
		t.Run(c.name, func(t *testing.T) {
			var (
				r             jobRun
				problem, hash string
			)
			for passes := c.passes; passes < 100*c.passes; passes *= 4 { // more passes until the job lasts long enough
				problem = fmt.Sprintf("-nx 24 -ny 24 -nz 24 -iters %d", passes)
				r, hash = onHosts(t, n, c.slots, c.flags, problem, c.during)
				require.NoError(t, n.Hosts[1].Up())
				if r.code != 0 || len(r.report.Replacements) == len(c.replaced) {
					break
				}
			}
			if want[problem] == "" {
				want[problem] = intrarun(t, "-n 2 -r 1", append(strings.Fields(problem), "-json")...).sum(t)
			}
			require.Zero(t, r.code, r.stderr)
			require.Equal(t, want[problem], hash, r.stderr)
			require.Len(t, r.report.Failures, c.failures, r.stderr)
			for _, one := range r.report.Replacements {
				if c.during != nil {
					require.Equal(t, n.Hosts[2].Name, one.Host, r.stderr)
				}
			}
			require.ElementsMatch(t, c.replaced, r.report.Replaced(), r.stderr)
			require.Len(t, r.report.Rollbacks, c.rollbacks, r.stderr)
		})
	}
}

// If a link breaks between the only replicas of two ranks, both alive, the head
// kills one of them, and the job rolls back to its last backup.
func TestLinkBetweenLastReplicas(t *testing.T) {
	t.Parallel()
	n := netns.Test(t, 4)
	cut := func() { n.Between(1, 2, netns.Conditions{Loss: 1}) }
	problem := "-nx 16 -ny 16 -nz 16 -iters 800"
	r, hash := onHosts(t, n, 1, "-n 3 -r 1 -replace -backup 2", problem, cut)
	require.Zero(t, r.code, r.stderr)
	want := intrarun(t, "-n 3 -r 1", append(strings.Fields(problem), "-json")...).sum(t)
	require.Equal(t, want, hash, r.stderr)
	require.NotEmpty(t, r.report.Rollbacks, r.stderr)
	require.Equal(t, job.CauseLink, r.report.Failures[0].Cause, r.stderr)
}

// If the only host with a free slot is lost, the job does not wait for a process on it.
func TestNoHostIsLeftForAReplacement(t *testing.T) {
	t.Parallel()
	n := netns.Test(t, 2)
	lose := func() { require.NoError(t, n.Hosts[1].Kill()) }
	r, _ := onHosts(t, n, 1, "-n 2 -r 1 -replace -backup 2", "-nx 24 -ny 24 -nz 24 -iters 2000", lose)
	require.Equal(t, 3, r.code, r.stderr)
	require.Contains(t, r.report.Error, "rank 1 has lost its last replica 1.0")
	require.Contains(t, r.report.Error, fmt.Sprintf("no process takes its place: host %s is lost, and no other host has a free slot", n.Hosts[1].Name))
}
