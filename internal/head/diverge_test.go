package head

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/head/stuck"
	"github.com/intrahpc/intra/internal/job"
)

const (
	hashOnly = "rank 0: the registered state differed on replicas 0 and 1 at safe point 8; only the hash is known (2a on replica 0, 2b on replica 1)"
	valued   = "rank 0: x[3] is 1 on replica 0 and 2 on replica 1"
)

// watches makes a process report a difference that it knows of or has described. kind is the
// kind of the message.
func (s *script) watches(process string, kind job.Kind, w job.Watched) {
	m := &job.Message{Kind: kind, Stats: &job.Stats{Watched: &w}}
	if kind == job.KindFail {
		m.Failure = &job.Failure{Kind: job.FailError, Text: "no luck"}
	}
	s.step(Said{s.from(process), m})
}

func (s *script) diverge(mode job.Diverge) {
	s.config.Setup.Diverge, s.head.config.Setup.Diverge = mode, mode
}

// lostRank lists commands that make the job roll back for rank 1, once that decision is kept.
var lostRank = []string{
	"said 0.0@2 reply first", "said 0.0@2 reply drained 2", "said 0.1@2 reply drained 2", "said 1.0@2 reply drained 2", "quiet 5", "keep",
	"said 0.0@2 reply stored 2 rank=0", "said 0.1@2 reply stored 2 rank=0", "said 1.0@2 reply stored 2 rank=1",
	"said 0.0@2 reply stored 2 rank=1", "said 0.1@2 reply stored 2 rank=1", "said 1.0@2 reply stored 2 rank=0", "keep",
	"killed 1.0@2", "keep", "settled 1.0@2", "keep", "started 1.0#2@2", "joined 1.0#2@2",
	"said 0.0@2 reply linked of=1.0#2", "said 0.1@2 reply linked of=1.0#2", "said 1.0#2@2 reply linked of=0.0", "said 1.0#2@2 reply linked of=0.1",
}

// In strict mode a difference that a process knows of ends the job with exit code 4, even if
// another event prevents the comparison of values.
func TestKnownDifferenceEndsTheJob(t *testing.T) {
	knows := func(process string) func(*script) {
		return func(s *script) { s.watches(process, job.KindStats, job.Watched{Known: hashOnly}) }
	}
	does := func(commands ...string) func(*script) { return func(s *script) { s.commands(commands...) } }
	for _, c := range []struct {
		name     string
		settings string
		do       []func(*script)
		text     string
	}{
		{"the process dies", "degrees=2", []func(*script){knows("0.1@2"), does("killed 0.1@2", "keep")},
			"divergence, found by 0.1: " + hashOnly + ", since 0.1 died before values were compared"},
		{"the last replica dies", "degrees=2,1", []func(*script){does("killed 0.0@2", "keep"), knows("0.1@2"), does("killed 0.1@2", "keep")},
			"divergence, found by 0.1: " + hashOnly + ", since 0.1 died before values were compared"},
		{"its host dies with all processes that know", "degrees=2,2 hosts=3", []func(*script){knows("0.1@3"), does("lost 3", "keep")},
			"divergence, found by 0.1: " + hashOnly + ", since 0.1 died before values were compared"},
		{"all processes that know die", "degrees=3", []func(*script){knows("0.1@2"), knows("0.2@2"), does("killed 0.1@2", "keep", "killed 0.2@2", "keep")},
			"divergence, found by 0.1: " + hashOnly + ", since 0.1 died before values were compared"},
		{"its program fails in another way", "degrees=2", []func(*script){
			func(s *script) { s.watches("0.1@2", job.KindFail, job.Watched{Known: hashOnly}) }, does("exited 0.1@2 1", "keep")},
			"divergence, found by 0.1: " + hashOnly + ", since 0.1 died before values were compared"},
		{"its program has returned", "degrees=2", []func(*script){does("said 0.1@2 finish", "keep"), knows("0.1@2"), does("keep")},
			"divergence, found by 0.1: " + hashOnly + ", since the program has returned on 0.1"},
		{"its program returns", "degrees=2", []func(*script){
			knows("0.1@2"), func(s *script) { s.watches("0.1@2", job.KindFinish, job.Watched{Known: hashOnly}) }, does("keep")},
			"divergence, found by 0.1: " + hashOnly + ", since the program has returned on 0.1"},
		{"another rank is lost", "degrees=2,1", []func(*script){knows("0.1@2"), does("killed 1.0@2", "keep")},
			"divergence, found by 0.1: " + hashOnly + ", since the job ended before values were compared (rank 1 has lost its last replica 1.0"},
		{"the job rolls back", "degrees=2,1 replace backup=2", []func(*script){
			does(lostRank...), knows("0.1@2"), does("keep")},
			"divergence, found by 0.1: " + hashOnly + ", since the job rolled back before values were compared"},
		{"the job has decided to roll back", "degrees=2,1 replace backup=2", []func(*script){
			knows("0.1@2"), does(lostRank...), does("keep")},
			"divergence, found by 0.1: " + hashOnly + ", since the job rolled back before values were compared"},
		{"the process described the difference and is killed", "degrees=2", []func(*script){
			func(s *script) { s.watches("0.1@2", job.KindStats, job.Watched{Known: hashOnly, Differed: valued}) }, does("killed 0.1@2", "keep")},
			"divergence, found by 0.1: " + valued},
		{"the head dies after the process", "degrees=2 hosts=3", []func(*script){
			does("killed 0.1@3", "keep", "succeed 3"), knows("0.1@3"), does("keep")},
			"divergence, found by 0.1: " + hashOnly + ", since 0.1 died before values were compared"},
		{"the head dies before the process", "degrees=2 hosts=3", []func(*script){
			knows("0.1@3"), does("succeed 3"), knows("0.1@3"), does("killed 0.1@3", "keep")},
			"divergence, found by 0.1: " + hashOnly + ", since 0.1 died before values were compared"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := begun(t, strings.Fields(c.settings)...)
			s.diverge(job.DivergeStrict)
			for _, f := range c.do {
				f(s)
			}
			require.Equal(t, ExitDiverged, s.head.Code())
			require.True(t, s.state.Decided)
			require.Contains(t, s.state.Text, c.text)
			require.NotEmpty(t, s.head.judge.divergence().Differed)
		})
	}
}

// A difference stays undescribed while a process that knows of it can still compare values.
func TestDifferenceWaitsForItsDescription(t *testing.T) {
	s := begun(t, "degrees=3")
	s.diverge(job.DivergeStrict)
	for _, p := range []string{"0.1@2", "0.2@2"} {
		s.watches(p, job.KindStats, job.Watched{Known: hashOnly})
	}
	s.commands("killed 0.1@2", "keep")
	require.False(t, s.state.Decided)
	s.step(Said{s.from("0.2@2"), &job.Message{Kind: job.KindFail, Failure: &job.Failure{Kind: job.FailDivergence, Text: valued},
		Stats: &job.Stats{Watched: &job.Watched{Known: hashOnly, Differed: valued}}}})
	s.commands("keep")
	require.Equal(t, ExitDiverged, s.state.Code)
	require.Equal(t, "divergence, found by 0.2: "+valued, s.state.Text)
	require.Equal(t, []string{valued}, s.head.judge.divergence().Differed)
}

// With -diverge warn the head warns the user once of a difference that no process
// describes, and the job continues.
func TestKnownDifferenceIsAWarning(t *testing.T) {
	s := begun(t, "degrees=3")
	s.diverge(job.DivergeWarn)
	s.watches("0.1@2", job.KindStats, job.Watched{Known: hashOnly})
	s.commands("killed 0.1@2", "keep")
	s.watches("0.2@2", job.KindStats, job.Watched{Known: hashOnly, Differed: valued})
	warnings := 0
	for _, l := range s.out {
		if strings.Contains(l, "replicas diverged") {
			warnings++
			require.Equal(t, "warn: warning: replicas diverged: "+hashOnly+", since 0.1 died before values were compared: "+job.DivergeAdvice(false), l)
		}
	}
	require.Equal(t, 1, warnings)
	require.False(t, s.state.Decided)
}

// If replicas have taken different courses, so that one never ends, that counts as a
// difference.
func TestReplicasOnDifferentCourses(t *testing.T) {
	apart := StandApart{&stuck.Apart{Process: job.Process{Replica: 1}, Text: "0.1 never leaves Recv"}}
	said := "0.1 never leaves Recv: " + job.DivergeAdvice(false)
	s := begun(t, "degrees=2")
	s.diverge(job.DivergeOff)
	s.step(apart)
	require.False(t, s.state.Decided)
	s.diverge(job.DivergeWarn)
	s.step(apart)
	s.step(apart)
	require.Equal(t, 1, strings.Count(strings.Join(s.out, "\n"), "warn: warning: replicas diverged: "+said))
	require.False(t, s.state.Decided)
	s.diverge(job.DivergeStrict)
	s.step(apart)
	s.commands("keep")
	require.Equal(t, ExitDiverged, s.state.Code)
	require.Equal(t, "divergence of replicas of rank 0: "+said, s.state.Text)
}

// A replica that waits forever for an event that never comes, while the others of its rank
// have finished, has diverged. A replica that computes without end is killed instead.
func TestEndlessWaitIsADivergence(t *testing.T) {
	for _, waits := range []bool{true, false} {
		s := outlasted(t)
		s.diverge(job.DivergeStrict)
		s.commands("pass 59s500ms")
		s.says("0.1", job.Doing{State: job.StateRuns, Blocked: waits, Idle: time.Minute, Waits: []job.Wait{{Call: "Recv", Ranks: []int{1}}}})
		out := s.commands("pass 500ms", "keep")
		require.Equal(t, waits, s.state.Code == ExitDiverged)
		if !waits {
			require.Contains(t, out, fencesIt)
			continue
		}
		require.Equal(t, "divergence of replicas of rank 0: 0.1 never leaves Recv from 1, but 0.0 has finished: "+job.DivergeAdvice(false), s.state.Text)
	}
}

// The end of the job by the user, or of this head alone, does not count as a divergence.
func TestKnownDifferenceAndASignal(t *testing.T) {
	for _, c := range []struct {
		command string
		code    int
	}{{"signal INT", 130}, {"retired it is cut off", ExitLost}} {
		s := begun(t, "degrees=2", "hosts=3")
		s.diverge(job.DivergeStrict)
		s.watches("0.1@3", job.KindStats, job.Watched{Known: hashOnly})
		s.commands(c.command)
		require.Equal(t, c.code, s.head.Code(), c.command)
	}
}

// The last hashes of a process that has finished count after its death, but not after a rollback.
func TestHashesOfTheDead(t *testing.T) {
	last := func(hash uint64) job.Watched {
		return job.Watched{Last: []job.Hashed{{SafePoint: true, End: true, Number: 1 << 63, Hash: hash}}}
	}
	s := begun(t, "degrees=2")
	s.diverge(job.DivergeStrict)
	s.watches("0.1@2", job.KindFinish, last(42))
	s.commands("keep", "killed 0.1@2", "keep")
	s.watches("0.0@2", job.KindFinish, last(43))
	s.commands("keep")
	require.Equal(t, ExitDiverged, s.state.Code)
	require.Equal(t, "divergence of 0.0 and 0.1: the registered state when the program returned had other contents; "+
		"only the hash is known (2b on the first, 2a on the second): "+job.DivergeAdvice(false), s.state.Text)

	s = begun(t, "degrees=2,1", "replace", "backup=2")
	s.diverge(job.DivergeStrict)
	stored := slices.Index(lostRank, "killed 1.0@2")
	s.commands(lostRank[:stored]...)
	s.watches("0.1@2", job.KindFinish, last(42))
	s.commands("keep", "killed 0.1@2", "keep")
	s.commands(lostRank[stored:]...)
	s.commands("keep", "said 0.0@2 reply ready 2 generation=1", "said 1.0#2@2 reply ready 2 generation=1", "quiet 0", "keep")
	s.watches("0.0@2", job.KindFinish, last(43))
	s.commands("keep")
	require.Equal(t, decision.Done, s.state.Places[at(0, 0)].Status)
	require.False(t, s.state.Decided)
}
