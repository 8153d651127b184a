package head

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
)

// killed returns the processes that the head has killed, according to a list of its
// actions.
func killed(lines []string) (all []string) {
	for _, l := range lines {
		if who, ok := strings.CutPrefix(l, "kill "); ok {
			who, _, _ = strings.Cut(who, "@")
			all = append(all, who)
		}
	}
	return all
}

// The head kills a process that has computed a wrong result if its rank can continue without
// it.
func TestProcessWithAWrongResultIsKilled(t *testing.T) {
	for _, c := range []struct {
		name, job string
		before    []string
		said      string
		want      []string
	}{
		{"another replica goes on", "degrees=2", nil, "0.0@2 stats 0.1#1", []string{"0.1"}},
		{"the process reports it itself", "degrees=2", nil, "0.1@2 stats 0.1#1", []string{"0.1"}},
		{"the only replica", "degrees=1,1", nil, "0.0@2 stats 0.0#1", nil},
		{"the only replica, which cannot continue", "degrees=1,1", nil, "0.0@2 stats 0.0#1!", []string{"0.0"}},
		{"another process reports that it cannot continue", "degrees=1,1", nil, "1.0@2 stats 0.0#1!", nil},
		{"both replicas", "degrees=2", nil, "0.0@2 stats 0.0#1 0.1#1", []string{"0.0"}},
		{"two of three replicas, in turn", "degrees=3", nil, "0.0@2 stats 0.0#1 0.1#1", []string{"0.0", "0.1"}},
		{"the other is dead", "degrees=2", []string{"killed 0.0@2", "keep"}, "0.1@2 stats 0.1#1", nil},
		{"the other is gone", "degrees=2", []string{"killed 0.0@2"}, "0.1@2 stats 0.1#1", nil},
		{"the other is about to die", "degrees=2", []string{"said 0.0@2 fail error no luck"}, "0.1@2 stats 0.1#1", nil},
		{"the other has finished", "degrees=2", []string{"said 0.0@2 finish", "keep"}, "0.1@2 stats 0.1#1", []string{"0.1"}},
		{"the other has no state yet", "degrees=2,1 hosts=3 spares=1",
			[]string{"said 0.0@2 reply first", "killed 0.1@3", "keep", "settled 0.1@3", "keep"}, "0.0@2 stats 0.0#1", nil},
		{"it was killed before", "degrees=2", []string{"stopped 0.1@2 2s"}, "0.0@2 stats 0.1#1", nil},
		{"all have finished", "degrees=2", []string{"said 0.0@2 finish", "said 0.1@2 finish", "keep"}, "0.0@2 stats 0.1#1", nil},
		{"an earlier incarnation", "degrees=2", nil, "0.0@2 stats 0.1#0", nil},
		{"an incarnation given by a rollback", "degrees=2", nil, "0.0@2 stats 0.1#2", []string{"0.1"}},
		{"no process of the job", "degrees=2", nil, "0.0@2 stats 7.0#1", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := begun(t, strings.Fields(c.job+" verify")...)
			s.commands(c.before...)
			require.Equal(t, c.want, killed(s.commands("said "+c.said)))
		})
	}
}

// The last replica of a rank continues although it is blamed. If a joiner of that rank is
// blamed too, it also continues: neither is known to be sound.
func TestBlamedLastReplicaAndJoinerContinue(t *testing.T) {
	for _, first := range []bool{false, true} {
		s := begun(t, "degrees=2,1", "replace", "verify")
		s.commands("said 0.0@2 reply first", "said 1.0@2 reply first", "killed 0.1@2", "keep", "settled 0.1@2", "keep")
		if first {
			require.Empty(t, killed(s.commands("said 0.0@2 stats 0.0#1")))
		}
		s.commands("started 0.1#2@2", "joined 0.1#2@2", "said 0.0@2 reply linked of=0.1#2", "said 1.0@2 reply linked of=0.1#2",
			"said 0.1#2@2 reply linked of=0.0", "said 0.1#2@2 reply linked of=1.0", "said 0.0@2 reply copied of=0.1#2", "keep",
			"said 0.0@2 reply count 3 round=1", "said 1.0@2 reply count 2 round=1", "keep", "said 0.0@2 reply drained 4", "said 1.0@2 reply drained 4", "quiet 17",
			"said 0.1#2@2 reply joined 4", "quiet 0", "keep")
		require.Equal(t, running, s.head.members.places[at(0, 1)].state)
		want := []string{"0.1#2"}
		if first {
			want = nil
		}
		require.Equal(t, want, killed(s.commands("said 0.0@2 stats 0.1#2")), "the other one was convicted: %v", first)
	}
}

// The user gets one warning of a blamed process, no matter how many reports arrive and which
// processes send them. A report that blames no process gives no warning.
func TestBlameIsReportedOnce(t *testing.T) {
	s := begun(t, "degrees=3", "hosts=3", "verify")
	reports := func(commands ...string) (n int) {
		for _, l := range s.commands(commands...) {
			if strings.Contains(l, "has computed a wrong result") {
				n++
			}
		}
		return n
	}
	require.Equal(t, 1, reports("said 0.0@2 stats 0.1#1", "said 0.1@3 stats 0.1#1", "said 0.2@4 stats 0.1#1"))
	require.Equal(t, 1, reports("said 0.0@2 stats 0.1#1 0.2#1"))
	require.Zero(t, reports("said 0.0@2 stats 0.1#2", "said 0.0@2 stats 7.0#1"))
	require.Len(t, s.head.Summary().SDC.Blamed, 2)
}

// The report names a process that sent a wrong message, even after its death, and after a
// joiner has begun to replace it. It does not blame the joiner.
func TestBlameForAMessageOutlivesTheProcess(t *testing.T) {
	for _, replaced := range []bool{false, true} {
		s := begun(t, "degrees=2,1", "replace", "verify")
		s.commands("said 0.0@2 reply first", "said 1.0@2 reply first", "killed 0.1@2", "keep")
		if replaced {
			s.commands("settled 0.1@2", "keep", "started 0.1#2@2", "joined 0.1#2@2")
			require.EqualValues(t, 2, s.head.members.places[at(0, 1)].incarnation)
		}
		s.out = nil
		s.step(Said{s.from("0.0@2"), &job.Message{Kind: job.KindStats, Stats: &job.Stats{Corruption: &job.Corruption{Blames: []job.Blame{
			{Process: at(0, 1), Incarnation: 1, Core: -1, Task: -1, Message: "message 7 to rank 1"}}}}}})
		require.Empty(t, killed(s.out))
		require.Equal(t, []runreport.Blamed{{Process: at(0, 1), Incarnation: 1, Core: -1, Host: "h1", Task: -1, Message: "message 7 to rank 1"}},
			s.head.Summary().SDC.Blamed)
	}
}

// The report counts the comparisons of all replicas. If a difference blames no process, all
// replicas of the rank have found it, and it counts once. A blamed process knows best for how long
// it has erred, so its own report of that time counts.
func TestCorruptionInTheReport(t *testing.T) {
	s := begun(t, "degrees=2,1", "hosts=3", "verify")
	require.Equal(t, &runreport.Corruption{Blamed: []runreport.Blamed{}}, s.head.Summary().SDC)
	says := func(process string, c job.Corruption) {
		s.step(Said{s.from(process), &job.Message{Kind: job.KindStats, Stats: &job.Stats{Corruption: &c}}})
	}
	of := func(seconds float64) []job.Blame {
		return []job.Blame{{Process: at(0, 1), Incarnation: 1, Core: 5, Section: 3, Task: 7, Kernel: "pkg.f", Seconds: seconds}}
	}
	says("0.0@2", job.Corruption{Compared: 10, Differed: 2, Repaired: 1, Undecided: true, Blames: of(0.5)})
	says("0.1@3", job.Corruption{Compared: 5, Differed: 1, Undecided: true, Blames: of(2.5)})
	says("1.0@3", job.Corruption{Compared: 7, Differed: 1, Repaired: 1})
	says("0.0@2", job.Corruption{Compared: 11, Differed: 2, Repaired: 1, Undecided: true, Blames: of(0.75)}) // replaces its earlier report
	require.Equal(t, &runreport.Corruption{Compared: 24, Differed: 5, Repaired: 2, Latency: 2.5, Blamed: []runreport.Blamed{
		{Process: at(0, 1), Incarnation: 1, Core: 5, Host: "h2", Task: 7, Section: 3, Kernel: "pkg.f", Latency: 2.5}}}, s.head.Summary().SDC)
	require.Nil(t, begun(t, "degrees=2").head.Summary().SDC, "a job without comparisons reports none")
}

// Requested bit flips belong to the process that the request names, and not to its
// replacement. At the end the head reports the flips that did not happen. It does not report
// random flips, which need not happen.
func TestFlips(t *testing.T) {
	first, second := job.Flip{Process: at(0, 1), Point: job.FlipTask, Count: 4, Bit: 2}, job.Flip{Process: at(0, 0), Point: job.FlipTask, Count: 9, Bit: job.AnyBit}
	random := job.Flip{Process: at(0, 1), Rate: 0.01}
	s := newScript(t)
	s.job([]string{"degrees=2", "replace"})
	s.config.Flips = []job.Flip{first, second, random}
	s.head = New(s.config)
	s.proposed, s.agents = nil, make(agentLogs)
	s.step(Begin{})
	s.commands("running", "said 0.0@2 reply first", "killed 0.1@2", "keep", "settled 0.1@2", "keep")
	h := s.head
	require.Equal(t, []job.Flip{second}, h.members.flips(h.members.places[at(0, 0)]))
	require.EqualValues(t, 2, h.members.places[at(0, 1)].incarnation)
	require.Empty(t, h.members.flips(h.members.places[at(0, 1)]))
	require.Equal(t, []job.Flip{first, random}, h.members.flips(h.members.holder(at(0, 1), 1)))

	s.step(Said{s.from("0.1@2"), &job.Message{Kind: job.KindStats, Stats: &job.Stats{Flipped: []job.Flip{first}}}}) // the last message of the process
	s.commands("signal INT", "keep")
	require.Equal(t, []runreport.Flip{{Spec: first.String(), Fired: true}, {Spec: second.String()}, {Spec: random.String()}}, h.Summary().Flips)
	var warnings []string
	for _, l := range s.commands("conclude") {
		if strings.Contains(l, "-fault") {
			warnings = append(warnings, l)
		}
	}
	require.Equal(t, []string{"warn: warning: -fault flip:" + second.String() + " was never reached"}, warnings)
}

// states makes a process report its comparison of states, and returns the actions of the
// head.
func (s *script) states(process string, c job.Corruption) []string {
	s.out = nil
	s.step(Said{s.from(process), &job.Message{Kind: job.KindStats, Stats: &job.Stats{Corruption: &c}}})
	return s.out
}

// If the replicas of a rank have different states, no process can be blamed, and there is
// no backup, the job ends.
func TestStatesApart(t *testing.T) {
	apart := job.Corruption{Dispute: &job.Dispute{Point: 4, Text: "the states differ"}}
	s := begun(t, "degrees=2,1", "hosts=3", "verify")
	require.Empty(t, killed(s.states("0.0@2", apart)))
	require.Equal(t, ExitDiverged, s.head.outcome.code)
	require.Equal(t, "silent corruption of rank 0: the states differ, and there is no backup to roll back to", s.head.outcome.text)
	s.states("0.1@3", apart)
	sdc := s.head.Summary().SDC
	require.EqualValues(t, 1, sdc.Differed)
	require.Zero(t, sdc.Repaired)
}

// The head ends a replica with a wrong state if another replica is sound. If it is the last
// replica, and there is no backup, the job ends.
func TestWrongState(t *testing.T) {
	of := func(lost bool) job.Corruption {
		return job.Corruption{Blames: []job.Blame{{Process: at(0, 1), Incarnation: 1, Core: -1, Section: 3, Task: -1, Point: 4, Lost: lost}}}
	}
	s := begun(t, "degrees=3", "hosts=3", "verify")
	acts := s.states("0.0@2", of(false))
	require.Equal(t, []string{"0.1"}, killed(acts))
	require.Equal(t, 1, strings.Count(strings.Join(acts, "\n"), "has a wrong state at safe point 4, which was found by comparison"))
	require.EqualValues(t, 4, s.head.Summary().SDC.Blamed[0].Point)

	s = begun(t, "degrees=2,1", "hosts=3", "verify")
	s.commands("killed 0.0@2", "keep")
	require.Empty(t, killed(s.states("0.1@3", of(true))))
	require.Equal(t, ExitDiverged, s.head.outcome.code)
	require.Contains(t, s.head.outcome.text, "the last replica of rank 0 has a wrong state at safe point 4, and there is no backup to roll back to")
}
