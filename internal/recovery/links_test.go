package recovery

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

func addLink(ls *Links[string], p job.Process, incarnation uint32) bool {
	return ls.Add(p, incarnation, "")
}

func removeLink(ls *Links[string], p job.Process, incarnation uint32) (removed uint32, holds bool) {
	l, holds := ls.Remove(p, incarnation)
	if l != nil {
		removed = l.Incarnation
	}
	return removed, holds
}

// A process has been replaced, and the link to it is made after the link to its successor.
// The late link does not replace the other one.
func TestALateLinkToADeadJoiner(t *testing.T) {
	p := job.Process{Rank: 1}
	var ls Links[string]
	require.True(t, addLink(&ls, p, 1))
	_, holds := removeLink(&ls, p, 1)
	require.False(t, holds)
	_, holds = removeLink(&ls, p, 3)
	require.False(t, holds)
	require.True(t, addLink(&ls, p, 5))
	require.False(t, addLink(&ls, p, 3))
	require.NotNil(t, ls.Find(p, 5))
	require.Nil(t, ls.Find(p, 3))
}

// A process that will relieve the one in a slot has a link of its own, which may be made
// first. That link takes the slot once the other process is dead.
func TestLinkOfAReliefIsBesideThatOfTheSlot(t *testing.T) {
	p := job.Process{Rank: 1}
	for name, order := range map[string][]uint32{"made last": {1, 5}, "made first": {5, 1}} {
		t.Run(name, func(t *testing.T) {
			var ls Links[string]
			for _, incarnation := range order {
				require.True(t, addLink(&ls, p, incarnation))
			}
			require.EqualValues(t, 1, ls.Find(p, 0).Incarnation, "messages go to the process in the slot")
			require.EqualValues(t, 5, ls.Joiner(p).Incarnation, "the state goes to the other process")
			require.NotNil(t, ls.Find(p, 5))
			require.Len(t, ls.All(), 2)
			removed, holds := removeLink(&ls, p, 5)
			require.EqualValues(t, 5, removed)
			require.True(t, holds, "the death of the joiner is not that of the process in the slot")
			removed, holds = removeLink(&ls, p, 6)
			require.Zero(t, removed)
			require.True(t, holds, "nor is the death of a process without a link")
			require.True(t, addLink(&ls, p, 7))
			require.False(t, addLink(&ls, p, 5), "a link that is made late")
			removed, holds = removeLink(&ls, p, 1)
			require.EqualValues(t, 1, removed)
			require.False(t, holds)
			require.EqualValues(t, 7, ls.Find(p, 0).Incarnation)
			require.EqualValues(t, 7, ls.Joiner(p).Incarnation)
			require.Len(t, ls.Current(), 1)
		})
	}
}

// A link to a process that relieves none, made again, replaces the earlier one.
func TestALinkIsMadeAgain(t *testing.T) {
	var ls Links[string]
	require.True(t, ls.Add(job.Process{}, 1, "first"))
	require.True(t, ls.Add(job.Process{}, 1, "second"))
	require.Equal(t, "second", ls.Find(job.Process{}, 1).Link)
	require.Len(t, ls.All(), 1)
}
