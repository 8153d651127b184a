package arbiter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/head/decision"
)

// TestCondemnedNodeGetsNoLease checks a node whose loss is proposed and not committed: it gets
// no lease, even if its beats arrive again.
func TestCondemnedNodeGetsNoLease(t *testing.T) {
	c := newCluster(1, 3, 1, DefaultTiming)
	require.NoError(t, c.run(2*time.Second))
	require.Equal(t, Head, c.head())
	head, back := c.nodes[Head], c.nodes[4]
	c.excused[4] = true
	c.split([]ID{4})
	hold := false // while set, no decisions are committed
	c.sabotage = func(n *Node, m *Message, _ time.Duration) {
		if m != nil && hold {
			m.Raft = nil
		}
	}
	for len(head.lead.proposed) == 0 {
		require.NoError(t, c.run(c.now+ms))
		hold = head.lead.suspected[4]
		require.Less(t, c.now, 5*time.Second)
	}
	c.heal()
	word := back.word
	require.NoError(t, c.run(c.now+300*ms))
	require.False(t, head.isLost(4), "the loss is not decided yet")
	require.Less(t, head.clock(c.now)-head.peers[4].came, 100*ms, "the node is back")
	require.Equal(t, word, back.word)
	hold = false
	require.NoError(t, c.run(c.now+time.Second))
	require.True(t, head.isLost(4))
	require.True(t, back.shut)
}

// TestSnapshotReachesMember checks that a member catches up although the log no longer has the
// entries that it missed, and although snapshots get lost.
func TestSnapshotReachesMember(t *testing.T) {
	c := newCluster(3, 3, 1, DefaultTiming) // a seed that gives a short log
	require.NoError(t, c.run(2*time.Second))
	require.Equal(t, uint64(3), c.nodes[Head].log.keep)
	c.excused[3] = true
	c.cut[[2]ID{3, 1}], c.cut[[2]ID{1, 3}], c.cut[[2]ID{2, 3}], c.cut[[2]ID{3, 2}] = true, true, true, true
	c.cut[[2]ID{3, 4}], c.cut[[2]ID{4, 3}] = true, true
	for range 20 {
		require.True(t, c.propose(decision.Entry{Kind: decision.Injected}))
		require.NoError(t, c.run(c.now+20*ms)) // too short for the member to be declared lost
	}
	c.heal()
	dropped := 0
	c.sabotage = func(n *Node, m *Message, _ time.Duration) {
		if m == nil || n.self != 3 {
			return
		}
		for _, r := range m.Raft {
			if r.Snapshot != nil && dropped < 2 {
				m.Raft, dropped = nil, dropped+1
				return
			}
		}
	}
	require.NoError(t, c.run(c.now+6*time.Second))
	require.Equal(t, 2, dropped)
	require.Equal(t, string(c.nodes[Head].log.state.Snapshot()), string(c.nodes[3].log.state.Snapshot()))
}
