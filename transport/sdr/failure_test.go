package sdr

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOnlyTheDeadAreRefused: a frame is refused only if the incarnation of its sender was
// declared dead. The sender and this process may know of different deaths.
func TestOnlyTheDeadAreRefused(t *testing.T) {
	n := newNet(t, Limits{}, 2, 2, 2)
	// Rank 1 knows of two deaths, rank 0 of none: a message of 0.1 still
	// counts.
	n.reportDeath(n.p(1, 1), n.p(2, 0), n.cores[n.p(1, 1)])
	n.reportDeath(n.p(1, 1), n.p(1, 0), n.cores[n.p(1, 1)])
	r := n.recv(n.p(1, 1), 0, 0)
	n.send(n.p(0, 1), "m", 1, 0)
	n.deliver(n.p(0, 1), n.p(1, 1))
	require.Equal(t, "0:m", r.text(t))

	// 0.1 is declared dead with a frame on the wire.
	n.send(n.p(0, 1), "late", 1, 0)
	f := n.wire[[2]int{n.p(0, 1), n.p(1, 1)}][0]
	c := n.cores[n.p(1, 1)]
	c.Dead(n.p(0, 1))
	n.carry(n.p(1, 1))
	late := n.recv(n.p(1, 1), 0, 0)
	require.NoError(t, c.End(n.p(0, 1), &f.header, f.payload))
	require.False(t, late.Done())
	n.die(n.p(0, 1))
	n.send(n.p(0, 0), "m", 1, 0)
	n.send(n.p(0, 0), "late", 1, 0)
	n.deliverAll()
	require.Equal(t, "0:late", late.text(t), "the substitute sends it")
}

// TestDuplicates: a message that a substitute sends again is discarded by its
// number.
func TestDuplicates(t *testing.T) {
	n := newNet(t, Limits{}, 2, 2)
	one, two := n.recv(n.p(1, 1), 0, 0), n.recv(n.p(1, 1), 0, 0)
	n.send(n.p(0, 0), "a", 1, 0)
	n.send(n.p(0, 1), "a", 1, 0)
	n.deliver(n.p(0, 1), n.p(1, 1))
	require.Equal(t, "0:a", one.text(t))
	n.die(n.p(0, 1))
	n.deliverAll() // 0.0 has got no acknowledgement and sends the message again
	require.False(t, two.Done())
	n.send(n.p(0, 0), "b", 1, 0)
	n.deliverAll()
	require.Equal(t, "0:b", two.text(t))
}

// lostOffer sends 2.1 a small message of rank 1, and the offer of a large message of rank
// 0. Then the sender of the offer dies.
func lostOffer(t *testing.T) *net {
	n := newNet(t, Limits{Eager: 4}, 2, 1, 2)
	n.send(n.p(0, 1), "a large message", 2, 7)
	n.deliver(n.p(0, 1), n.p(2, 1))
	return n
}

// TestUnboundReceive: a receive from any source was bound to an offered message, and the
// sender died. The receive matches another message instead. If it waited, it might wait
// forever: the substitute may be able to send its copy only after it has received a message
// of this rank that depends on the receive.
func TestUnboundReceive(t *testing.T) {
	n := lostOffer(t)
	p := n.p(2, 1)
	any, next := n.recv(p, Any, Any), n.recv(p, Any, Any)
	n.die(n.p(0, 1))
	n.send(n.p(1, 0), "x", 2, 0)
	n.deliver(n.p(1, 0), p)
	require.Equal(t, "1:x", any.text(t), "the receive has its old place, before the other receive")
	n.send(n.p(0, 0), "a large message", 2, 7)
	n.deliverAll()
	require.Equal(t, "0:a large message", next.text(t))
}

// TestBoundToSource: a receive from one source waits for the substitute.
func TestBoundToSource(t *testing.T) {
	n := lostOffer(t)
	r := n.recv(n.p(2, 1), 0, Any)
	n.die(n.p(0, 1))
	n.send(n.p(0, 0), "a large message", 2, 7)
	n.deliverAll()
	require.Equal(t, "0:a large message", r.text(t))
}

// TestProbedStaysBound: the program has probed a message, and its sender dies. The next
// receive still gets that message, although other messages are here.
func TestProbedStaysBound(t *testing.T) {
	n := lostOffer(t)
	p := n.p(2, 1)
	st, ok := n.cores[p].matching.Probe(n.ctxs[p], Any, Any)
	require.True(t, ok)
	require.Equal(t, Status{Source: 0, Tag: 7, Size: 15}, st)
	n.die(n.p(0, 1))
	n.send(n.p(1, 0), "x", 2, 0)
	n.deliver(n.p(1, 0), p)
	any := n.recv(p, Any, Any)
	require.False(t, any.Done())
	n.send(n.p(0, 0), "a large message", 2, 7)
	n.deliverAll()
	require.Equal(t, "0:a large message", any.text(t))
}

// TestNoOvertaking: when a message is lost, later messages of its source wait for it. But a
// receive stays bound to the lost message if a later message has already been received.
func TestNoOvertaking(t *testing.T) {
	t.Run("unmatched", func(t *testing.T) {
		n := lostOffer(t)
		p := n.p(2, 1)
		n.send(n.p(0, 1), "y", 2, 7)
		n.deliver(n.p(0, 1), p)
		n.die(n.p(0, 1))
		first := n.recv(p, 0, 7)
		require.False(t, first.Done(), "y comes after the lost message")
		second := n.recv(p, Any, 7)
		n.send(n.p(0, 0), "a large message", 2, 7)
		n.deliverAll()
		require.Equal(t, "0:a large message", first.text(t))
		require.Equal(t, "0:y", second.text(t))
	})
	t.Run("a later receive has an earlier message", func(t *testing.T) {
		n := lostOffer(t)
		p := n.p(2, 1)
		first, second, third := n.recv(p, Any, 7), n.recv(p, Any, 7), n.recv(p, Any, 7)
		n.send(n.p(1, 0), "1", 2, 7)
		n.deliver(n.p(1, 0), p)
		require.Equal(t, "1:1", second.text(t))
		n.die(n.p(0, 1))
		n.send(n.p(1, 0), "2", 2, 7)
		n.deliver(n.p(1, 0), p)
		require.False(t, first.Done())
		require.Equal(t, "1:2", third.text(t))
		n.send(n.p(0, 0), "a large message", 2, 7)
		n.deliverAll()
		require.Equal(t, "0:a large message", first.text(t))
	})
	t.Run("a later receive has an earlier message with another tag", func(t *testing.T) {
		for _, bound := range []bool{false, true} {
			n := newNet(t, Limits{Eager: 4}, 2, 1, 2)
			from, p := n.p(0, 1), n.p(2, 1)
			first, second := n.recv(p, Any, 7), n.recv(p, 0, 8)
			text := "s"
			if bound {
				text = "large too"
			}
			n.send(from, text, 2, 8)
			n.send(from, "a large message", 2, 7)
			n.deliver(from, p)
			n.deliver(from, p)
			n.die(from)
			n.send(n.p(0, 0), text, 2, 8)
			n.deliverAll()
			n.send(n.p(0, 0), "a large message", 2, 7)
			n.deliverAll()
			require.Equal(t, "0:a large message", first.text(t))
			require.Equal(t, "0:"+text, second.text(t))
		}
	})
	t.Run("the later message is received", func(t *testing.T) {
		n := lostOffer(t)
		p := n.p(2, 1)
		first, second := n.recv(p, Any, 7), n.recv(p, Any, 7)
		n.send(n.p(0, 1), "y", 2, 7)
		n.deliver(n.p(0, 1), p)
		require.Equal(t, "0:y", second.text(t))
		n.die(n.p(0, 1))
		n.send(n.p(1, 0), "x", 2, 7)
		n.deliver(n.p(1, 0), p)
		require.False(t, first.Done(), "a third receive would get rank 0's first message after its second")
		n.send(n.p(0, 0), "a large message", 2, 7)
		n.send(n.p(0, 0), "y", 2, 7)
		n.deliverAll()
		require.Equal(t, "0:a large message", first.text(t))
	})
}

// TestTornPayload: no byte of a torn payload remains, and the substitute is
// asked for all of it.
func TestTornPayload(t *testing.T) {
	n := newNet(t, Limits{Eager: 4}, 2, 2)
	p := n.p(1, 1)
	r := n.recv(p, 0, 0)
	n.send(n.p(0, 0), "a large message", 1, 0)
	n.send(n.p(0, 1), "a large message", 1, 0)
	n.deliver(n.p(0, 1), p) // offer
	n.deliver(p, n.p(0, 1)) // grant
	f := n.wire[[2]int{n.p(0, 1), p}][0]
	copy(n.cores[p].incoming.Begin(n.p(0, 1), &f.header), "a lar")
	n.cores[p].incoming.Torn(n.p(0, 1), &f.header)
	n.die(n.p(0, 1))
	require.False(t, r.Done())
	n.deliverAll()
	require.Equal(t, "0:a large message", r.text(t))
}

// TestEagerCopyOfOffered: the dead sender had offered a message. Its substitute
// has more room at the receiver, and sends the message at once, while the
// payload of the dead sender is still arriving.
func TestEagerCopyOfOffered(t *testing.T) {
	for _, broke := range []bool{true, false} {
		t.Run(fmt.Sprint("broke ", broke), func(t *testing.T) {
			n := newNet(t, Limits{Window: frameCost + 10}, 2, 2)
			p := n.p(1, 1)
			n.cores[n.p(0, 1)].job.processes[p].credit = 0
			r := n.recv(p, 0, 0)
			n.send(n.p(0, 0), "message", 1, 0)
			n.send(n.p(0, 1), "message", 1, 0)
			n.deliver(n.p(0, 1), p)
			n.deliver(p, n.p(0, 1))
			f := n.wire[[2]int{n.p(0, 1), p}][0]
			place := n.cores[p].incoming.Begin(n.p(0, 1), &f.header)
			copy(place, "mes")
			for q, c := range n.cores { // all but p learn of the death
				if q != p && q != n.p(0, 1) {
					n.reportDeath(q, n.p(0, 1), c)
				}
			}
			n.deliver(n.p(0, 0), p) // the copy
			require.False(t, r.Done())
			if broke {
				n.cores[p].incoming.Torn(n.p(0, 1), &f.header)
			} else {
				copy(place, "message")
				require.NoError(t, n.cores[p].End(n.p(0, 1), &f.header, place))
			}
			n.carry(p)
			require.Equal(t, "0:message", r.text(t))
		})
	}
}
