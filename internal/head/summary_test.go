package head

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// Every head knows the same facts for the report. After each line of each script, a successor would
// report the same kept facts as the present head.
func TestSuccessorsReportTheSame(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	compared := 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		s := newScript(t)
		line := 0
		s.after = func() {
			line++
			if s.head.state.Applied != s.state.Applied || s.head.retired {
				return // the head has not received all entries that are kept, or has retired
			}
			compared++
			next := *s
			next.succeed(s.config.Nodes[0].ID)
			require.Equal(t, kept(s.head), kept(next.head), "%s, command %d", name, line)
		}
		s.run(string(text))
	}
	require.Greater(t, compared, 300)
}

// kept returns the part of a summary that rests on kept decisions.
func kept(h *Head) string {
	s := h.Summary()
	var b strings.Builder
	for _, f := range s.Failures {
		fmt.Fprintf(&b, "failure %d of %v, %s at %v\n", f.Epoch, f.Process, f.Cause, f.At)
	}
	fmt.Fprintf(&b, "kills %+v\nbackups %+v\nreplaced %+v\nback %+v\nrestart %+v\n",
		s.Kills, h.state.Backups, s.Recovery.Replacements, s.Recovery.Rollbacks, s.Restart)
	if s.Files != nil {
		fmt.Fprintf(&b, "files %+v\n", *s.Files)
	}
	if h.state.Decided {
		fmt.Fprintf(&b, "code %d %s\n", s.Code, s.Text)
	}
	return b.String()
}

// The evidence for the loss of a host names the node that last exchanged beats with it, and
// the time of that exchange.
func TestEvidence(t *testing.T) {
	s := begun(t, "degrees=2", "hosts=3")
	s.commands("pass 10s", "suspected 3", "pass 200ms", "disconnected 3 connection reset", "lost 3")
	f := s.head.Summary().Failures[0]
	e := f.Evidence
	require.Equal(t, "the head", e.LastSeenBy)
	require.Equal(t, "connection reset", e.Connection)
	require.InDelta(t, 10, e.Suspected, 1e-9)
	require.InDelta(t, 10.2, e.Declared, 1e-9)
	require.InDelta(t, 9.5, e.LastSeen, 1e-9)
	require.Equal(t, []runreport.Observation{{Observer: "the head", Silent: 0.7, Limit: 0.65}, {Observer: "h1", Silent: 0.71, Limit: 0.65}}, e.Observers)
	require.Contains(t, f.Detail, "host h2 has not been heard from for 0.7 s")

	// The summary of a successor uses the names that are valid in its time.
	s.commands("succeed 2")
	e = s.head.Summary().Failures[0].Evidence
	require.Equal(t, "the first head", e.LastSeenBy)
	require.Equal(t, "the head", e.Observers[1].Observer)
	require.InDelta(t, 10.2, e.Declared, 1e-9)
}

// The head can report a loss without testimonies, for example of an agent that was never in
// touch.
func TestLossWithoutTestimonies(t *testing.T) {
	s := begun(t, "degrees=2", "hosts=3")
	e := decision.Entry{Kind: decision.Lost, Node: 3, Text: "silent"}
	s.state.Apply(e)
	s.step(Committed{e})
	require.Equal(t, []string{"0.1"}, failures(s.head))
}

// The summary describes the ends of the processes in the words of the report.
func TestEndsOfProcesses(t *testing.T) {
	s := begun(t, "degrees=7", "hosts=3", "kill=0.1@1s")
	s.commands("pass 1s", "keep", "killed 0.1@3", "killed 0.2@4", "exited 0.3@2 1", "stopped 0.4@3 2s", "killed 0.4@3",
		"said 0.5@4 fail error no luck", "exited 0.5@4 1", "keep", "lost 2", "keep")
	ends := make(map[string]string)
	for _, p := range s.head.Summary().Processes {
		ends[p.Process.Process.String()] = p.End + ", " + p.Status
	}
	require.Equal(t, map[string]string{"0.0": "lost, ", "0.1": "killed, signal: killed", "0.2": "killed, signal: killed", "0.3": "exited, exit status 1",
		"0.4": "fenced, signal: killed", "0.5": "failed, exit status 1", "0.6": "lost, "}, ends)
	causes := make(map[string]job.Cause)
	for _, f := range s.head.Summary().Failures {
		causes[f.Process.String()] = f.Cause
	}
	require.Equal(t, map[string]job.Cause{"0.0": job.CauseHost, "0.1": job.CauseInjected, "0.2": job.CauseSignal, "0.3": job.CauseExit,
		"0.4": job.CauseFenced, "0.5": job.CauseExit, "0.6": job.CauseHost}, causes)
	require.Equal(t, []runreport.Kill{{Process: at(0, 1), When: "1s", Fired: true}}, s.head.Summary().Kills)
}

// The report leaves out a process that was never started, and a job without started
// processes has no report.
func TestNoReportOfUnstartedProcesses(t *testing.T) {
	s := newScript(t)
	s.commands("job degrees=2", "keep", "failed 0.0@2 no memory", "keep")
	sum := s.head.Summary()
	require.False(t, sum.Started)
	require.Empty(t, sum.Processes)
	require.Equal(t, ExitRefused, sum.Code)
	require.Equal(t, "no memory", sum.Text)
	s.commands("started 0.1@2")
	require.True(t, s.head.Summary().Started, "the other one was")
}

// At its end a job reports once which requests it never carried out.
func TestUnmetRequestsAreReported(t *testing.T) {
	const point = "because the program reached no safe point (intra.SafePoint)"
	for _, c := range []struct {
		settings string
		commands []string
		want     []string
	}{
		{"degrees=2 kill=0.1@task:9 kill=0.0@1s", []string{"pass 1s", "keep", "killed 0.0@2", "keep"}, []string{"warn: warning: -kill 0.1@task:9 was never reached"}},
		{"degrees=2 replace", nil, []string{"warn: warning: -replace had no effect, " + point}},
		{"degrees=2 replace", []string{"killed 0.0@2", "keep"}, []string{"warn: warning: no process could be replaced, " + point}},
		{"degrees=2 replace", []string{"said 0.1@2 reply first"}, nil},
		{"degrees=2 replace backup=2 spares=1", nil, []string{"warn: warning: -replace, -spares and -backup had no effect, " + point}},
		{"degrees=2 spares=1 backup=2", []string{"killed 0.0@2", "keep"},
			[]string{"warn: warning: no process could be replaced, " + point, "warn: warning: -backup had no effect, " + point}},
	} {
		s := begun(t, strings.Fields(c.settings)...)
		s.commands(c.commands...)
		for _, f := range s.known() {
			if m := s.head.members.byAgent[f]; m.role != Spare && m.state.there() {
				s.about("said", f, []string{"finish"})
			}
		}
		s.commands("keep")
		require.True(t, s.state.Released, c.settings)
		require.Equal(t, c.want, s.commands("conclude"), "%s: %v", c.settings, c.commands)
	}
	s := begun(t, "degrees=2", "kill=0.1@task:9")
	require.Empty(t, s.commands("conclude"), "the job goes on")
}

// A job that ended badly and has a set of files reports how to continue it. A head that has
// retired does not report that.
func TestFailedJobNamesItsFiles(t *testing.T) {
	files := func() *script {
		s := newScript(t)
		s.commands("job degrees=1,1 hosts=3 files=2", "keep", "started 0.0@2", "started 1.0@3", "joined 0.0@2", "joined 1.0@3", "opened write", "keep",
			"said 0.0@2 reply drained 2", "said 1.0@3 reply drained 2", "quiet 5", "keep",
			"said 0.0@2 reply saved set=1", "said 1.0@3 reply saved set=1", "keep", "published 1 2", "keep")
		return s
	}
	const want = "warn: the state at safe point 2 is on disk: -restart files continues from there"
	s := files()
	s.commands("killed 1.0@3", "keep")
	require.Contains(t, s.commands("conclude"), want)
	s = files()
	s.commands("signal INT", "keep")
	require.Contains(t, s.commands("conclude"), want)
	s = files()
	s.commands("retired another one has taken its place")
	require.NotContains(t, s.commands("conclude"), want)
	s = files()
	s.commands("said 0.0@2 fail divergence they differ", "keep")
	require.NotContains(t, s.commands("conclude"), want, "the restarted job would diverge again")
	require.Equal(t, []runreport.FileSet{{Set: 1, Point: 2, Bytes: 16}}, s.head.Summary().Files.Sets)
}

// A successor knows when all processes had joined, as a time of its own clock.
func TestSuccessorKnowsWhenAllJoined(t *testing.T) {
	s := newScript(t)
	s.commands("job degrees=2 hosts=3")
	_, begun := s.head.Joined()
	require.False(t, begun)
	s.commands("pass 5s", "running", "pass 3s")
	s.step(Tick{})
	joined, begun := s.head.Joined()
	require.True(t, begun)
	require.Equal(t, 5*time.Second, joined)
	require.Equal(t, 3*time.Second, s.head.elapsed())
	h, _ := Restore(s.config, Succession{State: s.state.Clone(), Joined: time.Second, Term: 1}, 9*time.Second)
	require.Equal(t, 8*time.Second, h.elapsed())
	h, _ = Restore(s.config, Succession{State: s.state.Clone(), Joined: time.Minute, Term: 1}, 9*time.Second)
	require.Zero(t, h.elapsed(), "not in the future")
}

// The deadline of the head is the time of its next timer. After the end of a job there is
// none.
func TestDeadlines(t *testing.T) {
	s := begun(t, "degrees=2", "kill=0.1@3s")
	due := func() time.Duration {
		at, ok := s.head.Deadline()
		require.True(t, ok)
		return at
	}
	require.Equal(t, 3*time.Second, due(), "the kill is due before the warning about missing processes")
	s.commands("pass 1s", "unheard 0.0@2 end EOF")
	require.Equal(t, 3*time.Second, due())
	require.Equal(t, []string{"detail: 0.0 is fenced: stopped for 1.5 s while 0.1 was running", "kill 0.0@2 SIGKILL"}, s.commands("stopped 0.0@2 1500ms"))
	s.commands("pass 2s", "keep", "killed 0.0@2", "killed 0.1@2", "keep")
	for range 20 {
		at, ok := s.head.Deadline()
		if !ok {
			break
		}
		s.now = max(s.now, at)
		for _, a := range s.head.Step(Tick{}, s.now) {
			require.NotContains(t, describe(a), "kill", "all processes have exited")
		}
	}
	_, ok := s.head.Deadline()
	require.False(t, ok)
}

// The head survives a clock that is set back.
func TestClockStepsBack(t *testing.T) {
	s := begun(t, "degrees=2")
	s.commands("pass 10s")
	s.now = 0
	s.commands("killed 0.1@2", "keep")
	require.Equal(t, 10*time.Second, s.state.Verdicts[0].At)
}

// The summary contains the costs of recovery as far as this head has received reports of
// them.
func TestCostsOfBackups(t *testing.T) {
	s := begun(t, "degrees=1,1", "replace", "backup=2")
	require.Equal(t, &runreport.Backups{Every: "2"}, s.head.Summary().Recovery.Backup)
	for _, of := range []job.Process{at(0, 0), at(1, 0)} {
		for _, bytes := range []int64{5000, 0} { // the second value is for a copy that came from another process
			s.step(Said{s.head.members.places[of].from, &job.Message{Kind: job.KindReply, Reply: &job.Reply{Kind: job.ReplyStored, Number: 2, Rank: of.Rank, Bytes: bytes, Seconds: 0.5}}})
		}
	}
	b := s.head.Summary().Recovery.Backup
	require.EqualValues(t, 10_000, b.Bytes)
	require.InDelta(t, 0.5, b.Seconds, 1e-9, "two ranks copied at the same time")
	require.Equal(t, runreport.Recovery{Replacements: []runreport.Replacement{}, Drains: []runreport.Drain{}, Joins: []runreport.Join{}, Degrees: []runreport.DegreeChange{}, Rollbacks: []runreport.Rollback{}}, begun(t, "degrees=2").head.Summary().Recovery,
		"a job without backups has no costs")
	require.Equal(t, recovery.Policy{Every: 2}, s.config.Backup)
}

// -fault weibull chooses among all slots of the job. If the chosen slot has no live process, the
// failure kills none, and is not repeated. The report lists only the kills that ended a process.
func TestWeibullKillsOfEmptySlots(t *testing.T) {
	s := newScript(t)
	s.job([]string{"degrees=2", "hosts=3"})
	s.config.Weibull = &Weibull{Shape: 1, MTBF: time.Second, Seed: 9}
	s.head = New(s.config)
	s.proposed, s.agents = nil, make(agentLogs)
	s.step(Begin{})
	s.commands("running")
	all := take(*s.config.Weibull, 3)
	s.now = all[0].at
	s.step(Tick{})
	s.commands("keep")
	first := s.state.Injections[0].Process
	require.Equal(t, "killed by -fault weibull at "+fmt.Sprintf("%.3f", all[0].at.Seconds())+" s, number 1 of seed 9", s.head.members.places[first].ending.detail)
	s.now = all[1].at // the first victim is dying, and no longer counts as live
	s.step(Tick{})
	s.commands("keep")
	require.NotEqual(t, first, s.state.Injections[1].Process)
	s.now = all[2].at // both victims are dying
	s.step(Tick{})
	s.commands("keep")
	require.Len(t, s.state.Injections, 3)
	require.Zero(t, s.state.Injections[2].Incarnation)
	require.Len(t, s.head.Summary().Weibull.Injections, 2)
	for range 2 { // a successor, and its successor, continue the count
		s.commands("succeed 3")
		at, ok := s.head.Deadline()
		require.True(t, ok)
		require.Equal(t, take(*s.config.Weibull, 4)[3].at, at)
		require.Len(t, s.head.Summary().Weibull.Injections, 2)
	}
}

// Two slots wait for a process, and there is one spare: it gets one of them.
func TestOneSpareForTwoSlots(t *testing.T) {
	s := begun(t, "degrees=2,2", "hosts=3", "spares=1")
	s.commands("said 0.0@2 reply first", "killed 0.1@3", "killed 1.1@4", "keep", "settled 1.1@4", "settled 0.1@3", "keep")
	var got []string
	for p, place := range s.state.Places {
		if place.Incarnation > 1 {
			got = append(got, p.String())
		}
	}
	require.Len(t, got, 1, "%v", got)
	require.Equal(t, decision.Dead, s.state.Spares[job.Process{Rank: 2}].Status, "it has a slot, and is no spare any more")
}

// Late events change nothing, such as the contents of folders after a signal, or an end of a
// job that has already ended.
func TestLateEventsAreIgnored(t *testing.T) {
	s := newScript(t)
	s.commands("job degrees=1 restart", "keep", "started 0.0@2", "joined 0.0@2", "keep", "signal INT")
	for _, l := range s.commands("opened no set can be used", "opened restart", "retired it is cut off", "keep") {
		require.NotContains(t, l, "setup")
		require.NotContains(t, l, "propose opened")
	}
	require.Equal(t, 130, s.state.Code)
	require.Nil(t, s.state.Opened)
	s.commands("killed 0.0@2", "settled 0.0@2")
	require.True(t, s.head.Ended())
}

// The job does not end before its files are complete: the user may want to continue from them.
func TestEndWaitsForFiles(t *testing.T) {
	s := newScript(t)
	s.commands("job degrees=1,1 files=2", "running", "opened write", "keep",
		"said 0.0@2 reply drained 2", "said 1.0@2 reply drained 2", "quiet 5", "keep",
		"said 0.0@2 reply saved set=1", "said 1.0@2 reply saved set=1", "keep",
		"killed 1.0@2", "keep", "killed 0.0@2", "keep", "settled 0.0@2", "settled 1.0@2")
	require.Equal(t, ExitLost, s.state.Code)
	require.False(t, s.head.Ended(), "the set is being made complete")
	s.commands("published 1 2", "keep")
	require.True(t, s.head.Ended())
	require.Contains(t, s.commands("conclude"), "warn: the state at safe point 2 is on disk: -restart files continues from there")
}

// A successor that finds a rank lost names the process that died last, as the earlier head
// would have. The outcome of the job depends on that process.
func TestSuccessorNamesTheLastDeath(t *testing.T) {
	for _, c := range []struct {
		name, first, last string
		code              int
		text              string
	}{
		{"the last was killed", "exited 0.0@2 1", "killed 0.1@3", ExitLost, "rank 0 has lost its last replica 0.1 "},
		{"the last ended by itself", "killed 0.0@2", "exited 0.1@3 1", ExitFailed, "rank 0 has lost its last replica 0.1 "},
		{"the order of slots does not matter", "killed 0.1@3", "exited 0.0@2 1", ExitFailed, "rank 0 has lost its last replica 0.0 "},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := begun(t, "degrees=2,1", "hosts=3")
			s.commands(c.first, c.last, "unheard-commits")
			h, _ := Restore(s.config, Succession{State: s.state.Clone(), Term: 1}, s.now)
			got := h.Summary()
			require.Contains(t, got.Text, c.text)
			require.Equal(t, c.code, got.Code)
		})
	}
}
