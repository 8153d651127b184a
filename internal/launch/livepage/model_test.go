package livepage

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
)

func process(rank, replica int) job.Process { return job.Process{Rank: rank, Replica: replica} }

// aReport is a report in which 0.0 has sent that number of bytes of updates.
func aReport(sent int64) *runreport.Report {
	r := &runreport.Report{Degrees: []int{2, 1}, TaskTypes: make(map[string]runreport.TaskType)}
	r.Add(runreport.Process{Process: process(0, 0), Incarnation: 1},
		job.Stats{Sections: 4, TasksRun: 9, UpdateBytes: sent, TaskTypes: map[string]job.TaskStats{
			"ddot":   {Run: 8, Seconds: 1, SectionSeconds: 2, AloneSeconds: 3, Decision: "share"},
			"waxpby": {Run: 1, Seconds: 5, Decision: "replicate"}}})
	return r
}

func doing(p job.Process, d job.Doing) runreport.ProcessStatus {
	return runreport.ProcessStatus{Process: p, State: string(d.State), Doing: &d}
}

// The letter of a process shows its activity. If a process is absent and once lived, its
// letter shows that it is dead.
func TestLetters(t *testing.T) {
	wait := []job.Wait{{Call: "Recv"}}
	for want, p := range map[string]runreport.ProcessStatus{
		"r": doing(process(0, 0), job.Doing{State: job.StateRuns}),
		"s": doing(process(0, 0), job.Doing{State: job.StateSection, Waits: wait}),
		"w": doing(process(0, 0), job.Doing{State: job.StateSection, Waits: wait, Idle: time.Second}),
		"p": doing(process(0, 0), job.Doing{State: job.StateSafePoint, Idle: time.Minute, Waits: wait}),
		"b": doing(process(0, 0), job.Doing{State: job.StateBack}),
		"a": doing(process(0, 0), job.Doing{State: job.StateAgain, From: 3, To: 5}),
		"j": {Process: process(0, 0), State: "joining"},
		"f": {Process: process(0, 0), State: "finished"},
		"t": {Process: process(0, 0), State: "stopped", Doing: &job.Doing{}},
		"o": {Process: process(0, 0), State: "out of touch"},
		"-": {Process: process(0, 0), State: "starting"},
	} {
		require.Equal(t, want, string(letter(&p)), "%+v", p)
	}
	var m Model
	s := &runreport.Status{Degrees: []int{2, 1}, Processes: []runreport.ProcessStatus{
		doing(process(0, 1), job.Doing{State: job.StateRuns}), {Process: process(3, 0), Spare: true, State: "waiting"}}}
	m.Take(s, aReport(0))
	require.Equal(t, "-r-", m.Frame.States)
	require.Equal(t, 1, m.Frame.Spares)
	s.Processes = nil
	m.Take(s, aReport(0))
	require.Equal(t, "-x-", m.Frame.States)
}

func TestFrames(t *testing.T) {
	var m Model
	s := &runreport.Status{Degrees: []int{2, 1}, Elapsed: 1}
	r := aReport(1000)
	m.Take(s, r)
	require.Equal(t, []int64{0, 0, 0}, m.Frame.Rates, "there are no rates before the first update")
	require.Equal(t, []string{"waxpby", "ddot"}, []string{m.Frame.Kernels[0].Name, m.Frame.Kernels[1].Name}, "the kernel with the most time first")
	require.Equal(t, Kernel{Name: "ddot", Decision: "share", Run: 8, Seconds: 1, Sections: 2, Saved: 1, E: 0.75}, m.Frame.Kernels[1])
	require.Empty(t, m.Events)

	s.Elapsed = 1.5
	r = aReport(4000)
	r.Failures = []runreport.Failure{{Process: process(0, 1), At: 1.2, Cause: job.CauseSignal, Detail: "killed\nat once"}}
	m.Take(s, r)
	require.Equal(t, []int64{6000, 0, 0}, m.Frame.Rates)
	s.Elapsed = 2
	r.Replacements = []runreport.Replacement{{Process: process(0, 1), Host: "h2", Joined: 1.9, Seconds: 0.7}}
	r.Rollbacks = []runreport.Rollback{{At: 1.7, Lost: []int{1}, SafePoint: 5}}
	m.Take(s, r)
	m.Take(s, r) // without time between the two calls
	require.Equal(t, []Event{{1.2, "death", "0.1 died (signal): killed"}, {1.7, "rollback", "back to safe point 5, as ranks [1] were lost"},
		{1.9, "return", "0.1 is back, on h2, 0.700 s after its death"}}, m.Events)
	require.Equal(t, []int64{0, 0, 0}, m.Frame.Rates)

	for range 2 * Samples {
		s.Elapsed++
		m.Take(s, r)
	}
	require.Len(t, m.History, Samples)
	require.InDelta(t, s.Elapsed, m.History[Samples-1].Time, 1e-9)
	require.Equal(t, strings.Repeat("-", 3), m.History[0].States)
}

// Arrivals, departures and changes of degrees are each reported once. A process that was let go
// is not shown as dead.
func TestEventsOfHosts(t *testing.T) {
	var m Model
	s := &runreport.Status{Degrees: []int{2}, Elapsed: 1, Processes: []runreport.ProcessStatus{
		{Process: process(0, 0), State: string(job.StateRuns)}, {Process: process(0, 1), State: string(job.StateRuns)}}}
	r := aReport(1000)
	r.Joins = []runreport.Join{{Host: "h3", Slots: 2, At: 0.5}}
	r.Drains = []runreport.Drain{{Host: "h1", Reason: "intrarun drain", At: 0.7}}
	m.Take(s, r)
	require.Equal(t, "rr", m.Frame.States)
	r.Drains[0].Seconds = 0.5
	r.Failures = []runreport.Failure{{Process: process(0, 0), At: 1.5, Cause: job.CauseSignal, Detail: "killed"}}
	r.Recovery.Degrees = []runreport.DegreeChange{{At: 1.3, Process: process(0, 1), Degree: 1}, {At: 1.5, Process: process(0, 0), Degree: 0}}
	r.Processes = []runreport.Process{{Process: process(0, 1), Incarnation: 1, End: runreport.EndDropped}}
	s.Processes, s.Elapsed = s.Processes[:1], 2
	m.Take(s, r)
	m.Take(s, r)
	require.Equal(t, "r-", m.Frame.States)
	require.Equal(t, []Event{{0.5, "join", "host h3 has joined, with room for 2 processes"}, {0.7, "leave", "host h1 is to leave (intrarun drain)"},
		{1.2, "leave", "host h1 has left, 0.500 s after the notice"}, {1.3, "degree", "the number of replicas of rank 0 is 1 from here on"},
		{1.5, "death", "0.0 died (signal): killed"}}, m.Events)
}

// largeJob returns the status and the report of a job with that number of ranks.
func largeJob(ranks int) (*runreport.Status, *runreport.Report) {
	s := &runreport.Status{}
	r := &runreport.Report{TaskTypes: make(map[string]runreport.TaskType)}
	for rank := range ranks {
		s.Degrees, r.Degrees = append(s.Degrees, 2), append(r.Degrees, 2)
		for replica := range 2 {
			p := process(rank, replica)
			s.Processes = append(s.Processes, doing(p, job.Doing{State: job.StateSection, At: "solver.go:105", Section: 7}))
			st := job.Stats{Sections: 4, UpdateBytes: 5e6, TaskTypes: make(map[string]job.TaskStats)}
			for _, k := range []string{"waxpby", "ddot", "sparsemv", "pack", "unpack", "norm"} {
				st.TaskTypes[k] = job.TaskStats{Run: 100, Seconds: 2, SectionSeconds: 1.5, AloneSeconds: 2, Decision: "share"}
			}
			r.Add(runreport.Process{Process: p, Incarnation: 1}, st)
		}
	}
	return s, r
}

func BenchmarkUpdate(b *testing.B) {
	s := &Server{changed: make(chan struct{})}
	status, r := largeJob(128)
	for b.Loop() {
		status.Elapsed += Every.Seconds()
		s.Update(*status, r)
	}
}

// At the end, the page shows the end of each process.
func TestEndsOfProcesses(t *testing.T) {
	var m Model
	s := &runreport.Status{Degrees: []int{2, 1}, Alive: 3}
	for _, p := range job.Processes(s.Degrees) {
		s.Processes = append(s.Processes, doing(p, job.Doing{State: job.StateSection}))
	}
	m.Take(s, aReport(0))
	require.Equal(t, "sss", m.Frame.States)
	r := &runreport.Report{Degrees: s.Degrees, WallSeconds: 3, Processes: []runreport.Process{
		{Process: process(0, 0), End: "finished"}, {Process: process(0, 1), End: "ended"},
		{Process: process(1, 0), Incarnation: 1, End: "killed"}, {Process: process(1, 0), Incarnation: 2, End: "failed"}}}
	r.Failures = []runreport.Failure{{Process: process(1, 0)}, {Process: process(1, 0)}}
	m.End(r)
	require.Equal(t, "fex", m.Frame.States)
	require.Equal(t, 3.0, m.Frame.Time)
	require.Equal(t, 2, m.Frame.Alive)
	require.Equal(t, 2, m.Frame.Deaths)
	require.Len(t, m.Events, 2)
}
