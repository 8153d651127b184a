package head

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// four are the processes of two ranks of two replicas, with their nodes.
var four = []string{"0.0@2", "0.1@3", "1.0@3", "1.1@4"}

// backing begins a job of four processes that is storing its first backup, of safe point 2.
func backing(t *testing.T) *script {
	s := begun(t, "degrees=2,2", "hosts=3", "replace", "backup=2", "verify")
	s.commands("said 0.0@2 reply first")
	for _, p := range four {
		s.commands("said " + p + " reply drained 2")
	}
	s.commands("quiet 5", "keep")
	return s
}

// backedUp begins the job of backing, and completes its backup.
func backedUp(t *testing.T) *script {
	s := backing(t)
	for _, p := range []string{"0.0@2", "1.0@3"} { // the hosts that the plan of the backup names
		s.commands("said "+p+" reply stored 2 rank=0", "said "+p+" reply stored 2 rank=1")
	}
	s.commands("keep", "pass 10ms")
	return s
}

// fails makes a process report that its program has failed.
func (s *script) fails(process string, kind job.FailureKind, point uint64, generation uint32) []string {
	return s.states(process, job.Corruption{Dispute: &job.Dispute{Kind: kind, Point: point, Generation: generation, Text: "it fell\nin the dark"}})
}

// differ makes a process report that the states of its rank differ.
func (s *script) differ(process string, point uint64, generation uint32) []string {
	return s.states(process, job.Corruption{Dispute: &job.Dispute{Point: point, Generation: generation, Text: "the states differ"}})
}

// goBack rolls all processes back to safe point 2, in the given generation.
func (s *script) goBack(generation int) {
	s.commands("keep")
	for _, p := range four {
		s.commands(fmt.Sprintf("said %s reply ready generation=%d", p, generation))
	}
	s.commands("quiet 0", "keep")
}

// If the replicas of a rank have different states, all processes roll back to the last backup,
// and none is killed. That also holds if several ranks have such states. A repeated report, or
// one about an earlier generation, has no effect.
func TestJobRollsBackForStates(t *testing.T) {
	s := backedUp(t)
	require.Equal(t, []string{"warn: rank 0: the states differ: the job rolls back to its last backup", "propose recovery rolledback 2"}, s.differ("0.0@2", 4, 0))
	require.Empty(t, s.differ("0.1@3", 4, 0))
	require.Empty(t, s.differ("1.0@3", 4, 0), "of another rank, at the same safe point")
	s.goBack(1)
	require.Empty(t, s.differ("1.1@4", 4, 0))
	require.Equal(t, 1, len(s.head.state.Rollbacks))
	require.Positive(t, s.head.state.Rollbacks[0].Resumed)

	sum := s.head.Summary().Recovery
	require.Equal(t, []int{0}, sum.Rollbacks[0].Differed)
	require.Empty(t, sum.Rollbacks[0].Lost)
	require.Nil(t, s.head.outcome)
	for _, p := range s.head.members.all {
		require.Equal(t, running, p.state, "%v", p.process)
	}
}

// If states differ again at the same safe point, a process errs repeatedly: the head replaces
// all replicas of the rank. If they differ once more, it ends the job. If the rank has
// advanced in between, the difference counts as another error.
func TestStatesThatDifferAgain(t *testing.T) {
	s := backedUp(t)
	s.differ("0.0@2", 4, 0)
	s.goBack(1)
	require.Empty(t, killed(s.differ("0.0@2", 5, 1)), "the rank has advanced")
	s.goBack(2)
	require.Equal(t, []string{"0.0", "0.1"}, killed(s.differ("0.0@2", 5, 2)))
	require.Empty(t, s.differ("1.0@3", 5, 2), "the job rolls back anyway")
	require.Nil(t, s.head.outcome)

	s = backedUp(t)
	for generation := range 2 {
		s.differ("0.0@2", 4, uint32(generation))
		s.head.judge.disputes[0].times++ // as if the replicas had been replaced
		s.goBack(generation + 1)
	}
	require.Equal(t, ExitDiverged, s.head.outcome.code)
	require.Contains(t, s.head.outcome.text, "silent corruption of rank 0: the states differ, and the job has rolled back for that twice, the second time with all its replicas replaced")
}

// If the job cannot roll back without the processes that the head would have to kill, the job
// ends.
func TestStatesThatDifferAgainWithoutOthers(t *testing.T) {
	s := backedUp(t)
	s.differ("0.0@2", 4, 0)
	s.goBack(1)
	s.commands("killed 1.0@3", "keep") // that process held the other copy
	require.Empty(t, killed(s.differ("0.0@2", 4, 1)))
	require.Equal(t, ExitDiverged, s.head.outcome.code)
	require.Contains(t, s.head.outcome.text, "the job has rolled back for that once, and cannot go on with all its replicas replaced")
}

// A report that arrives while the first backup is being stored waits for that backup, as there is
// no other one. The wait is bounded, and ends at once if the backup will never be complete.
func TestDisputeWhileTheFirstBackupIsStored(t *testing.T) {
	for name, c := range map[string]struct {
		then  func(s *script)
		fails bool // the failure is reported again
	}{
		"the backup is complete": {func(s *script) {
			for _, p := range []string{"0.0@2", "1.0@3"} {
				s.commands("said "+p+" reply stored 2 rank=0", "said "+p+" reply stored 2 rank=1")
			}
			require.Contains(t, s.commands("keep"), "propose recovery rolledback 2")
		}, false},
		"the backup takes too long":     {func(s *script) { s.commands("pass 5s") }, true},
		"the source of the backup dies": {func(s *script) { s.commands("killed 0.0@2", "keep") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := backing(t)
			require.Empty(t, s.fails("0.1@3", job.FailError, 4, 0))
			require.Empty(t, s.fails("0.1@3", job.FailError, 4, 0), "the process reports it again")
			c.then(s)
			got := s.fails("0.1@3", job.FailError, 4, 0)
			require.Equal(t, c.fails, slices.Contains(got, "send 0.1@3 order fail"), got)
		})
	}
}

// If a program fails, a wrong result may be the cause: all processes roll back, and none is
// killed. If the program fails again before it has advanced further, the failure is its own,
// and has its usual effect.
func TestFailedProgramRollsBackOnce(t *testing.T) {
	for _, kind := range []job.FailureKind{job.FailPanic, job.FailError} {
		s := backedUp(t)
		require.Equal(t, []string{fmt.Sprintf("warn: rank 1: %s: it fell: a wrong result may have led to that, and the job rolls back to a backup", kind), "propose recovery rolledback 2"},
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

// Other differences are handled like states that differ. The job first rolls back. It then
// rolls back with all replicas replaced. It then ends with the report of the process that
// found the difference.
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
		s.head.judge.disputes[0].times++ // as if the replicas had been replaced
		s.goBack(1)
		require.Contains(t, s.fails("0.0@2", kind, 4, 1), "send 0.0@2 order fail generation 1")
		s.commands("said 0.0@2 fail "+string(kind)+" it fell", "keep")
		require.Equal(t, ExitDiverged, s.head.outcome.code)
	}
}

// A rank that fails at several safe points in turn makes no progress.
func TestDisputeWithoutProgress(t *testing.T) {
	s := backedUp(t)
	for i, point := range []uint64{9, 8} {
		s.fails("0.0@2", job.FailError, point, uint32(i))
		if i == 0 {
			s.goBack(1)
		}
	}
	require.Len(t, s.head.state.Rollbacks, 1)
	require.True(t, s.head.judge.disputes[0].stands)
}

// The job rolls back only to a sound backup: one from before the wrong message, with equal
// states of all replicas.
func TestDisputeRollsBackToASoundBackup(t *testing.T) {
	for below, back := range map[uint64]bool{0: true, 2: false, 3: true} {
		s := backedUp(t)
		s.states("0.0@2", job.Corruption{Dispute: &job.Dispute{Kind: job.FailCorruption, Point: 4, Below: below, Text: "a message"}})
		require.Equal(t, !back, s.head.judge.disputes[0].stands, below)
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

// The head releases no process while the job is about to roll back.
func TestDisputeAtTheEnd(t *testing.T) {
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

// During a rollback, a process reports a message that was wrong before the rollback's backup:
// the job rolls back to an older backup, or ends.
func TestDisputeDuringARollback(t *testing.T) {
	message := func(below uint64) job.Corruption {
		return job.Corruption{Dispute: &job.Dispute{Kind: job.FailCorruption, Point: 4, Below: below, Text: "a message\nwas wrong"}}
	}
	for below, ends := range map[uint64]bool{0: false, 1: true, 2: true, 3: false} {
		for _, by := range []string{"0.0@2", "1.1@4"} { // another rank, or the rank of an earlier dispute
			for _, kept := range []bool{false, true} {
				s := backedUp(t)
				s.fails("1.0@3", job.FailError, 4, 0)
				require.True(t, s.head.recovery.decides.Returning())
				if kept {
					s.commands("keep")
				}
				s.states(by, message(below))
				if !kept { // until then the decision waits
					s.commands("keep")
				}
				require.Equal(t, ends, s.head.outcome != nil, "%d %s", below, by)
				if ends {
					require.Equal(t, ExitDiverged, s.head.outcome.code)
					require.Contains(t, s.head.outcome.text, "there is no backup to roll back to from before that")
				}
			}
		}
	}
}

// A program has failed, and the job does not roll back for that. Then a process reports a
// wrong message, and the job does roll back for it.
func TestDisputeAboutAMessageAfterAFailure(t *testing.T) {
	s := backedUp(t)
	s.fails("1.0@3", job.FailError, 4, 0)
	s.goBack(1)
	s.fails("1.0@3", job.FailError, 4, 1)
	require.True(t, s.head.judge.disputes[1].stands)
	s.states("1.1@4", job.Corruption{Dispute: &job.Dispute{Kind: job.FailCorruption, Generation: 1, Point: 4, Below: 3, Text: "a message"}})
	require.False(t, s.head.judge.disputes[1].stands)
}

// While no decision is possible, several reports wait. The report about the oldest safe point
// counts, even if other reports arrive later.
func TestDisputesThatWait(t *testing.T) {
	s := backedUp(t)
	s.fails("1.0@3", job.FailError, 4, 0) // the rollback is not kept yet
	for _, below := range []uint64{3, 2, 0, 3} {
		s.states("0.0@2", job.Corruption{Dispute: &job.Dispute{Kind: job.FailCorruption, Point: 4, Below: below, Text: "a message"}})
	}
	s.commands("keep")
	require.Equal(t, ExitDiverged, s.head.outcome.code)
}

// An error that a process finds after all processes were released still ends the job.
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
