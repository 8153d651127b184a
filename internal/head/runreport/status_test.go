package runreport

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

func TestStatusShowsProgress(t *testing.T) {
	s := Status{Elapsed: 61.25, Degrees: []int{2, 1}, Alive: 1, Deaths: 1, E: 0.5, Outlook: Outlook{Done: 43, Total: 150, Left: 2.25},
		Processes: []ProcessStatus{
			{State: "runs"},
			{Process: job.Process{Replica: 1}, State: "joining", Doing: &job.Doing{State: job.StateJoining, Arrived: 0.439}},
			{Process: job.Process{Rank: 1}, State: "runs again", Doing: &job.Doing{State: job.StateAgain, From: 812, Point: 820, To: 830}},
		}}
	require.Equal(t, `61.2 s: 1 of 3 processes live, 1 deaths, E 0.50
  43/150 (28 %)  2.2s left
  0.0  runs
  0.1  joining 43 %
  1.0  runs again from safe point 812, is at 820 of 830
`, s.String())
}

// The status names the hosts that join and leave, and the ranks that have fewer replicas than they
// can have.
func TestStatusShowsHostsAndReplicas(t *testing.T) {
	s := Status{Degrees: []int{2, 2, 3}, Replicas: []int{1, 2, 3}, Targets: []int{1, 2, 1}, Alive: 6, Leaving: []string{"h2"}, Joined: []string{"h3", "h4"}}
	require.Equal(t, `0.0 s: 6 of 7 processes live, 0 deaths
  leaving: h2
  joined: h3, h4
  replicas: rank 0 has 1 of 2; rank 2 has 3 of 3, and is to have 1
`, s.String())
	s.Targets = nil
	require.NotContains(t, s.String(), "replicas:", "every rank has as many as it can have")
}
