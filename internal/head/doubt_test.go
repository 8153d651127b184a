package head

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// four are the processes of two ranks of two replicas, and where they run.
var four = []string{"0.0@2", "0.1@3", "1.0@3", "1.1@4"}

// backedUp begins a job of four processes that has a backup at safe point 2.
func backedUp(t *testing.T) *script {
	s := begun(t, "degrees=2,2", "hosts=3", "replace", "backup=2", "verify")
	s.commands("said 0.0@2 reply first")
	for _, p := range four {
		s.commands("said " + p + " reply drained 2")
	}
	s.commands("quiet 5", "keep")
	for _, p := range []string{"0.0@2", "1.0@3"} { // as was planned
		s.commands("said "+p+" reply stored 2 rank=0", "said "+p+" reply stored 2 rank=1")
	}
	s.commands("keep", "pass 10ms")
	return s
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
