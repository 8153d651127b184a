package recovery

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// If every safe point is a planned cut, donors copy state to joiners at the safe point of
// a cut, before the cut begins: there is no other safe point.
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

// A head that takes over in a cut does not know that a joiner already has its whole state,
// and orders the transfer again. Once the joiner is admitted, nothing is left to transfer.
func TestDonationThatAnotherHeadAsksForAgain(t *testing.T) {
	self, joiner := job.Process{}, job.Process{Replica: 1}
	m := NewMember(self, 0, 1)
	m.Enter(1)
	require.Equal(t, Step{Kind: Drain, Number: 1}, m.Next())
	m.Drained()
	m.Order(job.Order{Kind: job.OrderTransfer, Process: joiner}, 1)
	require.Equal(t, Step{Kind: Transfer, Number: 1, Process: joiner}, m.Next())
	m.Transferred(joiner)
	m.Order(job.Order{Kind: job.OrderDonate, Process: joiner}, 1)
	m.Order(job.Order{Kind: job.OrderAdmit, Joined: []job.Peer{{Process: joiner}}}, 1)
	require.Equal(t, Admit, m.Next().Kind)
	m.Admitted()
	m.Order(job.Order{Kind: job.OrderGo, Number: 1}, 1)
	require.Equal(t, Leave, m.Next().Kind)
	require.False(t, m.Due())
	m.Enter(2)
	require.Equal(t, Pass, m.Next().Kind)
}
