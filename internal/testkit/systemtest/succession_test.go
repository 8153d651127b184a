//go:build system

package systemtest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/internal/testkit/netns"
)

// The first of four hosts, with intrarun, is lost at several points. Another host takes
// the head's place, and the job ends with the bits of a run without failures.
func TestLossOfTheHead(t *testing.T) {
	t.Parallel()
	net := netns.Test(t, 4)
	began := time.Now()
	r, want := onHosts(t, net, 1, "-n 2 -r 2", strings.Join(chaosProblem[:len(chaosProblem)-1], " "), nil)
	require.Zero(t, r.code, r.stderr)
	quiet := time.Since(began)
	for _, c := range jobtest.Some([]struct {
		name string
		when float64 // when the head is lost, as a part of the time of that run
		lose func() error
	}{
		{"killed at the start", 0, net.Hosts[0].Kill},
		{"killed", 0.2, net.Hosts[0].Kill},
		{"killed in the middle", 0.4, net.Hosts[0].Kill},
		{"cut off", 0.2, net.Hosts[0].Down},
	}, 0, 3) {
		t.Run(c.name, func(t *testing.T) {
			for when := c.when; !loseHead(t, net, time.Duration(when*float64(quiet)), c.lose, want); when /= 2 {
				t.Logf("the job had ended after %.2f of the time", when)
			}
		})
	}
}

// loseHead loses the head of a job some time after all processes have joined. It returns
// false if the job ended before.
func loseHead(t *testing.T, net *netns.Net, after time.Duration, lose func() error, want string) bool {
	j := startHosted(t, net, 1, "-n 2 -r 2", chaosProblem, joined)
	time.Sleep(after)
	j.lose(lose)
	r, lost := j.end()
	if !lost {
		return false
	}
	hash := r.sum(t)
	require.Equal(t, want, hash)
	require.Len(t, r.report.Failures, 1, r.stderr)
	require.Equal(t, job.Process{}, r.report.Failures[0].Process)
	require.Equal(t, job.CauseHost, r.report.Failures[0].Cause)
	require.Positive(t, r.report.TasksRun)
	return true
}

// Two hosts that keep the decisions of the head are lost, the second after the first was
// replaced. Then the host of the head is lost.
func TestLossesOneAfterTheOther(t *testing.T) {
	t.Parallel()
	net := netns.Test(t, 5)
	for iters := 600; ; iters *= 2 {
		require.Less(t, iters, 40000, "the job has always ended before the last loss")
		problem := strings.Fields(fmt.Sprintf("-nx 20 -ny 20 -nz 20 -iters %d -json", iters))
		r, want := onHosts(t, net, 1, "-n 2 -r 1", strings.Join(problem[:len(problem)-1], " "), nil)
		require.Zero(t, r.code, r.stderr)
		if loseThree(t, net, problem, want) {
			return
		}
	}
}

// loseThree loses hosts 1, 2 and 0. It returns false if the job ended before.
func loseThree(t *testing.T, net *netns.Net, problem []string, want string) bool {
	j := startHosted(t, net, 2, "-n 2 -r 5", problem, joined)
	const kept = "the decisions of the head are kept on "
	for _, host := range []int{1, 2} {
		changes := strings.Count(j.Stderr(), kept)
		require.NoError(t, net.Hosts[host].Kill())
		require.Eventually(t, func() bool {
			return strings.Count(j.Stderr(), kept) > changes || j.finished()
		}, time.Minute, time.Millisecond, "%s", j.Stderr())
	}
	j.lose(net.Hosts[0].Kill)
	r, lost := j.end()
	if !lost {
		return false
	}
	hash := r.sum(t)
	require.Equal(t, want, hash)
	return true
}
