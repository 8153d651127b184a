package sdr

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// allWait are limits with which a send completes only when the message is acknowledged, as
// in the paper: there is no room to keep copies.
var allWait = Limits{Eager: 1 << 10, Retain: 1}

// pairs returns two ranks with two replicas each, as in the paper's figures.
func pairs(t *testing.T) (n *net, p00, p01, p10, p11 int) {
	n = newNet(t, allWait, 2, 2)
	return n, n.p(0, 0), n.p(0, 1), n.p(1, 0), n.p(1, 1)
}

// TestFigure2: with send-determinism, each replica of rank 0 matches a receive from any
// source by itself, without a frame between the replicas.
func TestFigure2(t *testing.T) {
	n, p00, p01, p10, p11 := pairs(t)
	a, b := n.recv(p00, Any, Any), n.recv(p01, Any, Any)
	s0 := n.send(p10, "m", 0, 0)
	require.Equal(t, []string{"1.0->0.0 eager", "1.0->0.1 want"}, n.sent())

	n.deliver(p10, p00) // p^0_0 delivers although p^1_0 has received nothing yet
	require.Equal(t, "1:m", a.text(t))
	require.False(t, b.Done())
	require.Empty(t, n.wire[[2]int{p00, p01}], "no frame between the replicas of rank 0")

	s1 := n.send(p11, "m", 0, 0)
	n.deliverAll()
	require.Equal(t, "1:m", b.text(t))
	require.True(t, s0.Done() && s1.Done())
	for _, line := range n.sent() {
		require.NotContains(t, []string{"0.0->0.1", "0.1->0.0"}, line[:8])
	}
}

// TestFigure3 follows the scenario with a fault on p^1_1 (rank 1, replica 1):
// rank 1 sends to rank 0, which answers, twice.
func TestFigure3(t *testing.T) {
	n, p00, p01, p10, p11 := pairs(t)
	recv0, recv1 := n.recv(p00, 1, 0), n.recv(p01, 1, 0)

	// send(p0): each message travels once, replica k to replica k.
	s0, s1 := n.send(p10, "a", 0, 0), n.send(p11, "a", 0, 0)
	require.Equal(t, []string{"1.0->0.0 eager", "1.0->0.1 want", "1.1->0.1 eager", "1.1->0.0 want"}, n.sent())
	// "When p00 finishes recv(p1), an ack is sent to p11."
	n.deliver(p11, p00)
	n.deliver(p10, p01)
	n.deliver(p10, p00)
	require.Equal(t, "1:a", recv0.text(t))
	require.Equal(t, []string{"0.0->1.1 ack"}, n.sent())
	// "A sender replica can continue its execution only once it has
	// collected all acks."
	require.False(t, s1.Done())
	n.deliver(p00, p11)
	require.False(t, s1.Done(), "0.1 has not handed its own message over yet")
	n.deliver(p11, p01)
	require.True(t, s1.Done())
	require.Equal(t, "1:a", recv1.text(t))
	require.False(t, s0.Done())
	n.deliver(p01, p10)
	require.True(t, s0.Done())
	n.deliverAll()

	// send(p1): the answer.
	r0, r1 := n.recv(p10, 0, 0), n.recv(p11, 0, 0)
	n.send(p00, "b", 1, 0)
	n.send(p01, "b", 1, 0)
	n.deliverAll()
	require.Equal(t, "0:b", r0.text(t))
	require.Equal(t, "0:b", r1.text(t))

	// p^1_1 crashes. p^0_1 has sent the second message to p^0_0.
	again0, again1 := n.recv(p00, 1, 0), n.recv(p01, 1, 0)
	n.sent()
	s0 = n.send(p10, "c", 0, 0)
	n.deliver(p10, p00)
	require.Equal(t, "1:c", again0.text(t))
	n.die(p11)
	// "Then p01 starts sending on behalf of p11."
	require.Contains(t, n.sent(), "1.0->0.1 eager")
	require.False(t, s0.Done())
	n.deliverAll()
	require.Equal(t, "1:c", again1.text(t))
	require.True(t, s0.Done())

	// "p10 does not send messages to p11 anymore but just waits for the ack
	// from p01."
	last := n.recv(p10, 0, 0)
	n.sent()
	w1 := n.send(p01, "d", 1, 0)
	require.Equal(t, []string{"0.1->1.0 want"}, n.sent())
	require.False(t, w1.Done())
	w0 := n.send(p00, "d", 1, 0)
	n.deliverAll()
	require.Equal(t, "0:d", last.text(t))
	require.True(t, w0.Done() && w1.Done())
}

// TestAcknowledgeOnReception is the case of section 3.3: two processes post a receive, send
// to each other, and wait for the send first. If the acknowledgement waited until the
// application completes its receive, it would never be sent.
func TestAcknowledgeOnReception(t *testing.T) {
	n, p00, p01, p10, p11 := pairs(t)
	var sends []*Request
	for _, p := range []int{p00, p01} {
		n.recv(p, 1, 0)
		sends = append(sends, n.send(p, "x", 1, 0))
	}
	for _, p := range []int{p10, p11} {
		n.recv(p, 0, 0)
		sends = append(sends, n.send(p, "y", 0, 0))
	}
	n.deliverAll() // the programs make no call in between
	for i, s := range sends {
		require.True(t, s.Done(), "send %d", i)
	}
}

// TestElection: substitutes depend only on the live replicas (line 19). They serve every
// replica that the dead one served (line 26).
func TestElection(t *testing.T) {
	require.Equal(t, 1, source(0b111, 3, 1))
	require.Equal(t, 2, source(0b101, 3, 1))
	require.Equal(t, 0, source(0b001, 3, 1), "the substitute of the substitute")
	require.Equal(t, 1, source(0b010, 2, 4), "a replica number that the rank never had")
	require.Equal(t, -1, source(0, 2, 0))
	c := NewCore(0, 0, 0, []int{3, 2, 1, 3}, false, Limits{})
	serving := make(map[int]bool)
	for dst := 1; dst < 3; dst++ {
		for k := range c.job.ranks[dst].degree {
			serving[c.job.server(0b111, 0, dst, k, false)] = true
			serving[c.job.server(0b111, 0, dst, k, true)] = true
		}
	}
	require.Len(t, serving, 3, "additional replicas take a part of the work")
	for k := range 3 {
		require.Equal(t, k, c.job.server(0b111, 0, 3, k, true), "equal degrees: replica k to replica k")
	}
	for live := uint64(1); live < 16; live++ { // the result changes only if the source died
		for k := range 6 {
			s := source(live, 4, k)
			for d := range each(live) {
				if d != s {
					require.Equal(t, s, source(live&^(1<<d), 4, k))
				}
			}
		}
	}
}

// TestDegrees: a replica that does not exist counts as one that died before
// the first message.
func TestDegrees(t *testing.T) {
	n := newNet(t, allWait, 2, 1, 3)
	recvs := []*pendingRecv{n.recv(n.p(2, 0), 0, 0), n.recv(n.p(2, 1), 0, 0), n.recv(n.p(2, 2), 0, 0)}
	n.send(n.p(0, 0), "m", 2, 0)
	require.Equal(t, []string{"0.0->2.0 eager", "0.0->2.2 eager", "0.0->2.1 want"}, n.sent())
	n.send(n.p(0, 1), "m", 2, 0)
	n.deliverAll()
	for _, r := range recvs {
		require.Equal(t, "0:m", r.text(t))
	}
	// A rank with one replica needs no acknowledgement.
	n.sent()
	one := n.send(n.p(1, 0), "u", 2, 0)
	n.deliverAll()
	require.True(t, one.Done())
	require.Equal(t, []string{"1.0->2.0 eager", "1.0->2.1 eager", "1.0->2.2 eager"}, n.sent())
}
