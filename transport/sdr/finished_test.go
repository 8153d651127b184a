package sdr

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// finish records that the programs of all replicas of a rank have returned.
func (n *net) finish(rank int) {
	for k := range n.cores[0].job.ranks[rank].degree {
		n.cores[n.p(rank, k)].Drain()
		n.carry(n.p(rank, k))
	}
}

// hopeless makes process p check whether a request can still complete, and delivers its
// questions.
func (n *net) hopeless(p int, r *Request) error {
	err := n.cores[p].finishing.Hopeless(r)
	n.carry(p)
	return err
}

// A receive is hopeless only when its source has finished and all messages of that source
// have arrived.
func TestReceiveFromAFinishedRank(t *testing.T) {
	for _, degrees := range [][]int{{1, 1}, {2, 2}, {1, 2}, {2, 1}, {3, 2}} {
		n := newNet(t, Limits{}, degrees...)
		for k := range degrees[0] {
			n.send(n.p(0, k), "kept", 1, 1)
		}
		// No message has arrived yet.
		to := n.p(1, 0)
		want, other := n.recv(to, 0, 1), n.recv(to, 0, 2)
		require.NoError(t, n.hopeless(to, &want.Request))
		require.NoError(t, n.hopeless(to, &other.Request))
		n.finish(0)
		require.NoError(t, n.hopeless(to, &want.Request))
		n.deliverAll()
		require.Equal(t, "0:kept", want.text(t))
		err := n.hopeless(to, &other.Request)
		require.ErrorIs(t, err, ErrFinished)
		require.EqualError(t, err, "rank 1 waits for rank 0, which has finished")
		n.cores[to].finishing.GiveUp(&other.Request, err)
		n.carry(to)
		require.True(t, other.Done())
		require.NoError(t, n.cores[to].cuts.Pending(), "the receive is still posted")
	}
}

// TestAnswerBeforeTheLastMessage: a process asks the replicas of a rank whether they have
// finished. The answer of one replica may arrive before the last message, which another
// replica sends.
func TestAnswerBeforeTheLastMessage(t *testing.T) {
	n := newNet(t, Limits{}, 2, 1)
	a, b, to := n.p(0, 0), n.p(0, 1), n.p(1, 0)
	for _, p := range []int{a, b} {
		n.send(p, "last", 1, 1)
	}
	r := n.recv(to, 0, 1)
	require.NoError(t, n.hopeless(to, &r.Request))
	n.cores[b].Drain()
	n.carry(b)
	server := a // the replica that serves this process and was asked
	if len(n.wire[[2]int{b, to}]) > 0 {
		server = b
	}
	n.finish(0)
	question := n.wire[[2]int{to, server}]
	require.NotEmpty(t, question)
	n.deliver(to, server)
	require.NoError(t, n.hopeless(to, &r.Request), "the message is on its way")
	n.deliverAll()
	require.Equal(t, "0:last", r.text(t))
}

// A receive from any source is hopeless when all other ranks have finished.
func TestReceiveFromAnyOfFinishedRanks(t *testing.T) {
	n := newNet(t, Limits{}, 1, 1, 2)
	to := n.p(1, 0)
	r := n.recv(to, Any, 1)
	n.finish(0)
	for range 2 {
		require.NoError(t, n.hopeless(to, &r.Request))
		n.deliverAll()
	}
	n.finish(2)
	n.deliverAll()
	require.EqualError(t, n.hopeless(to, &r.Request), "rank 1 waits for any other rank, and all have finished")
}

// An offered message can never be received when the destination has finished and no receive
// has matched it, so its send is hopeless. A message that a receive waits for still
// arrives.
func TestSendToAFinishedRank(t *testing.T) {
	n := newNet(t, Limits{}, 2, 2)
	from := n.p(1, 0)
	taken, not := n.ssend(from, "taken", 0, 1), n.ssend(from, "not", 0, 2)
	n.ssend(n.p(1, 1), "taken", 0, 1)
	n.ssend(n.p(1, 1), "not", 0, 2)
	for k := range 2 {
		n.recv(n.p(0, k), 1, 1)
	}
	require.NoError(t, n.hopeless(from, taken))
	require.NoError(t, n.hopeless(from, not))
	n.finish(0)
	n.deliverAll()
	require.True(t, taken.Done())
	err := n.hopeless(from, not)
	require.EqualError(t, err, "rank 1 waits for rank 0, which has finished")
	n.cores[from].finishing.GiveUp(not, err)
	n.carry(from)
	require.True(t, not.Done())
}

// If the replica that was asked dies, another one is asked.
func TestAnotherReplicaIsAskedAfterADeath(t *testing.T) {
	n := newNet(t, Limits{}, 2, 1)
	to := n.p(1, 0)
	r := n.recv(to, 0, 1)
	require.NoError(t, n.hopeless(to, &r.Request))
	asked := n.p(0, 0)
	if len(n.wire[[2]int{to, asked}]) == 0 {
		asked = n.p(0, 1)
	}
	n.deliverAll()
	n.die(asked)
	require.NoError(t, n.hopeless(to, &r.Request))
	left := n.p(0, 0) + n.p(0, 1) - asked
	n.cores[left].Drain()
	n.carry(left)
	n.deliverAll([2]int{to, asked})
	require.ErrorIs(t, n.hopeless(to, &r.Request), ErrFinished)
}

// A rank has lost its last replica. A receive from it is hopeless only if the rank had
// finished, which only the head knows. Otherwise the job rolls back.
func TestAFinishedRankIsLost(t *testing.T) {
	n := newNet(t, Limits{}, 1, 1)
	to := n.p(1, 0)
	r := n.recv(to, 0, 1)
	n.die(n.p(0, 0))
	require.NoError(t, n.hopeless(to, &r.Request))
	n.cores[to].finishing.Through(0)
	require.ErrorIs(t, n.hopeless(to, &r.Request), ErrFinished)
}

// A message of a collective that was sent for another purpose causes an error.
func TestMismatch(t *testing.T) {
	n := newNet(t, Limits{}, 1, 1)
	var coll [2]*Context
	for p, c := range n.cores {
		var err error
		coll[p], err = c.Join(7, testContext, true, nil)
		require.NoError(t, err)
	}
	var sent, got, right, same Request
	n.cores[0].SendExact(coll[0], &sent, []byte("x"), 1, 0, 5)
	n.cores[0].SendExact(coll[0], &right, []byte("y"), 1, 1, MaxPurpose)
	n.carry(0)
	n.cores[1].matching.RecvExact(coll[1], &got, make([]byte, 4), 0, 0, 6)
	n.cores[1].matching.RecvExact(coll[1], &same, make([]byte, 4), 0, 1, MaxPurpose)
	n.carry(1)
	n.deliverAll()
	_, err := got.Result()
	require.ErrorIs(t, err, ErrMismatch)
	require.Equal(t, &Mismatch{Source: 0, Theirs: 5, Mine: 6}, err)
	_, err = same.Result()
	require.NoError(t, err)
}
