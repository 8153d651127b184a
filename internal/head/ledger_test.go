package head

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// begun returns a job that has begun, under the control of a test.
func begun(t *testing.T, settings ...string) *script {
	s := newScript(t)
	s.job(settings)
	s.command([]string{"running"})
	return s
}

// commands runs commands, and returns the actions of the head.
func (s *script) commands(all ...string) []string {
	s.out = nil
	for _, c := range all {
		s.command(strings.Fields(c))
	}
	return s.out
}

// die ends a process with a cause, and keeps the verdict.
func (s *script) die(p job.Process, cause job.Cause) {
	m := s.head.members.places[p]
	m.ending = &ending{cause, "why"}
	s.step(Exited{m.from, exitOf(9, 0)})
	s.commands("keep")
}

func TestEndOfAJob(t *testing.T) {
	type step struct {
		process string
		cause   job.Cause // "" if the process finishes
	}
	const drained = job.Cause("drained")
	for _, c := range []struct {
		name    string
		degrees string
		steps   []step
		code    int
		text    string
		release bool
	}{
		{"nothing yet", "1", nil, ExitOK, "", false},
		{"one of two finishes", "2", []step{{"0.1", ""}}, ExitOK, "", false},
		{"all finish", "1,1", []step{{"0.0", ""}, {"1.0", ""}}, ExitOK, "", true},
		{"the survivor finishes", "2", []step{{"0.0", job.CauseSignal}, {"0.1", ""}}, ExitOK, "", true},
		{"a finished rank is not lost", "2", []step{{"0.1", ""}, {"0.1", drained}, {"0.0", job.CauseExit}}, ExitOK, "", true},
		{"a finished rank is not lost when the finished replica dies last", "2,1", []step{{"0.1", ""}, {"0.1", drained}, {"0.0", job.CauseExit}, {"0.1", job.CauseSignal}}, ExitOK, "", false},
		{"a finished rank is not lost when the finished replica dies first", "2,1", []step{{"0.1", ""}, {"0.1", drained}, {"0.1", job.CauseSignal}, {"0.0", job.CauseSignal}}, ExitOK, "", false},
		{"a finished rank is lost before its messages are received", "2,1", []step{{"0.1", ""}, {"0.0", job.CauseSignal}, {"0.1", job.CauseSignal}}, ExitLost,
			"rank 0 has lost its last replica 0.1 at 1.500 s (signal: why), after 0.0 (signal); 3 replicas of rank 0 would have saved it (-r 3 or -degrees)", false},
		{"received messages do not make a rank finished", "1,1", []step{{"0.0", drained}, {"0.0", job.CauseSignal}}, ExitLost,
			"rank 0 has lost its last replica 0.0 at 1.500 s (signal: why); 2 replicas of rank 0 would have saved it (-r 2 or -degrees)", false},
		{"last one killed", "2", []step{{"0.0", job.CauseExit}, {"0.1", job.CauseInjected}}, ExitLost,
			"rank 0 has lost its last replica 0.1 at 1.500 s (injected: why), after 0.0 (exit); 3 replicas of rank 0 would have saved it (-r 3 or -degrees)", false},
		{"last one panics", "2", []step{{"0.0", job.CauseSignal}, {"0.1", job.CausePanic}}, ExitFailed,
			"rank 0 has lost its last replica 0.1 at 1.500 s (panic: why), after 0.0 (signal)", false},
		{"last one fenced", "1,1", []step{{"1.0", job.CauseFenced}}, ExitLost,
			"rank 1 has lost its last replica 1.0 at 1.500 s (fenced: why); 2 replicas of rank 1 would have saved it (-r 2 or -degrees)", false},
		{"the first cause decides", "1,1", []step{{"1.0", job.CauseExit}, {"0.0", job.CauseSignal}}, ExitFailed,
			"rank 1 has lost its last replica 1.0 at 1.500 s (exit: why)", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := begun(t, "degrees="+c.degrees)
			s.commands("pass 1500ms")
			for _, x := range c.steps {
				p, err := job.ParseProcess(x.process)
				require.NoError(t, err)
				switch from := s.head.members.places[p].from; x.cause {
				case "":
					s.commands(fmt.Sprint("said ", from, " finish"), "keep")
				case drained:
					s.commands(fmt.Sprint("said ", from, " drained"), "keep")
				default:
					s.die(p, x.cause)
				}
			}
			sum := s.head.Summary()
			require.Equal(t, c.code, sum.Code)
			require.Equal(t, c.text, sum.Text)
			require.Equal(t, c.code, s.head.Code())
			require.Equal(t, c.release, s.state.Released)
			require.Equal(t, c.code != ExitOK, s.state.Decided)
			require.Equal(t, c.text, s.state.Text, "that is kept")
		})
	}
}

// The summary names the process whose end has ended the job, if there is one.
func TestSummaryNamesTheProcessThatEndedTheJob(t *testing.T) {
	first := func(rank, replica int) job.Endpoint {
		return job.Endpoint{Process: at(rank, replica), Incarnation: firstIncarnation}
	}
	for _, c := range []struct {
		name     string
		commands string
		code     int
		by       job.Endpoint
	}{
		{"no process yet", "killed 0.0@2", ExitOK, job.Endpoint{}},
		{"the last of a rank", "killed 0.0@2; keep; killed 1.0@3; keep; killed 0.1@3; keep", ExitLost, first(1, 0)},
		{"a process that fails", "said 1.0@3 fail error no disk; exited 1.0@3 1; keep", ExitFailed, first(1, 0)},
		{"a process with a finding", "said 0.1@3 fail finding in(x) is written", ExitFailed, first(0, 1)},
		{"a process that found a divergence", "said 0.1@3 fail divergence other tasks; keep; killed 0.0@2; keep", ExitDiverged, first(0, 1)},
		{"a divergence that the head found has no process", "said 0.0@2 finish 4; said 0.1@3 finish 5; keep", ExitDiverged, job.Endpoint{}},
		{"a signal has no process", "signal TERM; killed 1.0@3", 143, job.Endpoint{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := begun(t, "degrees=2,1", "hosts=2")
			s.commands(strings.Split(c.commands, "; ")...)
			sum := s.head.Summary()
			require.Equal(t, c.code, sum.Code, sum.Text)
			require.Equal(t, c.by, sum.By)
		})
	}
}

func TestVictimOfABrokenLink(t *testing.T) {
	for _, c := range []struct {
		degrees string
		p, q    job.Process
		want    string // "" if neither end is killed
	}{
		{"1,1", at(0, 0), at(1, 0), ""},
		{"2,1", at(0, 0), at(1, 0), "0.0"},
		{"1,2", at(1, 1), at(0, 0), "1.1"},
		{"2,2", at(0, 1), at(1, 0), "1.0"},
		{"2", at(0, 1), at(0, 0), "0.1"},
	} {
		h := begun(t, "degrees="+c.degrees).head
		for _, ends := range [][2]job.Process{{c.p, c.q}, {c.q, c.p}} {
			v := h.judge.victim(h.members.places[ends[0]], h.members.places[ends[1]])
			require.Equal(t, c.want == "", v == nil)
			if v != nil {
				require.Equal(t, c.want, v.process.String())
			}
		}
		h.members.places[c.p].role = Joiner
		require.Equal(t, c.p, h.judge.victim(h.members.places[c.p], h.members.places[c.q]).process, "a joiner without state is always the victim")
	}
}

// If one process reports broken links to several others, the head kills that process, unless it is
// the last of its rank.
func TestVictimOfSeveralBrokenLinks(t *testing.T) {
	for degrees, want := range map[string]string{"3,2": "1.0", "2,2": "1.0", "2,3": "1.0", "2,1": "0.0"} {
		h := begun(t, "degrees="+degrees).head
		places := h.members.places
		for _, other := range []job.Process{at(0, 0), at(0, 1)} {
			h.judge.suspect(places[at(1, 0)], other, firstIncarnation, "no answer")
			h.judge.suspect(places[other], at(1, 0), firstIncarnation, "no answer")
		}
		require.Equal(t, want, h.judge.victim(places[at(0, 0)], places[at(1, 0)]).process.String(), degrees)
	}
}

// A broken link between the last replicas of two ranks ends the job. If one of the ranks will
// have a second replica soon, the head waits for that, but not forever.
func TestLinkBetweenLastReplicas(t *testing.T) {
	s := begun(t, "degrees=1,1")
	s.commands("said 0.0@2 suspect 1.0", "pass 500ms", "keep")
	require.Equal(t, "the link between 0.0 and 1.0 broke (reset), and neither has another replica", s.state.Text)
	require.Equal(t, ExitLost, s.state.Code)

	s = begun(t, "degrees=2,1", "replace")
	s.commands("said 0.0@2 reply first", "killed 0.1@2", "keep", "settled 0.1@2", "keep", "said 0.0@2 suspect 1.0")
	for range 18 {
		s.commands("pass 500ms", "keep")
		require.False(t, s.state.Decided, "at %v", s.now)
	}
	for range 4 {
		s.commands("pass 500ms", "keep")
	}
	require.True(t, s.state.Decided)
}

// The head kills one of two last replicas if the job can recover without it. The decision
// about the required backup must be kept, since a successor would know no other backup.
func TestLinkIsJudgedByKeptBackups(t *testing.T) {
	s := begun(t, "degrees=1,1,1", "replace", "backup=2")
	s.commands("said 0.0@2 reply first", "said 0.0@2 reply drained 2", "said 1.0@2 reply drained 2", "said 2.0@2 reply drained 2", "quiet 5", "keep")
	s.commands("said 0.0@2 reply stored 2 rank=0", "said 1.0@2 reply stored 2 rank=0", "said 1.0@2 reply stored 2 rank=1",
		"said 2.0@2 reply stored 2 rank=1", "said 2.0@2 reply stored 2 rank=2", "said 0.0@2 reply stored 2 rank=2")
	require.Equal(t, "recovery complete 2", describeEntry(s.proposed[0]))
	s.commands("said 0.0@2 suspect 1.0")
	require.Empty(t, s.commands("pass 500ms"))
	s.commands("keep")
	require.Equal(t, []string{"detail: 1.0 is fenced: the link between 0.0 and 1.0 broke: reset", "kill 1.0@2 SIGKILL"}, s.commands("pass 500ms"))
}

// While a host may be about to be declared lost, the head kills no process because of a
// link to that host. It also kills no process because of a link that was restored.
func TestLinkToAHostThatMayBeLost(t *testing.T) {
	s := begun(t, "degrees=2,2", "hosts=3")
	doubtful := true
	s.head.config.Doubtful = func(id detect.ID) bool { return doubtful && id == 4 }
	s.commands("said 0.0@2 suspect 1.1")
	require.Empty(t, s.commands("pass 500ms", "pass 500ms", "pass 500ms"))
	doubtful = false
	require.Equal(t, []string{"detail: 1.1 is fenced: the link between 0.0 and 1.1 broke: reset", "kill 1.1@4 SIGKILL"}, s.commands("pass 500ms"))
}

// The arbiter decides on the loss of a host. Before that, the head may have seen a death on
// the host whose verdict is not decided yet. Then the verdict on that death becomes part of
// the loss, at the same position in every list of verdicts.
func TestLossOfAHostOvertakesADeath(t *testing.T) {
	s := begun(t, "degrees=3,3", "hosts=3")
	s.commands("killed 0.0@2", "killed 0.1@3", "lost 3", "keep")
	var verdicts []string
	for _, v := range s.head.state.Verdicts {
		verdicts = append(verdicts, fmt.Sprint(v.Epoch, " ", v.Process, " ", v.Cause))
	}
	require.Equal(t, []string{"1 0.1 host", "2 1.0 host", "3 0.0 signal"}, verdicts)
	require.Equal(t, s.state.Verdicts, s.head.state.Verdicts)
	require.Equal(t, []string{"0.1", "1.0", "0.0"}, failures(s.head))
}

func failures(h *Head) (all []string) {
	for _, f := range h.Summary().Failures {
		all = append(all, f.Process.String())
	}
	return all
}

// A process reports that it has handled a verdict. The report counts for the verdict that it
// names, even if its other fields are wrong.
func TestHandledVerdicts(t *testing.T) {
	s := begun(t, "degrees=2,2")
	s.commands("pass 1s", "killed 0.1@2", "keep", "pass 1s", "killed 1.1@2", "keep", "pass 1h")
	for _, epoch := range []uint64{2, 0, 3, 1 << 63} {
		s.step(Said{From{2, at(0, 0), 1}, &job.Message{Kind: job.KindHandled, Epoch: epoch}})
	}
	f := s.head.Summary().Failures
	require.Empty(t, f[0].Handled)
	require.Equal(t, map[job.Process]float64{at(0, 0): 3602}, f[1].Handled)
	s.step(Said{From{2, at(0, 0), 1}, &job.Message{Kind: job.KindHandled, Epoch: 1, Ago: 2 * time.Hour}})
	require.Equal(t, map[job.Process]float64{at(0, 0): 1}, s.head.Summary().Failures[0].Handled, "the largest age")
}

// A successor knows from the log which processes have finished, and receives their counts again. It
// compares the counts only once it has those of all finished processes.
func TestCountsOfTheEndAreCompared(t *testing.T) {
	s := begun(t, "degrees=2,1", "hosts=3")
	s.commands("said 0.0@2 finish 898", "said 0.1@3 finish 898", "keep", "succeed 2")
	s.commands("joined 0.0@2", "said 0.0@2 finish 898", "keep")
	require.False(t, s.state.Decided)
	s.commands("said 0.1@3 finish 898", "keep")
	require.False(t, s.state.Decided)

	s.commands("succeed 3")
	s.commands("said 0.0@2 finish 898", "said 0.1@3 finish 897", "keep")
	require.Equal(t, ExitDiverged, s.state.Code)
	require.Contains(t, s.state.Text, "divergence of 0.1 and 0.0")
}

// The reason that a failing program reports is printed, and decides the outcome.
func TestFailureDecidesTheOutcome(t *testing.T) {
	for _, c := range []struct {
		kind  job.FailureKind
		cause job.Cause
		code  int
		text  string
	}{
		{job.FailError, job.CauseExit, ExitOK, ""},
		{job.FailPanic, job.CausePanic, ExitOK, ""},
		{job.FailDivergence, job.CauseExit, ExitDiverged, "divergence, found by 0.1: it broke"},
		{job.FailFinding, job.CauseExit, ExitFailed, "finding of 0.1: it broke"},
		{job.FailRefused, job.CauseExit, ExitRefused, "refused by 0.1: it broke"},
	} {
		s := begun(t, "degrees=2,1")
		out := s.commands("said 0.1@2 fail " + string(c.kind) + " it broke")
		require.Equal(t, "note: 0.1: "+string(c.kind)+": it broke", out[0])
		require.Equal(t, []string{"kill 0.1@2 SIGKILL"}, slices.DeleteFunc(s.commands("pass 2s"), func(l string) bool { return !strings.HasPrefix(l, "kill") }))
		s.commands("exited 0.1@2 1", "keep")
		require.Equal(t, c.code, s.state.Code)
		require.Equal(t, c.text, s.state.Text)
		require.Equal(t, c.cause, s.state.Verdicts[0].Cause)
		require.Equal(t, "failed", s.head.members.places[at(0, 1)].end)
	}
}

// After the kernel has killed a process for want of memory, the head does not advise more replicas.
// If a shell limit was the cause of a kill, the head names the limit, not only the signal.
func TestAdviceAfterAKill(t *testing.T) {
	s := begun(t, "degrees=1")
	s.commands("starved 0.0@2 in cgroup /jobs/7, whose limit is 512 MB", "keep")
	require.Equal(t, ExitLost, s.state.Code)
	require.Contains(t, s.state.Text, "(signal: killed by the kernel for want of memory: in cgroup /jobs/7, whose limit is 512 MB); more replicas would need more memory still: give the job more of it, or more hosts (-hosts)")
	require.NotContains(t, s.state.Text, "would have saved it")
	m := &member{exit: &Exit{Status: syscall.WaitStatus(syscall.SIGXFSZ)}}
	require.Equal(t, ending{job.CauseSignal, "killed by SIGXFSZ, since a file became larger than the limit on file sizes: raise it (ulimit -f)"}, m.cause())
}

// A head that retires reports no end that rests on an undecided death: only its successor
// knows whether that death was decided.
func TestReportOfARetiredHead(t *testing.T) {
	s := begun(t, "degrees=3", "hosts=3")
	s.commands("killed 0.0@2", "killed 0.1@3", "keep 1", "retired another one has taken its place")
	ends := make(map[job.Process]string)
	for _, p := range s.head.Summary().Processes {
		ends[p.Process.Process] = p.End
	}
	require.Equal(t, map[job.Process]string{at(0, 0): "killed", at(0, 1): "left", at(0, 2): "left"}, ends)
	require.Equal(t, []string{"0.0"}, failures(s.head))
	require.True(t, s.head.Ended())
	require.True(t, s.head.Summary().Retired)
	require.Empty(t, s.commands("killed 0.2@4", "keep"), "it does nothing more")
}

// A head without successors that may no longer decide ends its job.
func TestUnreplicatedHeadRetires(t *testing.T) {
	s := begun(t, "degrees=2", "hosts=2")
	s.commands("retired it is cut off", "keep")
	require.Equal(t, "the head gives up: it is cut off", s.state.Text)
	require.Equal(t, ExitLost, s.state.Code)
	require.False(t, s.head.Ended(), "the head decides before its processes have exited")
}

// The text of a decision fits into an entry.
func TestLongTexts(t *testing.T) {
	s := begun(t, "degrees=2")
	m := s.head.members.places[at(0, 1)]
	m.ending = &ending{job.CauseExit, strings.Repeat("<", 1<<20)}
	s.step(Exited{m.from, exitOf(0, 1)})
	for _, e := range s.proposed {
		_, err := e.Encode()
		require.NoError(t, err)
	}
}

// An entry that the arbiter delivers twice counts once.
func TestEntriesOfTheArbiter(t *testing.T) {
	s := begun(t, "degrees=2,2", "hosts=3")
	s.commands("killed 0.0@2")
	for _, k := range []decision.Kind{decision.Added, decision.Removed} {
		e := decision.Entry{Kind: k, Node: 3}
		s.state.Apply(e)
		s.step(Committed{e})
	}
	require.Len(t, s.head.asked, 1, "the entry is not one of the head's own")
	s.commands("lost 3")
	n := len(s.head.state.Verdicts)
	s.commands("lost 3")
	require.Len(t, s.head.state.Verdicts, n)
}
