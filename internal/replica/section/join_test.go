package section

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/sched"
)

// TestJoin revives a dead replica, which takes part again in the next section. It gets tasks,
// early frames of its former life are dropped, and it ignores late frames of earlier sections.
func TestJoin(t *testing.T) {
	config := Config{Replicas: 2, InboxBytes: 1 << 20}
	entry := Entry{Policy: sched.Static, Tasks: 4, Signature: 7, Patience: func(int) time.Duration { return time.Second }}
	old := New(config)
	update := func(section uint64, task int) Update {
		return Update{Peer: 1, Section: section, Task: task, Tasks: 4, Signature: 7, Size: 8}
	}
	// Its peer was two sections ahead when the peer died.
	for task := 2; task < 4; task++ {
		_, err := old.Arrive(update(2, task), "old life", false)
		require.NoError(t, err)
	}
	old.Dead(1)
	for range 2 {
		require.Equal(t, 4, runAll(t, old, entry), "alone it runs every task")
	}
	joiner := NewAt(Config{Replica: 1, Replicas: 2, InboxBytes: 1 << 20}, old.Position())
	require.Equal(t, old.Number(), joiner.Number())
	require.Equal(t, old.Chain(), joiner.Chain())
	old.Alive(1)
	joiner.Alive(0)
	require.Empty(t, old.inbox.early[2], "frames of the former life do not count")

	late := update(1, 0)
	late.Peer, late.Signature = 0, 99 // now a frame of a section in which this replica did not take part
	_, err := joiner.Arrive(late, "late", false)
	require.NoError(t, err)

	_, err = old.Enter(entry, 0)
	require.NoError(t, err)
	_, err = joiner.Enter(entry, 0)
	require.NoError(t, err)
	for me, m := range []*Machine{old, joiner} {
		for _, want := range []int{2 * me, 2*me + 1} {
			step, _ := m.Next(0)
			require.Equal(t, Step{Kind: Run, Task: want}, step, "replica %d", me)
			require.Equal(t, []Action{{Kind: Send, Task: want, Peer: 1 - me}}, m.Ran(want))
		}
		step, _ := m.Next(0)
		require.Equal(t, Wait, step.Kind, "each waits for the half of the other")
	}
}

// runAll makes m run a section and returns the number of tasks that it ran.
func runAll(t *testing.T, m *Machine, e Entry) (ran int) {
	_, err := m.Enter(e, 0)
	require.NoError(t, err)
	for {
		step, _ := m.Next(0)
		if step.Kind != Run {
			require.Equal(t, Done, step.Kind)
			m.Leave()
			return ran
		}
		ran++
		m.Ran(step.Task)
	}
}

// TestJoinOnce requires that after a join all replicas count the same deaths. So a replica
// that asks after a later death gets an answer.
func TestJoinOnce(t *testing.T) {
	a := []*Once{NewOnce(0, 3), NewOnce(1, 3), nil}
	for i := range 2 {
		a[i].Dead(2)
		a[i].Dead(2) // reported twice

	}
	var at Position
	a[0].Position(&at)
	a[2] = NewOnceAt(2, 3, at)
	for i := range 3 {
		for p := range 3 {
			if p != i && (i == 2 || p == 2) {
				a[i].Alive(p)
			}
		}
	}
	// The runner, replica 0, dies in the call. Replica 1 asks replica 2, which has counted
	// the same deaths and answers. Then replica 1 runs the function.
	require.Equal(t, OnceRun, a[0].Enter()[0].Kind)
	require.Empty(t, a[1].Enter())
	require.Empty(t, a[2].Enter())
	asked := a[1].Dead(0)
	require.Equal(t, OnceAsk, asked[0].Kind)
	require.Equal(t, 2, asked[0].Peer)
	require.Empty(t, a[2].Query(1, 0, asked[0].Deaths), "it has not handled the death")
	answer := a[2].Dead(0)
	require.Equal(t, OnceSayNone, answer[0].Kind)
	require.Equal(t, OnceRun, a[1].None(2, 0, answer[0].Deaths)[0].Kind)
}

// TestJoinOnceForgets requires that a joiner does not count as a holder of the results of
// the dead replica in its slot.
func TestJoinOnceForgets(t *testing.T) {
	o := NewOnce(1, 3)
	o.Have(2, 0) // replica 0 has run the function, and its result has not arrived
	o.Dead(0)
	o.Dead(2)
	o.Alive(2)
	require.Equal(t, []OnceAction{{Kind: OnceAsk, Peer: 2, Deaths: 2}}, o.Enter())
	require.Equal(t, []OnceAction{{Kind: OnceRun}}, o.None(2, 0, 2))
	result := []byte("value")
	require.Contains(t, o.Result(1, 0, result), OnceAction{Kind: OnceSend, Peer: 2, Result: result})
}
