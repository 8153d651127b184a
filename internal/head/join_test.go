package head

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// Replicas of a rank share memory if all of them are on one host, unless the user forbids it.
// If the user requests shared memory explicitly, the head warns of ranks that cannot share.
func TestReplicasShareMemory(t *testing.T) {
	const apart = "warn: -direct is for replicas on one host, and those of rank 1 are not: they send each other their results"
	for _, c := range []struct {
		direct job.Direct
		ranks  []int
		warned bool
	}{
		{job.DirectOff, nil, false},
		{job.DirectAuto, []int{0}, false},
		{job.DirectOn, []int{0}, true},
	} {
		t.Run(string(c.direct), func(t *testing.T) {
			s := newScript(t)
			s.job([]string{"degrees=2,3,1", "hosts=2"})
			s.config.Direct = c.direct
			s.config.Of = map[job.Process]detect.ID{at(0, 0): 2, at(0, 1): 2, at(1, 0): 2, at(1, 1): 3, at(1, 2): 2, at(2, 0): 2}
			s.head = New(s.config)
			s.proposed, s.agents = nil, make(agentLogs)
			s.step(Begin{})
			s.commands("keep")
			together := make(map[job.Process]bool)
			var lines []string
			do := func(acts []Action) {
				s.do(acts)
				for _, a := range acts {
					if m, ok := a.(Send); ok && m.Message.Kind == job.KindSetup {
						together[m.Message.Setup.Self] = m.Message.Setup.Together
					}
					lines = append(lines, describe(a))
				}
			}
			for _, f := range s.known() {
				do(s.head.Step(Started{From: f, PID: 100}, 0))
				do(s.head.Step(Joined{f, &job.Hello{Tag: true, PID: 100}}, 0))
				do(s.head.Step(Said{f, &job.Message{Kind: job.KindListen, Address: "there"}}, 0))
			}
			for len(s.proposed) > 0 {
				e := s.proposed[0]
				s.proposed = s.proposed[1:]
				do(s.head.Step(Committed{e}, 0))
			}
			require.True(t, s.head.hasBegun)
			for p, shares := range together {
				require.Equal(t, slices.Contains(c.ranks, p.Rank), shares, "%v", p)
			}
			require.Len(t, together, 6)
			require.Equal(t, c.ranks, s.head.Summary().Direct)
			if c.warned {
				require.Contains(t, lines, apart)
			} else {
				require.NotContains(t, lines, apart)
			}
		})
	}
}

// A job that has ended is not refused afterwards. A process that runs counts as started,
// whatever an agent reports later.
func TestLateRefusalsAreIgnored(t *testing.T) {
	s := begun(t, "degrees=2")
	require.Empty(t, s.commands("failed 0.1@2 no memory"))
	require.Len(t, s.commands("killed 0.1@2"), 2, "it counted as alive")
	s.commands("keep", "signal INT", "keep")
	s.out = nil
	s.step(Failed{Err: "the key is gone"})
	require.Empty(t, s.out)
	require.Equal(t, 130, s.head.Code())
}

// The head informs the user which set of which job this job continues from, and why it did not
// use a newer set.
func TestRestartNamesItsSet(t *testing.T) {
	for _, c := range []struct {
		name    string
		restart decision.Restart
		want    []string
	}{
		{"a plain set", decision.Restart{}, []string{"warn: the job continues from safe point 6, set 3 of d"}},
		{"of a job with a name", decision.Restart{Job: checkpoint.Job{Run: "2026-11-22T10:00:00Z-1f"}},
			[]string{"warn: the job continues from safe point 6, set 3 of d, of the job begun 2026-11-22 10:00:00 UTC"}},
		{"of another build", decision.Restart{Rebuilt: true}, []string{"warn: the job continues from safe point 6, set 3 of d",
			"warn: warning: the program was built anew since set 3 was written: its state must mean the same"}},
		{"newer sets are unusable", decision.Restart{Refused: []string{"set 4: truncated", "set 5: empty"}},
			[]string{"warn: warning: set 4: truncated", "warn: warning: set 5: empty", "warn: the job continues from safe point 6, set 3 of d"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript(t)
			s.commands("job degrees=1 restart", "keep", "started 0.0@2", "joined 0.0@2", "keep")
			r := c.restart
			r.Dir, r.Number, r.Cut, r.Files = "d", 3, 6, []checkpoint.File{file(0)}
			s.out = nil
			s.step(Opened{Found: &decision.Folders{Restart: &r}})
			s.command([]string{"keep"})
			var got []string
			for _, l := range s.out {
				if strings.HasPrefix(l, "warn: ") {
					got = append(got, l)
				}
			}
			require.Equal(t, c.want, got)
		})
	}
}
