package head

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// The user gets each note once, though all replicas report it.
func TestNotesArePrintedOnce(t *testing.T) {
	s := begun(t, "degrees=2,1")
	for _, c := range []struct {
		process string
		notes   []string
		details []string
		want    []string
	}{
		{"0.0@2", []string{"no huge pages"}, nil, []string{"warn: no huge pages"}},
		{"0.1@2", []string{"no huge pages", "no cores left"}, []string{"f.go:3: up to x"}, []string{"warn: no cores left", "detail: f.go:3: up to x"}},
		{"1.0@2", []string{"no cores left", "no huge pages"}, []string{"f.go:3: up to x"}, nil},
	} {
		s.out = nil
		s.step(Said{s.from(c.process), &job.Message{Kind: job.KindStats, Stats: &job.Stats{Notes: c.notes, Details: c.details}}})
		require.Equal(t, c.want, s.out, c.process)
	}
}

// The kind of a failure decides whether the job can continue without the process. A failure
// that proves the replicas or the program wrong ends the job, even if other replicas live.
func TestConsequencesOfAFailedRun(t *testing.T) {
	for _, c := range []struct {
		said    string
		code    int // ExitOK if the job continues
		text    string
		verdict job.Cause // set if the job continues
	}{
		{"error no luck", ExitOK, "", job.CauseExit},
		{"panic index out of range", ExitOK, "", job.CausePanic},
		{"divergence they differ", ExitDiverged, "divergence, found by 0.1: they differ", ""},
		{"corruption two results of task 3", ExitDiverged, "silent corruption, found by 0.1: two results of task 3", ""},
		{"finding f writes what it does not name", ExitFailed, "finding of 0.1: f writes what it does not name", ""},
	} {
		t.Run(c.said, func(t *testing.T) {
			s := begun(t, "degrees=3", "hosts=3")
			kind, text, _ := strings.Cut(c.said, " ")
			require.Contains(t, s.commands("said 0.1@3 fail "+c.said), "note: 0.1: "+kind+": "+text)
			s.commands("keep", "exited 0.1@3 1", "keep")
			require.Equal(t, c.text, s.state.Text)
			require.Equal(t, c.code, s.state.Code)
			require.Equal(t, c.code != ExitOK, s.state.Decided)
			if c.verdict != "" {
				require.Equal(t, c.verdict, s.state.Verdicts[0].Cause)
			}
		})
	}
}

// The head kills a process that has failed and does not exit.
func TestFailedProcessIsKilled(t *testing.T) {
	s := begun(t, "degrees=2")
	require.Empty(t, killed(s.commands("said 0.1@2 fail error no luck", "pass 1999ms")))
	require.Equal(t, []string{"0.1"}, killed(s.commands("pass 1ms")))
}

// If the end of a process is reported twice, for example to a head and to its successor, it
// counts once.
func TestEndReportedTwiceCountsOnce(t *testing.T) {
	s := begun(t, "degrees=2")
	require.Len(t, s.commands("killed 0.1@2"), 2, "a verdict is proposed, and the output finished")
	require.Empty(t, s.commands("killed 0.1@2", "exited 0.1@2 1"))
	s.commands("keep")
	require.Empty(t, s.commands("killed 0.1@2", "failed 0.1@2 no memory"))
	require.Equal(t, []string{"0.1"}, failures(s.head))
}

// The head kills or refuses a process whose control connection is unusable. The action depends on
// the reason, and on whether the process has joined: a process that has joined gets some time to
// exit by itself.
func TestUnusableControlConnection(t *testing.T) {
	joining := []string{"job degrees=2", "keep", "started 0.0@2", "started 0.1@2", "joined 0.0@2"} // 0.1 has not joined
	running := []string{"job degrees=2", "running"}
	for _, c := range []struct {
		name      string
		before    []string
		said      string
		now       []string // immediate actions
		kill      []string // processes that the head kills after lastWords
		exit      int
		withCause string
	}{
		{"its connection ends", running, "end EOF", nil, []string{"0.1"}, 0, "it closed its control connection"},
		{"its connection ends before it joins", joining, "end EOF", nil, nil, 0, ""},
		{"a malformed message", running, "nonsense no JSON", []string{"detail: 0.1 is fenced: it sent a malformed message: no JSON", "kill 0.1@2 SIGKILL"}, nil, 0, "it sent a malformed message: no JSON"},
		{"a message cannot be sent to it", running, "untold too long", []string{"detail: 0.1 is fenced: it cannot be sent a message that it needs: too long", "kill 0.1@2 SIGKILL"}, nil, 0,
			"it cannot be sent a message that it needs: too long"},
		{"the handshake is refused", joining, "refused wrong key", []string{"send 0.0@2 refuse 0.1 cannot join: wrong key", "send 0.1@2 refuse 0.1 cannot join: wrong key",
			"propose decided 2 the job is refused: 0.1 cannot join: wrong key"}, nil, ExitRefused, ""},
		{"a malformed message before it joins", joining, "nonsense no JSON", []string{"send 0.0@2 refuse 0.1 cannot join: no JSON", "send 0.1@2 refuse 0.1 cannot join: no JSON",
			"propose decided 2 the job is refused: 0.1 cannot join: no JSON"}, nil, ExitRefused, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript(t)
			s.commands(c.before...)
			require.Equal(t, c.now, s.commands("unheard 0.1@2 "+c.said))
			if c.exit != 0 {
				s.commands("keep")
				require.Equal(t, c.exit, s.state.Code)
				return
			}
			require.Empty(t, killed(s.commands("pass 1999ms")))
			require.Equal(t, c.kill, killed(s.commands("pass 1ms")))
			if c.withCause != "" {
				s.commands("killed 0.1@2", "keep")
				require.Equal(t, c.withCause, s.state.Verdicts[0].Detail)
			}
		})
	}
}

// If a process was restored, it and the processes of other ranks must have passed equally many safe
// points when they finish. In other jobs each rank may call SafePoint as often as it likes.
func TestRanksFinishAtDifferentSafePoints(t *testing.T) {
	for _, c := range []struct {
		name     string
		restored [2]uint64
		points   [2]uint64
		want     int
	}{
		{"no process was restored", [2]uint64{}, [2]uint64{5, 4}, ExitOK},
		{"one was restored, and both passed as many", [2]uint64{2, 0}, [2]uint64{5, 5}, ExitOK},
		{"the first was restored", [2]uint64{2, 0}, [2]uint64{5, 4}, ExitDiverged},
		{"the second was restored", [2]uint64{0, 2}, [2]uint64{5, 4}, ExitDiverged},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := begun(t, "degrees=1,1")
			for rank := range 2 {
				s.step(Said{s.head.members.places[at(rank, 0)].from, &job.Message{Kind: job.KindFinish, Stats: &job.Stats{Points: c.points[rank], Restored: c.restored[rank]}}})
				s.commands("keep")
			}
			require.Equal(t, c.want, s.state.Code)
			if c.want == ExitDiverged {
				require.Contains(t, s.state.Text, "divergence of 1.0 and 0.0: the first came to 4 safe points and 0 sections, the second to 5 and 0")
			}
		})
	}
}

// Without recovery the head has requested no replies, and ignores them.
func TestUnrequestedRepliesAreIgnored(t *testing.T) {
	s := begun(t, "degrees=2")
	require.Empty(t, s.commands("said 0.0@2 reply drained 2", "said 0.1@2 reply ready 2", "said 0.0@2 reply first"))
}

// A head that may no longer decide reports that once. After that it neither proposes nor acts,
// whatever arrives.
func TestRetiredHead(t *testing.T) {
	s := begun(t, "degrees=2,1", "hosts=3", "kill=0.0@1s")
	const why = "warn: this head gives up: it is cut off; the job continues without it where most of the hosts are"
	require.Equal(t, []string{why}, s.commands("retired it is cut off"))
	require.Empty(t, s.commands("retired it is cut off again", "killed 0.1@3", "said 0.0@2 finish", "signal INT", "pass 1h", "lost 3"))
	s.step(Committed{decision.Entry{Kind: decision.Started}})
	require.Empty(t, s.out)
	require.True(t, s.head.Ended())
	require.Equal(t, ExitLost, s.head.Code())
}

// The link between the last replicas of two ranks is broken, and one of the ranks is about to
// get a second replica. The head waits for that replica, but not forever.
func TestBrokenLinkWaitsForAReplacement(t *testing.T) {
	s := begun(t, "degrees=2,1", "replace")
	s.commands("said 0.0@2 reply first", "killed 0.1@2", "keep", "said 0.0@2 suspect 1.0") // the output of 0.1 is not complete, so no process gets its slot yet
	for range 19 {
		s.commands("pass 500ms", "keep")
		require.False(t, s.state.Decided, "after %v", s.now)
	}
	s.commands("pass 500ms", "keep")
	require.Equal(t, ExitLost, s.state.Code)
	require.Equal(t, "the link between 0.0 and 1.0 broke (reset), and neither has another replica", s.state.Text)
	require.Equal(t, replaceTime, s.now)

	s = begun(t, "degrees=2,1") // without replacements
	s.commands("killed 0.1@2", "keep", "said 0.0@2 suspect 1.0", "pass 500ms", "keep")
	require.Equal(t, ExitLost, s.state.Code)
	require.Equal(t, 500*time.Millisecond, s.now)
}
