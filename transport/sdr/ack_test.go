package sdr

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAckSet: an acknowledgement also contains the messages received beyond the first gap.
// If it contained only the highest contiguous number, a legal program would deadlock: it
// begins one send, completes a second, and its receiver receives the second message first.
func TestAckSet(t *testing.T) {
	n := newNet(t, Limits{Eager: 1}, 2, 2)
	var first, second []*Request
	for k := range 2 {
		first = append(first, n.send(n.p(0, k), "first, offered only", 1, 1))
		second = append(second, n.ssend(n.p(0, k), "second", 1, 2))
	}
	n.deliverAll()
	for k := range 2 {
		require.False(t, second[k].Done(), "matched by no receive yet")
		n.recv(n.p(1, k), 0, 2)
	}
	n.deliverAll()
	for k := range 2 {
		require.True(t, second[k].Done(), "number 1 is acknowledged although 0 is not")
		require.False(t, first[k].Done())
	}
}

// TestDetached: a large message that this replica has sent, but another replica has not, is
// complete as soon as it is copied. This replica sends the copy if the other one dies.
func TestDetached(t *testing.T) {
	n := newNet(t, Limits{Eager: 1, Detach: 10}, 2, 2)
	data := []byte("large")
	r := new(Request)
	n.cores[0].Send(n.ctxs[0], r, data, 1, 0, false)
	n.carry(0)
	larger := n.send(0, "too large for a copy", 1, 1)
	var got [2]*pendingRecv
	for k := range got {
		got[k] = n.recv(n.p(1, k), 0, 0)
		n.recv(n.p(1, k), 0, 1)
	}
	require.False(t, r.Done(), "offered only")
	n.deliverAll()
	require.Equal(t, "0:large", got[0].text(t))
	require.True(t, r.Done())
	require.False(t, larger.Done(), "0.1 has to send it yet")
	copy(data, "wrong")
	n.die(n.p(0, 1)) // 0.1 has not sent the message
	n.deliverAll()
	require.Equal(t, "0:large", got[1].text(t))
	require.True(t, larger.Done())
	messages, bytes := n.cores[0].outgoing.Retained()
	require.Zero(t, messages+bytes)
}

// TestLazyAcks: small messages are acknowledged in batches, but at once to processes that
// wait.
func TestLazyAcks(t *testing.T) {
	n := newNet(t, Limits{}, 2, 2)
	for i := range 3 * ackEvery {
		for k := range 2 {
			require.True(t, n.send(n.p(0, k), "m", 1, i).Done(), "copied")
		}
	}
	n.deliverAll()
	acks := strings.Count(strings.Join(n.sent(), "\n"), "ack")
	require.Equal(t, 2*3, acks)

	n.send(n.p(0, 0), "m", 1, 0)
	n.send(n.p(0, 1), "m", 1, 0)
	n.deliverAll()
	require.False(t, n.cores[0].outgoing.Drained())
	n.sent()
	n.cores[0].Drain() // the process has returned from its program and waits for acknowledgements
	n.carry(0)
	n.deliverAll()
	require.True(t, n.cores[0].outgoing.Drained())
	require.Equal(t, []string{"0.0->1.1 want", "1.1->0.0 ack", "0.0->1.1 want"}, n.sent())
	require.False(t, n.cores[1].outgoing.Drained(), "the other replica has not asked")
}

// TestDrainedServes: a process whose program has returned still resends messages for a
// replica that dies later.
func TestDrainedServes(t *testing.T) {
	n := newNet(t, Limits{}, 2, 2)
	r := n.recv(n.p(1, 1), 0, 0)
	n.send(n.p(0, 0), "m", 1, 0)
	n.cores[0].Drain()
	n.carry(0)
	n.deliverAll()
	require.False(t, n.cores[0].outgoing.Drained(), "1.1 has not received the message")
	n.die(n.p(0, 1)) // 0.1 has not sent the message
	n.deliverAll()
	require.Equal(t, "0:m", r.text(t))
	require.True(t, n.cores[0].outgoing.Drained())
}

// TestReceived: a message that was handed over may still be lost with this host, until the
// receiver confirms it. A process that sends in place of another one requests confirmations
// again.
func TestReceived(t *testing.T) {
	n := newNet(t, Limits{}, 1, 1)
	require.True(t, n.cores[0].outgoing.Received(), "nothing was sent")
	n.send(0, "m", 1, 0)
	n.cores[0].Drain()
	n.carry(0)
	wire := n.wire[[2]int{0, 1}]
	n.cores[0].outgoing.Sent(wire[0].message, 1, nil) // the kernel has the message
	wire[0].message = nil
	require.True(t, n.cores[0].outgoing.Drained())
	require.False(t, n.cores[0].outgoing.Received())
	n.carry(0)
	n.deliver(0, 1) // the message
	require.False(t, n.cores[0].outgoing.Received())
	n.carry(0)
	n.deliverAll()
	require.True(t, n.cores[0].outgoing.Received())
	require.Equal(t, []string{"0.0->1.0 eager", "0.0->1.0 arrived", "1.0->0.0 arrived"}, n.sent())

	n = newNet(t, Limits{}, 2, 1)
	for k := range 2 {
		n.send(n.p(0, k), "m", 1, 0)
		n.cores[n.p(0, k)].Drain()
	}
	n.die(0) // its message has not left; the other replica sends it
	n.carry(1)
	n.deliverAll()
	require.True(t, n.cores[1].outgoing.Drained())
	require.False(t, n.cores[1].outgoing.Received())
	n.carry(1)
	n.deliverAll()
	require.True(t, n.cores[1].outgoing.Received())
}

// TestRetentionIsBounded: copies for one destination stay within the limit. A send beyond
// the limit waits, and continues when acknowledgements arrive.
func TestRetentionIsBounded(t *testing.T) {
	limits := Limits{Retain: 10 * (frameCost + 8)}
	n := newNet(t, limits, 2, 2)
	var sends []*Request
	for i := range 25 {
		sends = append(sends, n.send(n.p(0, 0), "12345678", 1, i))
		_, bytes := n.cores[0].outgoing.Retained()
		require.LessOrEqual(t, bytes, limits.Retain)
	}
	require.True(t, sends[9].Done())
	require.False(t, sends[10].Done())
	n.deliverAll()
	require.False(t, sends[10].Done(), "1.1 lacks them")
	for i := range 25 {
		n.send(n.p(0, 1), "12345678", 1, i)
	}
	n.deliverAll()
	for i, s := range sends {
		require.True(t, s.Done(), "send %d", i)
	}
	_, bytes := n.cores[0].outgoing.Retained()
	require.LessOrEqual(t, bytes, limits.Retain)
}

// TestUnexpectedIsBounded: at a receiver, messages that no receive has matched occupy at
// most the window. Further messages are offered, and arrive when a receive requests them.
func TestUnexpectedIsBounded(t *testing.T) {
	limits := Limits{Window: 10 * (frameCost + 8)}
	n := newNet(t, limits, 1, 1)
	for i := range 50 {
		n.send(0, "12345678", 1, i)
	}
	n.deliverAll()
	held := 0
	for m := range n.ctxs[1].in[0].unexpected.messages() {
		held += len(m.data)
	}
	require.Equal(t, 80, held)
	require.Equal(t, 40, strings.Count(strings.Join(n.sent(), "\n"), "offer"))
	for i := 49; i >= 0; i-- { // the last message first
		r := n.recv(1, 0, i)
		n.deliverAll()
		require.Equal(t, "0:12345678", r.text(t))
	}
	require.Equal(t, 0, len(n.ctxs[1].in[0].live))
	n.sent()
	n.send(0, "12345678", 1, 0)
	require.Equal(t, []string{"0.0->1.0 eager"}, n.sent(), "the receiver has returned the room")
}
