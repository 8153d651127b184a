package head

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
)

// says makes a process report its activity.
func (s *script) says(process string, d job.Doing) {
	p, err := job.ParseProcess(process)
	require.NoError(s.t, err)
	s.head.Step(Said{s.head.members.places[p].from, &job.Message{Kind: job.KindStats, Stats: &job.Stats{Doing: &d}}}, s.head.now)
}

// The head looks for deadlocks only among processes with recent reports, and only if no
// process is suspected.
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
	require.Equal(t, 1500*time.Millisecond, all[0].Doing.Idle, "a later report shows progress")
	require.Equal(t, 1500*time.Millisecond, all[0].Doing.Waits[0].For)
	require.Zero(t, all[1].Doing.Idle)

	s.head.now += 500 * time.Millisecond // the last report is too old
	all, _ = s.head.Waiting()
	require.Nil(t, all[0].Doing)
	require.NotNil(t, all[1].Doing)
	s.head.judge.isStopped(s.head.members.places[all[1].Process], 100*time.Millisecond)
	all, _ = s.head.Waiting()
	require.Nil(t, all[1].Doing)
	status := s.head.Status()
	require.Equal(t, 3, status.Alive)
	require.Equal(t, "runs", status.Processes[0].State)
	require.Equal(t, "stopped", status.Processes[1].State)
	require.Contains(t, status.String(), "3 of 3 processes live, 0 deaths")
	require.Contains(t, status.String(), "\n  0.0  waits in Recv from 1 for 2.0 s\n  1.0  stopped\n")

	s.head.judge.suspect(s.head.members.places[all[0].Process], all[1].Process, 1, "broken")
	_, ok = s.head.Waiting()
	require.False(t, ok, "a link is suspected")
}

// A deadlock ends the job. A second one has no effect.
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

// The progress of the job is the progress of its slowest rank, measured at that rank's fastest
// replica, as far as the replicas report it.
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
	p := s.head.Status()
	require.Equal(t, 4, p.Alive)
	require.Equal(t, runreport.Progress{Sections: 8, Points: 4, Done: 3, Total: 10}, p.Progress)
	s.step(Said{s.from("1.0@2"), &job.Message{Kind: job.KindStats, Stats: &job.Stats{Doing: &job.Doing{Done: 2, Total: 100}}}})
	p = s.head.Status()
	require.EqualValues(t, 2, p.Progress.Done)
	require.EqualValues(t, 100, p.Progress.Total)
	s.commands("killed 0.1@2", "keep")
	p = s.head.Status()
	require.Equal(t, 3, p.Alive)
	require.Equal(t, 1, p.Deaths)
	s.says("0.0", job.Doing{Done: 5})
	s.says("1.0", job.Doing{Done: 9})
	require.EqualValues(t, 5, s.head.Status().Progress.Done, "no total is known")
}

// The status shows the state of each process from its choice to its end.
func TestStatesInTheStatus(t *testing.T) {
	s := newScript(t)
	states := func() (all []string) {
		for _, p := range s.head.Status().Processes {
			all = append(all, p.Process.String()+" "+p.State)
		}
		return all
	}
	silent := make(map[detect.ID]bool)
	s.job([]string{"degrees=2,1", "hosts=3", "spares=1"}) // on nodes 2, 3, 3; the spare on 4
	s.config.Doubtful = func(n detect.ID) bool { return silent[n] }
	s.head = New(s.config)
	s.proposed, s.agents = nil, make(agentLogs)
	s.step(Begin{})
	require.Equal(t, []string{"0.0 chosen", "0.1 chosen", "1.0 chosen", "2.0 chosen"}, states())
	s.commands("keep")
	require.Equal(t, []string{"0.0 starting", "0.1 starting", "1.0 starting", "2.0 starting"}, states())
	s.commands("running")
	require.Equal(t, []string{"0.0 runs", "0.1 runs", "1.0 runs", "2.0 waiting"}, states())
	require.Equal(t, 3, s.head.Status().Alive, "a spare without a slot is not listed")

	s.says("0.0", job.Doing{State: job.StateSection})
	silent[3] = true
	require.Equal(t, []string{"0.0 section", "0.1 out of touch", "1.0 out of touch", "2.0 waiting"}, states())
	silent[3] = false
	require.Equal(t, []string{"0.0 section", "0.1 runs", "1.0 runs", "2.0 waiting"}, states())
	require.Nil(t, s.head.Status().Processes[1].Doing, "it has not reported")

	s.commands("said 0.0@2 reply first", "killed 0.1@3", "keep")
	require.Equal(t, []string{"0.0 section", "1.0 runs", "2.0 waiting"}, states())
	s.commands("settled 0.1@3", "keep")
	require.Equal(t, []string{"0.0 section", "1.0 runs", "0.1 joining"}, states())
	s.says("0.1", job.Doing{State: job.StateRuns, Arrived: 0.25}) // as a spare, the process itself reported that state
	require.Nil(t, s.head.Status().Processes[2].Doing)
	s.says("0.1", job.Doing{State: job.StateJoining, Arrived: 0.5})
	require.InDelta(t, 0.5, s.head.Status().Processes[2].Doing.Arrived, 1e-9)
	s.commands("said 1.0@3 finish", "keep")
	require.Equal(t, []string{"0.0 section", "1.0 finished", "0.1 dismissed"}, states(), "no slot needs the process now")
}

// While a process is about to be declared dead, no process counts as waiting forever.
func TestNoDeadlockBeforeAVerdict(t *testing.T) {
	for _, c := range []struct {
		name     string
		commands []string
		ok       bool
		want     int // number of processes that are examined
	}{
		{"not all have joined", []string{"keep"}, false, 0},
		{"all run", []string{"running"}, true, 3},
		{"one has exited", []string{"running", "killed 0.1@3"}, false, 0},
		{"that is kept", []string{"running", "killed 0.1@3", "keep"}, true, 2},
		{"one has failed and not exited", []string{"running", "said 0.1@3 fail error no luck"}, false, 0},
		{"one has finished", []string{"running", "said 1.0@3 finish", "keep"}, true, 3},
		{"one joins", []string{"running", "said 0.0@2 reply first", "killed 0.1@3", "keep", "settled 0.1@3", "keep"}, true, 2},
		{"the head has given up", []string{"running", "retired it is cut off"}, false, 0},
		{"the job is over", []string{"running", "signal INT"}, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript(t)
			s.commands(append([]string{"job degrees=2,1 hosts=3 spares=1"}, c.commands...)...)
			all, ok := s.head.Waiting()
			require.Equal(t, c.ok, ok)
			require.Len(t, all, c.want)
		})
	}
}
