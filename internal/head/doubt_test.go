package head

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// four are the processes of two ranks of two replicas, and where they run.
var four = []string{"0.0@2", "0.1@3", "1.0@3", "1.1@4"}

// backing begins a job of four processes that stores its first backup, at safe point 2.
func backing(t *testing.T) *script {
	s := begun(t, "degrees=2,2", "hosts=3", "replace", "backup=2", "verify")
	s.commands("said 0.0@2 reply first")
	for _, p := range four {
		s.commands("said " + p + " reply drained 2")
	}
	s.commands("quiet 5", "keep")
	return s
}

// backedUp begins such a job whose backup is complete.
func backedUp(t *testing.T) *script {
	s := backing(t)
	for _, p := range []string{"0.0@2", "1.0@3"} { // as was planned
		s.commands("said "+p+" reply stored 2 rank=0", "said "+p+" reply stored 2 rank=1")
	}
	s.commands("keep", "pass 10ms")
	return s
}

// fails has a process say that its program has failed.
func (s *script) fails(process string, kind job.FailureKind, point uint64, generation uint32) []string {
	return s.states(process, job.Corruption{Doubt: &job.Doubt{Kind: kind, Point: point, Generation: generation, Text: "it fell\nin the dark"}})
}

// differ has a process say that the states of its rank differ.
func (s *script) differ(process string, point uint64, generation uint32) []string {
	return s.states(process, job.Corruption{Doubt: &job.Doubt{Point: point, Generation: generation, Text: "the states differ"}})
}

// goBack has all come back to safe point 2, in a generation.
func (s *script) goBack(generation int) {
	s.commands("keep")
	for _, p := range four {
		s.commands(fmt.Sprintf("said %s reply ready generation=%d", p, generation))
	}
	s.commands("quiet 0", "keep")
}

// If the replicas of a rank have different states, all go back to the last backup and
// nobody dies, however many ranks it happens to. Who tells of it again, or of what was
// before, changes nothing.
func TestAllGoBackForStates(t *testing.T) {
	s := backedUp(t)
	require.Equal(t, []string{"warn: rank 0: the states differ: the job goes back to its last backup", "propose recovery rolledback 2"}, s.differ("0.0@2", 4, 0))
	require.Empty(t, s.differ("0.1@3", 4, 0))
	require.Empty(t, s.differ("1.0@3", 4, 0), "another rank, at the same safe point")
	s.goBack(1)
	require.Empty(t, s.differ("1.1@4", 4, 0))
	require.Equal(t, 1, len(s.head.state.Rollbacks))
	require.Positive(t, s.head.state.Rollbacks[0].Resumed)

	sum := s.head.Summary().Recovery
	require.Equal(t, []int{0}, sum.Rollbacks[0].Differed)
	require.Empty(t, sum.Rollbacks[0].Lost)
	require.Nil(t, s.head.outcome)
	for _, p := range s.head.all {
		require.Equal(t, running, p.state, "%v", p.process)
	}
}

// States that differ again where they did before are those of a process that errs again
// and again: others take the places of all, and if that does not help the job ends. If
// the rank came further in between, it is another error.
func TestStatesThatDifferAgain(t *testing.T) {
	s := backedUp(t)
	s.differ("0.0@2", 4, 0)
	s.goBack(1)
	require.Empty(t, killed(s.differ("0.0@2", 5, 1)), "it has come further")
	s.goBack(2)
	require.Equal(t, []string{"0.0", "0.1"}, killed(s.differ("0.0@2", 5, 2)))
	require.Empty(t, s.differ("1.0@3", 5, 2), "the job goes back anyway")
	require.Nil(t, s.head.outcome)

	s = backedUp(t)
	for generation := range 2 {
		s.differ("0.0@2", 4, uint32(generation))
		s.head.recovery.doubts[0].times++ // as if others had taken the places
		s.goBack(generation + 1)
	}
	require.Equal(t, ExitDiverged, s.head.outcome.code)
	require.Contains(t, s.head.outcome.text, "silent corruption of rank 0: the states differ, and the job has gone back for that twice, the last time with other processes in the places of all")
}

// Where nobody is to be killed without whom the job could not go back, it ends.
func TestStatesThatDifferAgainWithoutOthers(t *testing.T) {
	s := backedUp(t)
	s.differ("0.0@2", 4, 0)
	s.goBack(1)
	s.commands("killed 1.0@3", "keep") // it held the other copy
	require.Empty(t, killed(s.differ("0.0@2", 4, 1)))
	require.Equal(t, ExitDiverged, s.head.outcome.code)
	require.Contains(t, s.head.outcome.text, "the job has gone back for that once, and cannot go on with other processes in the places of all")
}

// What is told while the first backup is being stored waits for it, as there is no other to
// go back to; not for ever, and not for one that will never be complete.
func TestDoubtWhileTheFirstBackupIsStored(t *testing.T) {
	for name, c := range map[string]struct {
		then  func(s *script)
		fails bool // when it is told again
	}{
		"it is complete": {func(s *script) {
			for _, p := range []string{"0.0@2", "1.0@3"} {
				s.commands("said "+p+" reply stored 2 rank=0", "said "+p+" reply stored 2 rank=1")
			}
			require.Contains(t, s.commands("keep"), "propose recovery rolledback 2")
		}, false},
		"it takes too long": {func(s *script) { s.commands("pass 5s") }, true},
		"its source dies":   {func(s *script) { s.commands("killed 0.0@2", "keep") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := backing(t)
			require.Empty(t, s.fails("0.1@3", job.FailError, 4, 0))
			require.Empty(t, s.fails("0.1@3", job.FailError, 4, 0), "it tells so again")
			c.then(s)
			got := s.fails("0.1@3", job.FailError, 4, 0)
			require.Equal(t, c.fails, slices.Contains(got, "send 0.1@3 order fail"), got)
		})
	}
}

// A program that fails may have done so because of a wrong result: all go back, and
// nobody dies. If it fails again before it has come further it has done so by itself, and
// ends as it would have.
func TestAProgramThatFails(t *testing.T) {
	for _, kind := range []job.FailureKind{job.FailPanic, job.FailError} {
		s := backedUp(t)
		require.Equal(t, []string{fmt.Sprintf("warn: rank 1: %s: it fell: a wrong result may have led to that, and the job goes back to a backup", kind), "propose recovery rolledback 2"},
			s.fails("1.0@3", kind, 4, 0))
		require.Empty(t, s.fails("1.1@4", kind, 4, 0))
		s.goBack(1)
		require.Equal(t, []string{"send 1.0@3 order fail generation 1"}, s.fails("1.0@3", kind, 4, 1))
		require.Equal(t, []string{"send 1.1@4 order fail generation 1"}, s.fails("1.1@4", kind, 4, 1))
		s.commands("said 1.0@3 fail "+string(kind)+" it fell", "exited 1.0@3 1", "said 1.1@4 fail "+string(kind)+" it fell", "exited 1.1@4 1", "keep")
		require.Equal(t, ExitFailed, s.head.outcome.code, s.head.outcome.text)
		require.Zero(t, s.head.Summary().SDC.Differed)
	}
}

// What differs otherwise is like states that do: the job goes back, then with others in
// the places of all, and then it ends with what the process says that has found it.
func TestResultsThatDifferAgain(t *testing.T) {
	for _, kind := range []job.FailureKind{job.FailCorruption, job.FailDivergence} {
		s := backedUp(t)
		require.Empty(t, killed(s.fails("0.0@2", kind, 4, 0)))
		s.goBack(1)
		require.EqualValues(t, 1, s.head.Summary().SDC.Differed)
		require.EqualValues(t, 1, s.head.Summary().SDC.Repaired)
		require.Equal(t, []string{"0.0", "0.1"}, killed(s.fails("0.0@2", kind, 4, 1)))

		s = backedUp(t)
		s.fails("0.0@2", kind, 4, 0)
		s.head.recovery.doubts[0].times++ // as if others had taken the places
		s.goBack(1)
		require.Contains(t, s.fails("0.0@2", kind, 4, 1), "send 0.0@2 order fail generation 1")
		s.commands("said 0.0@2 fail "+string(kind)+" it fell", "keep")
		require.Equal(t, ExitDiverged, s.head.outcome.code)
	}
}

// A rank that fails now here and now there comes no further.
func TestDoubtWithoutProgress(t *testing.T) {
	s := backedUp(t)
	for i, point := range []uint64{9, 8} {
		s.fails("0.0@2", job.FailError, point, uint32(i))
		if i == 0 {
			s.goBack(1)
		}
	}
	require.Len(t, s.head.state.Rollbacks, 1)
	require.True(t, s.head.recovery.doubts[0].stands)
}

// The job goes back only to where nothing was wrong: before a message that was, and to
// where the states of all replicas were alike.
func TestDoubtAndWhatIsInTheBackup(t *testing.T) {
	for below, back := range map[uint64]bool{0: true, 2: false, 3: true} {
		s := backedUp(t)
		s.states("0.0@2", job.Corruption{Doubt: &job.Doubt{Kind: job.FailCorruption, Point: 4, Below: below, Text: "a message"}})
		require.Equal(t, !back, s.head.recovery.doubts[0].stands, below)
		require.Equal(t, back, s.head.recovery.decides.Returning())
	}
	for other, back := range map[string]bool{"0": true, "7": true, "8": false} {
		s := begun(t, "degrees=2,2", "hosts=3", "replace", "backup=2", "verify")
		s.commands("said 0.0@2 reply first")
		for i, p := range four {
			s.commands("said " + p + " reply drained 2 state=" + []string{"7", other, "3", "3"}[i])
		}
		s.commands("quiet 5", "keep")
		for _, p := range []string{"0.0@2", "1.0@3"} {
			s.commands("said "+p+" reply stored 2 rank=0", "said "+p+" reply stored 2 rank=1")
		}
		s.commands("keep")
		s.fails("1.0@3", job.FailCorruption, 4, 0)
		require.Equal(t, back, s.head.recovery.decides.Returning(), other)
	}
}

// Nobody is let go whose job is about to go back.
func TestDoubtAtTheEnd(t *testing.T) {
	s := backedUp(t)
	for _, p := range four[:3] {
		s.commands("said "+p+" finish", "keep")
	}
	s.commands("said 1.1@4 finish")
	s.fails("0.0@2", job.FailCorruption, 9, 0)
	s.commands("keep")
	require.Equal(t, working, s.head.phase)
	require.True(t, s.head.recovery.decides.Returning())
}

// A message that was wrong before the backup that the job goes back to already, for something
// else: it goes to one from before that, or ends.
func TestDoubtOnTheWayBack(t *testing.T) {
	message := func(below uint64) job.Corruption {
		return job.Corruption{Doubt: &job.Doubt{Kind: job.FailCorruption, Point: 4, Below: below, Text: "a message\nwas wrong"}}
	}
	for below, ends := range map[uint64]bool{0: false, 1: true, 2: true, 3: false} {
		for _, by := range []string{"0.0@2", "1.1@4"} { // another rank, or the same, about which there was another doubt
			for _, kept := range []bool{false, true} {
				s := backedUp(t)
				s.fails("1.0@3", job.FailError, 4, 0)
				require.True(t, s.head.recovery.decides.Returning())
				if kept {
					s.commands("keep")
				}
				s.states(by, message(below))
				if !kept { // until then it waits
					s.commands("keep")
				}
				require.Equal(t, ends, s.head.outcome != nil, "%d %s", below, by)
				if ends {
					require.Equal(t, ExitDiverged, s.head.outcome.code)
					require.Contains(t, s.head.outcome.text, "there is no backup to go back to from before that")
				}
			}
		}
	}
}

// A program has failed, and the job does not go back for that. Then it is told that a message was
// wrong: that it goes back for.
func TestDoubtAboutAMessageAfterAFailure(t *testing.T) {
	s := backedUp(t)
	s.fails("1.0@3", job.FailError, 4, 0)
	s.goBack(1)
	s.fails("1.0@3", job.FailError, 4, 1)
	require.True(t, s.head.recovery.doubts[1].stands)
	s.states("1.1@4", job.Corruption{Doubt: &job.Doubt{Kind: job.FailCorruption, Generation: 1, Point: 4, Below: 3, Text: "a message"}})
	require.False(t, s.head.recovery.doubts[1].stands)
}

// While nothing can be decided, what is wrong since the oldest safe point counts, whoever tells
// of something else after that.
func TestDoubtsThatWait(t *testing.T) {
	s := backedUp(t)
	s.fails("1.0@3", job.FailError, 4, 0) // the way back is not kept yet
	for _, below := range []uint64{3, 2, 0, 3} {
		s.states("0.0@2", job.Corruption{Doubt: &job.Doubt{Kind: job.FailCorruption, Point: 4, Below: below, Text: "a message"}})
	}
	s.commands("keep")
	require.Equal(t, ExitDiverged, s.head.outcome.code)
}

// What a process finds to be wrong when all have been let go already still ends the job.
func TestWrongAfterTheRelease(t *testing.T) {
	s := backedUp(t)
	for _, p := range four {
		s.commands("said "+p+" finish", "keep")
	}
	s.commands("keep")
	require.Equal(t, released, s.head.phase)
	s.commands("said 0.0@2 fail " + string(job.FailCorruption) + " a message")
	require.Equal(t, ExitDiverged, s.head.outcome.code)
}
