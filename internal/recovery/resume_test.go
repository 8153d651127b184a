package recovery

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// TestResume resumes a job in which a process may still wait in the previous cut. That
// process receives the order to leave it before the order that cancels further cuts. Dead
// processes receive nothing.
func TestResume(t *testing.T) {
	var p Snapshot
	c := Config{Degrees: []int{2, 1}, Files: Files{Every: 2, First: 1}}
	p.Apply(Decision{Kind: Left, Number: 4, Files: 6, NextSet: 3, Set: 2, Savers: []int{1, 0}})
	p.Died(proc0(0, 0), 1, false, 0)
	p.Finished(proc0(0, 1), 1, 0)
	h, acts := Resume(c, p, 0)
	require.True(t, h.rest)
	var orders []string
	for _, a := range acts {
		require.Equal(t, Send, a.Kind)
		orders = append(orders, a.To.String()+" "+string(a.Order.Kind))
	}
	require.Equal(t, []string{"0.1 go", "1.0 go", "0.1 cancel", "1.0 cancel"}, orders)
	require.Equal(t, job.Order{Kind: job.OrderGo, Number: 4, Next: 6, Set: 2, Savers: []job.Process{{Rank: 0, Replica: 1}, {Rank: 1}}}, acts[0].Order)
}

// TestSuccessorReplaces requires that a successor replaces a killed process once its rank
// has reported a safe point. A process that ended by itself is not replaced.
func TestSuccessorReplaces(t *testing.T) {
	p, q := proc0(0, 0), proc0(0, 1)
	var snapshot Snapshot
	snapshot.Died(p, 1, false, 0)
	snapshot.Died(q, 1, true, 0)
	h, acts := Resume(Config{Degrees: []int{3}, Start: true}, snapshot, 0)
	require.Empty(t, acts)
	acts = h.Reply(proc0(0, 2), 1, job.Reply{Kind: job.ReplyFirst}, 0)
	require.Equal(t, []Action{{Kind: Start, To: p, Incarnation: 2}}, acts)
}
