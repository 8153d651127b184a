package runreport

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

func TestStatusShowsProgress(t *testing.T) {
	s := Status{Elapsed: 61.25, Degrees: []int{2}, Alive: 1, Deaths: 1, E: 0.5, Outlook: Outlook{Done: 43, Total: 150, Left: 2.25},
		Processes: []ProcessStatus{
			{State: "runs"},
			{Process: job.Process{Replica: 1}, State: "joining", Doing: &job.Doing{State: job.StateJoining, Arrived: 0.439}},
		}}
	require.Equal(t, `61.2 s: 1 of 2 processes live, 1 deaths, E 0.50
  43/150 (28 %)  2.2s left
  0.0  runs
  0.1  joining 43 %
`, s.String())
}
