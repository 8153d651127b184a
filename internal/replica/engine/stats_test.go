package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A process can report its counts at a kill point that its own goroutine reaches while it holds
// the lock.
func TestSnapshotAtAKillPoint(t *testing.T) {
	e := newGroup(t, 1).replicas[0].engine
	e.stats.total.TasksRun = 3
	require.EqualValues(t, 3, e.LastSnapshot().TasksRun)
	e.mu.Lock()
	defer e.mu.Unlock()
	require.EqualValues(t, 3, e.LastSnapshot().TasksRun)
}
