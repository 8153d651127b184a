package recovery

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// Where every safe point is a planned cut, joiners get their state there too,
// before the cut: there is no other safe point.
func TestDonationWhereEverySafePointIsACut(t *testing.T) {
	self, joiner := job.Process{}, job.Process{Replica: 1}
	m := NewMember(self, 0, 1)
	m.Order(job.Order{Kind: job.OrderDonate, Process: joiner}, 0)
	m.Enter(1)
	require.Equal(t, Step{Kind: Donate, Process: joiner}, m.Next())
	require.Empty(t, m.Donated(joiner, false))
	require.Equal(t, Step{Kind: Drain, Number: 1}, m.Next(), "the rest is for the next one")
	m.Drained()
	require.Equal(t, Step{Kind: Wait}, m.Next())
	m.Order(job.Order{Kind: job.OrderGo, Number: 1, Next: 2}, 1)
	require.Equal(t, Leave, m.Next().Kind)
	require.Equal(t, Pass, m.Next().Kind)

	m.Enter(2)
	require.Equal(t, Step{Kind: Donate, Process: joiner}, m.Next())
	require.Equal(t, []job.Reply{{Kind: job.ReplyCopied, Process: joiner}}, m.Donated(joiner, true))
	require.Equal(t, Step{Kind: Drain, Number: 2}, m.Next())
}
