package sdr

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/transport"
)

// TestAckSet: an acknowledgement says what was received beyond the first gap.
// A bare highest contiguous number deadlocks a program that begins one send,
// completes a second, and whose receiver takes the second first.
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

// TestLazyAcks: small messages are acknowledged together, at once to those
// that wait.
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
	require.False(t, n.cores[0].Drained())
	n.sent()
	n.cores[0].Drain() // it is about to leave, and waits
	n.carry(0)
	n.deliverAll()
	require.True(t, n.cores[0].Drained())
	require.Equal(t, []string{"0.0->1.1 want", "1.1->0.0 ack", "0.0->1.1 want"}, n.sent())
	require.False(t, n.cores[1].Drained(), "the other replica has not asked")
}

// TestDrainedServes: a process whose program has returned resends for a
// replica that dies then.
func TestDrainedServes(t *testing.T) {
	n := newNet(t, Limits{}, 2, 2)
	r := n.recv(n.p(1, 1), 0, 0)
	n.send(n.p(0, 0), "m", 1, 0)
	n.cores[0].Drain()
	n.carry(0)
	n.deliverAll()
	require.False(t, n.cores[0].Drained(), "1.1 has nothing yet")
	n.die(n.p(0, 1)) // before it sent
	n.deliverAll()
	require.Equal(t, "0:m", r.text(t))
	require.True(t, n.cores[0].Drained())
}

// TestRetentionIsBounded: copies for one destination stay within the limit;
// beyond it a send waits, and goes on when acknowledgements come.
func TestRetentionIsBounded(t *testing.T) {
	limits := Limits{Retain: 10 * (frameCost + 8)}
	n := newNet(t, limits, 2, 2)
	var sends []*Request
	for i := range 25 {
		sends = append(sends, n.send(n.p(0, 0), "12345678", 1, i))
		_, bytes := n.cores[0].Retained()
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
	_, bytes := n.cores[0].Retained()
	require.LessOrEqual(t, bytes, limits.Retain)
}

// TestUnexpectedIsBounded: messages that no receive has matched take no more
// than the window at a receiver; the rest are offered, and arrive when they
// are wanted.
func TestUnexpectedIsBounded(t *testing.T) {
	limits := Limits{Window: 10 * (frameCost + 8)}
	n := newNet(t, limits, 1, 1)
	for i := range 50 {
		n.send(0, "12345678", 1, i)
	}
	n.deliverAll()
	held := 0
	for _, m := range n.ctxs[1].in[0].unexpected.all() {
		held += len(m.data)
	}
	require.Equal(t, 80, held)
	require.Equal(t, 40, strings.Count(strings.Join(n.sent(), "\n"), "offer"))
	for i := 49; i >= 0; i-- { // the last first
		r := n.recv(1, 0, i)
		n.deliverAll()
		require.Equal(t, "0:12345678", r.text(t))
	}
	require.Equal(t, 0, len(n.ctxs[1].in[0].live))
	n.sent()
	n.send(0, "12345678", 1, 0)
	require.Equal(t, []string{"0.0->1.0 eager"}, n.sent(), "the room was returned")
}

// TestOnlyTheDeadAreRefused: a frame is refused if its sender's incarnation
// was declared dead, and for no other reason: its sender and this process may
// have heard of different deaths.
func TestOnlyTheDeadAreRefused(t *testing.T) {
	n := newNet(t, Limits{}, 2, 2, 2)
	// Rank 1 hears of two deaths, rank 0 of none: what 0.1 sends still counts.
	n.hear(n.p(1, 1), n.p(2, 0), n.cores[n.p(1, 1)])
	n.hear(n.p(1, 1), n.p(1, 0), n.cores[n.p(1, 1)])
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

// TestDuplicates: what a substitute sends again is dropped by its number.
func TestDuplicates(t *testing.T) {
	n := newNet(t, Limits{}, 2, 2)
	one, two := n.recv(n.p(1, 1), 0, 0), n.recv(n.p(1, 1), 0, 0)
	n.send(n.p(0, 0), "a", 1, 0)
	n.send(n.p(0, 1), "a", 1, 0)
	n.deliver(n.p(0, 1), n.p(1, 1))
	require.Equal(t, "0:a", one.text(t))
	n.die(n.p(0, 1))
	n.deliverAll() // 0.0 has no acknowledgement and sends it again
	require.False(t, two.Done())
	n.send(n.p(0, 0), "b", 1, 0)
	n.deliverAll()
	require.Equal(t, "0:b", two.text(t))
}

// lostOffer gives 2.1 a large message of rank 0 whose sender dies after
// offering it, and a small one of rank 1.
func lostOffer(t *testing.T) *net {
	n := newNet(t, Limits{Eager: 4}, 2, 1, 2)
	n.send(n.p(0, 1), "a large message", 2, 7)
	n.deliver(n.p(0, 1), n.p(2, 1))
	return n
}

// TestUnboundReceive: a receive from any source that was bound to a message
// which the dead sender had only offered takes another message meanwhile: the
// substitute may not send its copy before this rank has sent what depends on
// the receive.
func TestUnboundReceive(t *testing.T) {
	n := lostOffer(t)
	p := n.p(2, 1)
	any, next := n.recv(p, Any, Any), n.recv(p, Any, Any)
	n.die(n.p(0, 1))
	n.send(n.p(1, 0), "x", 2, 0)
	n.deliver(n.p(1, 0), p)
	require.Equal(t, "1:x", any.text(t), "it had its old place, before the other receive")
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

// TestProbedStaysBound: a message whose status the program has seen is what
// the next receive gets, although its sender died and others are here.
func TestProbedStaysBound(t *testing.T) {
	n := lostOffer(t)
	p := n.p(2, 1)
	st, ok := n.cores[p].Probe(n.ctxs[p], Any, Any)
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

// TestNoOvertaking: when a message is lost, later ones of its source wait for
// it; and a receive keeps its message if a later one has been received.
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
	t.Run("later one received", func(t *testing.T) {
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

// TestTornPayload: nothing of a payload that broke is seen, and the substitute
// is asked for all of it.
func TestTornPayload(t *testing.T) {
	n := newNet(t, Limits{Eager: 4}, 2, 2)
	p := n.p(1, 1)
	r := n.recv(p, 0, 0)
	n.send(n.p(0, 0), "a large message", 1, 0)
	n.send(n.p(0, 1), "a large message", 1, 0)
	n.deliver(n.p(0, 1), p) // offer
	n.deliver(p, n.p(0, 1)) // grant
	f := n.wire[[2]int{n.p(0, 1), p}][0]
	copy(n.cores[p].Begin(n.p(0, 1), &f.header), "a lar")
	n.cores[p].Torn(n.p(0, 1), &f.header)
	n.die(n.p(0, 1))
	require.False(t, r.Done())
	n.deliverAll()
	require.Equal(t, "0:a large message", r.text(t))
}

// TestEagerCopyOfOffered: the dead sender had offered a message, and its
// substitute, with more room at the receiver, sends it at once, while the
// payload is still coming.
func TestEagerCopyOfOffered(t *testing.T) {
	for _, broke := range []bool{true, false} {
		t.Run(fmt.Sprint("broke ", broke), func(t *testing.T) {
			n := newNet(t, Limits{Window: frameCost + 10}, 2, 2)
			p := n.p(1, 1)
			n.cores[n.p(0, 1)].processes[p].credit = 0
			r := n.recv(p, 0, 0)
			n.send(n.p(0, 0), "message", 1, 0)
			n.send(n.p(0, 1), "message", 1, 0)
			n.deliver(n.p(0, 1), p)
			n.deliver(p, n.p(0, 1))
			f := n.wire[[2]int{n.p(0, 1), p}][0]
			place := n.cores[p].Begin(n.p(0, 1), &f.header)
			copy(place, "mes")
			for q, c := range n.cores { // all but p hear of the death
				if q != p && q != n.p(0, 1) {
					n.hear(q, n.p(0, 1), c)
				}
			}
			n.deliver(n.p(0, 0), p) // the copy
			require.False(t, r.Done())
			if broke {
				n.cores[p].Torn(n.p(0, 1), &f.header)
			} else {
				copy(place, "message")
				require.NoError(t, n.cores[p].End(n.p(0, 1), &f.header, place))
			}
			n.carry(p)
			require.Equal(t, "0:message", r.text(t))
		})
	}
}

// TestCausalOrder: rank 0 has one replica and serves both of rank 1, of which
// 1.1 is behind. What rank 0 sends after 1.0 has answered it must not match a
// receive from any source that 1.1 has posted before the answer.
func TestCausalOrder(t *testing.T) {
	n := newNet(t, Limits{}, 1, 2, 1)
	ahead, behind := n.p(1, 0), n.p(1, 1)
	n.send(n.p(2, 0), "from 2", 1, 0)
	a := n.recv(ahead, Any, 0)
	n.deliver(n.p(2, 0), ahead) // not to 1.1 yet
	require.Equal(t, "2:from 2", a.text(t))
	n.send(ahead, "answer", 0, 0)
	n.recv(n.p(0, 0), 1, 0)
	n.deliver(ahead, n.p(0, 0))
	n.send(n.p(0, 0), "later", 1, 0)
	b := n.recv(behind, Any, 0)
	n.deliver(n.p(0, 0), behind)
	require.False(t, b.Done(), "it depends on the answer")
	_, ok := n.cores[behind].Probe(n.ctxs[behind], Any, Any)
	require.False(t, ok)
	n.deliver(n.p(2, 0), behind)
	require.Equal(t, "2:from 2", b.text(t))
	c := n.recv(behind, Any, 0)
	require.False(t, c.Done())
	n.send(behind, "answer", 0, 0)
	require.Equal(t, "0:later", c.text(t), "the answer was begun")
}

// TestClosedContext: what comes for a context that was freed is acknowledged,
// so that nobody waits for it, and not taken for a new one.
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
	require.True(t, n.cores[0].Drained() && n.cores[1].Drained())
	require.Empty(t, n.cores[2].order)
	_, err := n.cores[2].Join(testContext, testContext, false)
	require.Error(t, err, "contexts are not used twice")
}

// TestEarlyFrames: frames may come before their context is joined.
func TestEarlyFrames(t *testing.T) {
	n := newNet(t, Limits{}, 2, 2)
	for p := range 2 {
		ctx, err := n.cores[p].Join(77, 77, false)
		require.NoError(t, err)
		n.ctxs[p] = ctx
		n.send(p, "m", 1, 0)
	}
	n.deliverAll()
	for p := 2; p < 4; p++ {
		ctx, err := n.cores[p].Join(77, 77, false)
		require.NoError(t, err)
		n.ctxs[p] = ctx
		require.Equal(t, "0:m", n.recv(p, 0, 0).text(t))
	}
}

// TestDivergence: replicas of one rank that send different messages under the
// same number are reported where it shows.
func TestDivergence(t *testing.T) {
	n := newNet(t, Limits{Eager: 4}, 2, 2)
	p := n.p(1, 1)
	n.send(n.p(0, 1), "a large message", 1, 0)
	n.deliver(n.p(0, 1), p)
	n.send(n.p(0, 0), "another message", 1, 1)
	n.hear(n.p(0, 0), n.p(0, 1), n.cores[n.p(0, 0)])
	key := [2]int{n.p(0, 0), p}
	f := n.wire[key][len(n.wire[key])-1]
	require.ErrorIs(t, n.cores[p].End(n.p(0, 0), &f.header, f.payload), ErrProtocol)
}

// TestMirror: every replica sends to every replica, and nobody acknowledges
// what came with its payload.
func TestMirror(t *testing.T) {
	n := newNet(t, Limits{}, 2, 2)
	for _, c := range n.cores {
		c.mirror = true
	}
	r := n.recv(n.p(1, 1), 0, 0)
	n.send(n.p(0, 0), "m", 1, 0)
	n.send(n.p(0, 1), "m", 1, 0)
	n.deliverAll()
	require.Equal(t, "0:m", r.text(t))
	require.Equal(t, []string{"0.0->1.0 eager", "0.0->1.1 eager", "0.1->1.0 eager", "0.1->1.1 eager"}, n.sent())
	require.True(t, n.cores[0].Drained() && n.cores[1].Drained())
}

// TestCancel takes back a receive that nothing has matched, and no other.
func TestCancel(t *testing.T) {
	n := newNet(t, Limits{Eager: 4}, 1, 1)
	r, bound := n.recv(1, 0, 1), n.recv(1, Any, 2)
	n.send(0, "a large message", 1, 2)
	n.deliver(0, 1)
	require.True(t, n.cores[1].Cancel(&r.Request))
	require.False(t, n.cores[1].Cancel(&bound.Request))
	n.carry(1)
	n.deliverAll()
	st, err := r.Result()
	require.NoError(t, err)
	require.True(t, r.Done() && st.Cancelled)
	require.Equal(t, "0:a large message", bound.text(t))
}

// TestTruncate: the beginning of a message that is too long is delivered.
func TestTruncate(t *testing.T) {
	for _, eager := range []int{1, 100} {
		n := newNet(t, Limits{Eager: eager}, 1, 1)
		var r Request
		room := make([]byte, 4)
		n.cores[1].Recv(n.ctxs[1], &r, room, 0, 0)
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

// FuzzFrames feeds arbitrary frames to a core in the middle of things. It may
// refuse them, but must not fail.
func FuzzFrames(f *testing.F) {
	f.Add([]byte{kindEager, 0, 0, 0, 0, 0, 0, 1, 42, 3, 'a', 'b', 'c'}, false)
	f.Add([]byte{kindOffer, 1, 0, 9, 0, 0, 0, 1, 42, 0}, true)
	f.Add([]byte{kindAck, 7, 1, 255, 255, 255, 255, 2, 42, 16, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, false)
	f.Add([]byte{kindData, 0, 0, 0, 0, 0, 0, 1, 42, 0, kindWant, 1, 0, 0, 0, 0, 0, 1, 0, 0}, true)
	f.Fuzz(func(t *testing.T, in []byte, replicated bool) {
		degrees := []int{1, 1}
		if replicated {
			degrees = []int{2, 2}
		}
		n := newNet(t, Limits{Eager: 8, Window: 1000, Retain: 500}, degrees...)
		n.recv(0, 1, 3)
		n.recv(0, Any, Any)
		n.ssend(0, "large enough", 1, 0)
		n.send(0, "m", 1, 0)
		c := n.cores[0]
		for len(in) >= 10 {
			h := transport.Header{Channel: transport.ChannelMessage, Kind: in[0] % 9, Flags: uint16(in[7] >> 4)}
			from := len(degrees)*(degrees[0]-1) + int(in[7])%degrees[0]
			if !replicated {
				from = 1
			}
			h.Args = [6]uint64{uint64(in[8]), uint64(int8(in[1])), uint64(in[2]), uint64(in[3]), uint64(in[4]) * 8, uint64(in[5])}
			if h.Kind == kindWant || h.Kind == kindCredit {
				h.Args[0] = uint64(int8(in[1]))
			}
			size := min(int(in[9]), len(in)-10)
			payload := in[10 : 10+size]
			h.Size = uint64(size)
			switch in[6] % 4 {
			case 1:
				if size > 0 {
					c.Begin(from, &h)
					c.Torn(from, &h)
				}
			case 2:
				if size > 0 {
					c.Begin(from, &h)
				}
				_ = c.End(from, &h, payload)
			case 3:
				c.Dead(from)
			default:
				_ = c.End(from, &h, payload)
			}
			n.carry(0)
			in = in[10+size:]
		}
		c.Probe(n.ctxs[0], Any, Any)
		n.recv(0, Any, Any)
		c.Free(n.ctxs[0])
	})
}
