package head

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/runreport"
)

// says has a process say what it does.
func (s *script) says(process string, d job.Doing) {
	p, err := job.ParseProcess(process)
	require.NoError(s.t, err)
	s.head.Step(Said{s.head.places[p].from, &job.Message{Kind: job.KindStats, Stats: &job.Stats{Doing: &d}}}, s.head.now)
}

// A deadlock is looked for among those that have said lately what they do, while
// nobody is in doubt.
func TestWaiting(t *testing.T) {
	s := begun(t, "degrees=1,2")
	wait := job.Doing{State: job.StateRuns, Idle: time.Second, Blocked: true, Waits: []job.Wait{{Call: "Recv", Ranks: []int{1}, For: time.Second}}}
	for _, p := range []string{"0.0", "1.0", "1.1"} {
		s.says(p, wait)
	}
	s.head.now += 500 * time.Millisecond
	s.says("1.0", job.Doing{State: job.StateSection, Section: 3, At: "heat.go:5"})
	all, ok := s.head.Waiting()
	require.True(t, ok)
	require.Len(t, all, 3)
	require.Equal(t, 1500*time.Millisecond, all[0].Doing.Idle, "it has gone on since it has said so")
	require.Equal(t, 1500*time.Millisecond, all[0].Doing.Waits[0].For)
	require.Zero(t, all[1].Doing.Idle)

	s.head.now += 500 * time.Millisecond // too long without a word
	all, _ = s.head.Waiting()
	require.Nil(t, all[0].Doing)
	require.NotNil(t, all[1].Doing)
	s.head.isStopped(s.head.places[all[1].Process], 100*time.Millisecond)
	all, _ = s.head.Waiting()
	require.Nil(t, all[1].Doing)
	status := s.head.Status()
	require.Equal(t, 3, status.Alive)
	require.Equal(t, "runs", status.Processes[0].State)
	require.Equal(t, "stopped", status.Processes[1].State)
	require.Contains(t, status.String(), "3 of 3 processes live, 0 deaths")
	require.Contains(t, status.String(), "\n  0.0  waits in Recv from 1 for 2.0 s\n  1.0  stopped\n")

	s.head.suspect(s.head.places[all[0].Process], all[1].Process, 1, "broken")
	_, ok = s.head.Waiting()
	require.False(t, ok, "a link is in doubt")
}

// The job ends for a deadlock, once.
func TestDeadlocked(t *testing.T) {
	s := begun(t, "degrees=1,1")
	s.head.Step(Deadlocked{"deadlock: 0 waits"}, s.head.now)
	require.Equal(t, ExitFailed, s.head.Code())
	require.Equal(t, "deadlock: 0 waits", s.head.Summary().Text)
	_, ok := s.head.Waiting()
	require.False(t, ok)
	s.head.Step(Deadlocked{"deadlock: 1 waits"}, s.head.now)
	require.Equal(t, "deadlock: 0 waits", s.head.Summary().Text)
}

// The job is as far as the furthest replica of the rank that is least far, as far as
// they say; what they have left is that of the process that is furthest.
func TestProgress(t *testing.T) {
	s := begun(t, "degrees=2,1,1", "spares=1")
	for process, st := range map[string]job.Stats{
		"0.0@2": {Sections: 7, Before: 1, Doing: &job.Doing{Point: 2, Done: 3, Total: 10}},
		"0.1@2": {Sections: 5, Doing: &job.Doing{Point: 4, Done: 1, Total: 10}},
		"1.0@2": {Sections: 6, Doing: &job.Doing{Done: 40, Total: 100}},
		"2.0@2": {},
	} {
		s.step(Said{s.from(process), &job.Message{Kind: job.KindStats, Stats: &st}})
	}
	p := s.head.Progress()
	require.Equal(t, runreport.Progress{Elapsed: p.Elapsed, Processes: 4, Alive: 4, Sections: 8, Points: 4, Done: 3, Total: 10}, p)
	s.step(Said{s.from("1.0@2"), &job.Message{Kind: job.KindStats, Stats: &job.Stats{Doing: &job.Doing{Done: 2, Total: 100}}}})
	p = s.head.Progress()
	require.EqualValues(t, 2, p.Done)
	require.EqualValues(t, 100, p.Total)
	s.commands("killed 0.1@2", "keep")
	p = s.head.Progress()
	require.Equal(t, 3, p.Alive)
	require.Equal(t, 1, p.Deaths)
	s.says("0.0", job.Doing{Done: 5})
	s.says("1.0", job.Doing{Done: 9})
	require.EqualValues(t, 5, s.head.Progress().Done, "nobody knows of how much")
}
