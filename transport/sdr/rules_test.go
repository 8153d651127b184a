package sdr

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestClosedContext: a message for a context that was freed is acknowledged, so that its
// sender does not wait. It does not create a new context.
func TestClosedContext(t *testing.T) {
	n := newNet(t, Limits{}, 2, 2)
	for p, c := range n.cores {
		if p >= 2 {
			c.Free(n.ctxs[p])
			n.carry(p)
		}
	}
	n.send(n.p(0, 0), "m", 1, 0)
	n.send(n.p(0, 1), "m", 1, 0)
	n.deliverAll()
	require.True(t, n.cores[0].outgoing.Drained() && n.cores[1].outgoing.Drained())
	require.Equal(t, []*Context{n.cores[2].contexts.bookmarks}, n.cores[2].contexts.order)
	_, err := n.cores[2].Join(testContext, testContext, false, nil)
	require.Error(t, err, "contexts are not used twice")
}

// TestEarlyFrames: frames may arrive before the program has joined their
// context.
func TestEarlyFrames(t *testing.T) {
	n := newNet(t, Limits{}, 2, 2)
	for p := range 2 {
		ctx, err := n.cores[p].Join(77, 77, false, nil)
		require.NoError(t, err)
		n.ctxs[p] = ctx
		n.send(p, "m", 1, 0)
	}
	n.deliverAll()
	for p := 2; p < 4; p++ {
		ctx, err := n.cores[p].Join(77, 77, false, nil)
		require.NoError(t, err)
		n.ctxs[p] = ctx
		require.Equal(t, "0:m", n.recv(p, 0, 0).text(t))
	}
}

// TestDivergence: if the replicas of a rank send different messages under the same number,
// a receiver that sees both reports an error.
func TestDivergence(t *testing.T) {
	n := newNet(t, Limits{Eager: 4}, 2, 2)
	p := n.p(1, 1)
	n.send(n.p(0, 1), "a large message", 1, 0)
	n.deliver(n.p(0, 1), p)
	n.send(n.p(0, 0), "another message", 1, 1)
	n.reportDeath(n.p(0, 0), n.p(0, 1), n.cores[n.p(0, 0)])
	key := [2]int{n.p(0, 0), p}
	f := n.wire[key][len(n.wire[key])-1]
	require.ErrorIs(t, n.cores[p].End(n.p(0, 0), &f.header, f.payload), ErrProtocol)
}

// TestMirror: every replica sends to every replica, and no replica acknowledges an eager
// message.
func TestMirror(t *testing.T) {
	n := newNet(t, Limits{}, 2, 2)
	for _, c := range n.cores {
		c.job.mirror = true
	}
	r := n.recv(n.p(1, 1), 0, 0)
	n.send(n.p(0, 0), "m", 1, 0)
	n.send(n.p(0, 1), "m", 1, 0)
	n.deliverAll()
	require.Equal(t, "0:m", r.text(t))
	require.Equal(t, []string{"0.0->1.0 eager", "0.0->1.1 eager", "0.1->1.0 eager", "0.1->1.1 eager"}, n.sent())
	require.True(t, n.cores[0].outgoing.Drained() && n.cores[1].outgoing.Drained())
}

// TestCancel withdraws a receive that no message has matched. Other receives cannot be
// cancelled.
func TestCancel(t *testing.T) {
	n := newNet(t, Limits{Eager: 4}, 1, 1)
	r, bound := n.recv(1, 0, 1), n.recv(1, Any, 2)
	n.send(0, "a large message", 1, 2)
	n.deliver(0, 1)
	require.True(t, n.cores[1].matching.Cancel(&r.Request))
	require.False(t, n.cores[1].matching.Cancel(&bound.Request))
	n.carry(1)
	n.deliverAll()
	st, err := r.Result()
	require.NoError(t, err)
	require.True(t, r.Done() && st.Cancelled)
	require.Equal(t, "0:a large message", bound.text(t))
}

// TestTruncate: a receive gets the beginning of a message that is too long for it.
func TestTruncate(t *testing.T) {
	for _, eager := range []int{1, 100} {
		n := newNet(t, Limits{Eager: eager}, 1, 1)
		var r Request
		room := make([]byte, 4)
		n.cores[1].matching.Recv(n.ctxs[1], &r, room, 0, 0)
		s := n.send(0, "too long", 1, 0)
		n.carry(1)
		n.deliverAll()
		st, err := r.Result()
		require.ErrorIs(t, err, ErrTruncate)
		require.Equal(t, 4, st.Size)
		require.Equal(t, "too ", string(room))
		require.True(t, s.Done())
	}
}
