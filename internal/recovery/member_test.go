package recovery

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// Where every safe point is a planned cut, newcomers get their state there too,
// before the cut: there is no other safe point.
func TestDonationWhereEverySafePointIsACut(t *testing.T) {
	self, newcomer := job.Process{}, job.Process{Replica: 1}
	m := NewMember(self, 0, 1)
	m.Order(job.Order{Kind: job.OrderDonate, Process: newcomer}, 0)
	m.Enter(1)
	require.Equal(t, Step{Kind: Donate, Process: newcomer}, m.Next())
	require.Empty(t, m.Donated(newcomer, false))
	require.Equal(t, Step{Kind: Drain, Number: 1}, m.Next(), "the rest is for the next one")
	m.Drained()
	require.Equal(t, Step{Kind: Wait}, m.Next())
	m.Order(job.Order{Kind: job.OrderGo, Number: 1, Next: 2}, 1)
	require.Equal(t, Leave, m.Next().Kind)
	require.Equal(t, Pass, m.Next().Kind)

	m.Enter(2)
	require.Equal(t, Step{Kind: Donate, Process: newcomer}, m.Next())
	require.Equal(t, []job.Reply{{Kind: job.ReplyCopied, Process: newcomer}}, m.Donated(newcomer, true))
	require.Equal(t, Step{Kind: Drain, Number: 2}, m.Next())
}
