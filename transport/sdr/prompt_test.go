package sdr

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/transport"
)

// hasty lets the links of a process accept frames at once while *takes is true.
func (n *net) hasty(p int, takes *bool) {
	n.cores[p].out.now = func(a *Action) bool {
		if a != &n.cores[p].out.direct {
			require.Len(n.t, n.cores[p].out.actions, 1, "no action is waiting")
		}
		if !*takes {
			return false
		}
		a.Header.Size = uint64(len(a.Payload) + len(a.CausalPast))
		payload := append(append([]byte(nil), a.Payload...), a.CausalPast...)
		n.wire[[2]int{p, a.To}] = append(n.wire[[2]int{p, a.To}], wireFrame{header: a.Header, payload: payload})
		n.log = append(n.log, n.name(p)+"->"+n.name(a.To)+" "+kindNames[a.Header.Kind]+" at once")
		return true
	}
}

// TestSendNow: a message that its link accepts at once is complete, and no copy is kept. If
// the link does not accept it, SendNow changes nothing.
func TestSendNow(t *testing.T) {
	n := newNet(t, Limits{Eager: 100, Window: 400}, 1, 1)
	takes := false
	n.hasty(0, &takes)
	c := n.cores[0]
	now := func(data string) bool { return c.outgoing.SendNow(n.ctxs[0], []byte(data), 1, 0, 7) }
	require.False(t, now("a"), "the link does not accept the frame")
	require.Empty(t, c.out.actions)
	require.Zero(t, c.job.processes[1].sent)
	require.Equal(t, 400, c.job.processes[1].credit)
	n.send(0, "a", 1, 7)
	takes = true
	require.True(t, now("b"))
	require.True(t, n.send(0, "c", 1, 7).Done())
	require.Equal(t, []string{"0.0->1.0 eager", "0.0->1.0 eager at once", "0.0->1.0 eager at once"}, n.sent())
	require.False(t, now("d"), "the room at the receiver is used up")
	require.False(t, c.outgoing.SendNow(n.ctxs[0], nil, 0, 0, 7), "to itself")
	messages, _ := c.outgoing.Retained()
	require.Equal(t, 1, messages, "only the message that is on its way")
	for _, want := range []string{"0:a", "0:b", "0:c"} {
		n.deliver(0, 1)
		require.Equal(t, want, n.recv(1, 0, 7).text(t))
	}
	require.True(t, c.outgoing.Drained())
	require.Equal(t, uint64(3), c.job.processes[1].sent)
	require.False(t, now(string(make([]byte, 101))), "the message has to be offered")
	c.job.processes[1].credit = 400
	c.out.send(1, transport.Header{Kind: kindWant}, nil)
	require.False(t, now("d"), "another action is waiting")
	require.Len(t, c.out.actions, 1)
	c.out.Actions()
	c.Dead(1)
	require.False(t, now("d"), "no replica is left")
}

// TestSendNowReplicated: a message that a link accepts at once is still kept for the
// replicas that get it from another replica, until they acknowledge it.
func TestSendNowReplicated(t *testing.T) {
	n := newNet(t, Limits{}, 2, 2)
	takes := true
	n.hasty(n.p(0, 0), &takes)
	c := n.cores[0]
	require.False(t, c.outgoing.SendNow(n.ctxs[0], []byte("x"), 1, 0, 0))
	require.True(t, n.send(0, "x", 1, 0).Done())
	require.Equal(t, []string{"0.0->1.0 eager at once"}, n.sent())
	require.False(t, c.outgoing.Drained(), "1.1 may lack it")
	n.die(n.p(0, 1))
	require.Equal(t, []string{"0.0->1.1 eager"}, n.sent(), "in place of 0.1")
	n.deliver(0, n.p(1, 1))
	require.True(t, c.outgoing.Drained())
}
