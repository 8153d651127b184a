package sdr

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/transport"
)

// begin begins a cut at some processes. Their bookmarks stay on the wire.
func (n *net) begin(cut uint64, ps ...int) {
	for _, p := range ps {
		require.NoError(n.t, n.cores[p].cuts.BeginCut(cut))
		n.carry(p)
	}
}

func (n *net) arrived(p int) bool {
	done, err := n.cores[p].cuts.Arrived()
	require.NoError(n.t, err)
	n.carry(p)
	return done
}

func (n *net) end(joined []Joiner, ps ...int) {
	for _, p := range ps {
		require.NoError(n.t, n.cores[p].Cut(joined))
		n.carry(p)
	}
}

// restore creates process p again at a position, with another incarnation.
func (n *net) restore(p int, incarnation uint32, limits Limits, degrees []int, b []byte) *Core {
	var pos Position
	require.NoError(n.t, pos.UnmarshalBinary(b))
	old := n.cores[p]
	c := NewCore(old.job.rank, old.job.replica, 0, degrees, false, limits)
	c.out.incarnation = incarnation
	require.NoError(n.t, c.cuts.Restore(&pos))
	ctx, err := c.Join(testContext, testContext, false, nil)
	require.NoError(n.t, err)
	n.cores[p], n.ctxs[p] = c, ctx
	return c
}

func (n *net) position(p int) []byte {
	pos, err := n.cores[p].cuts.Position()
	require.NoError(n.t, err)
	b, err := pos.MarshalBinary()
	require.NoError(n.t, err)
	return b
}

// TestDrain: a message that no receive has matched arrives before the cut, whatever its
// size. Its send completes at the cut, and no copy is kept.
func TestDrain(t *testing.T) {
	limits := Limits{Eager: 8}
	n := newNet(t, limits, 1, 1)
	large := n.send(0, "larger than eight bytes", 1, 5)
	small := n.send(0, "small", 1, 6)
	n.begin(1, 0)
	require.False(t, n.arrived(0), "1.0 may have sent a message")
	n.deliver(0, 1) // the offer
	n.deliver(0, 1) // the small message
	require.False(t, large.Done())
	require.True(t, small.Done())
	n.begin(1, 1)
	require.False(t, n.arrived(1))
	n.deliver(1, 0) // 1.0 requests the large message
	n.deliver(0, 1) // the bookmark
	require.False(t, n.arrived(1), "the payload is on its way")
	n.deliverAll()
	require.True(t, n.arrived(0) && n.arrived(1))
	taken := n.position(1)

	n.end(nil, 0, 1)
	require.True(t, large.Done())
	kept, bytes := n.cores[0].outgoing.Retained()
	require.Zero(t, kept+bytes)
	require.Equal(t, "0:larger than eight bytes", n.recv(1, 0, 5).text(t))

	// A process that begins at the position has both messages, and continues
	// the numbers.
	n.restore(1, 1, limits, []int{1, 1}, taken)
	n.end(nil, 1)
	n.cores[0].job.processes[1].incarnation = 1
	require.Equal(t, "0:small", n.recv(1, 0, 6).text(t))
	require.Equal(t, "0:larger than eight bytes", n.recv(1, 0, 5).text(t))
	next := n.recv(1, 0, Any)
	n.send(0, "next", 1, 7)
	n.deliverAll()
	require.Equal(t, "0:next", next.text(t))
}

// TestBookmarkOfTheDead: a process dies during the cut. Its substitute sends its bookmark,
// and the messages that the dead process had not sent.
func TestBookmarkOfTheDead(t *testing.T) {
	n := newNet(t, Limits{}, 2, 2)
	all := []int{0, 1, 2, 3}
	for p := range 2 {
		n.send(p, "m", 1, 0)
	}
	n.begin(1, all...)
	n.die(n.p(0, 1)) // with all frames that it had on the wire
	n.deliverAll()
	for _, p := range []int{0, 2, 3} {
		require.True(t, n.arrived(p), n.name(p))
	}
	n.end(nil, 0, 2, 3)
	require.Equal(t, "0:m", n.recv(n.p(1, 1), 0, 0).text(t))
}

// TestAheadOfTheCut: 0.1 sends a message from after the cut and dies. The causal history of
// the message counts from before the cut. So the receiver discards the message, as if it
// had never arrived. 0.0 sends it on reaching that point, and then a receive from any
// source gets it.
func TestAheadOfTheCut(t *testing.T) {
	n := newNet(t, Limits{}, 2, 2)
	for k := range 2 {
		n.send(n.p(1, k), "before", 0, 0)
		r := n.recv(n.p(0, k), 1, 0)
		n.deliverAll()
		n.cores[n.p(0, k)].matching.See(&r.Request)
	}
	n.send(n.p(0, 1), "behind", 1, 0)
	n.deliverAll()
	n.die(n.p(0, 1))
	live := []int{n.p(0, 0), n.p(1, 0), n.p(1, 1)}
	n.begin(1, live...)
	n.deliverAll()
	for _, p := range live {
		require.True(t, n.arrived(p), n.name(p))
	}
	quick, late := n.p(1, 0), n.p(1, 1)
	n.end(nil, n.p(0, 0), quick)
	n.send(n.p(0, 0), "behind", 1, 0)
	n.deliverAll() // 1.1 is still in the cut
	n.end(nil, late)
	for _, p := range []int{quick, late} {
		require.Equal(t, "0:behind", n.recv(p, Any, 0).text(t), n.name(p))
	}
	n.cores[n.p(0, 0)].Drain()
	n.carry(n.p(0, 0))
	n.deliverAll()
	require.True(t, n.cores[n.p(0, 0)].outgoing.Drained())
}

// TestAcknowledgedAheadOfTheCut: before its death 0.1 sent a message from after the cut to
// 1.1, and 0.0 has the acknowledgement. 1.1 discards that message, so 0.0 sends it.
func TestAcknowledgedAheadOfTheCut(t *testing.T) {
	n := newNet(t, Limits{}, 2, 2)
	for range ackEvery {
		n.send(n.p(0, 1), "behind", 1, 0)
	}
	n.deliverAll()
	n.die(n.p(0, 1))
	require.True(t, n.ctxs[n.p(0, 0)].out[1].acked[1].has(ackEvery-1), "1.1 has acknowledged the message")
	live := []int{n.p(0, 0), n.p(1, 0), n.p(1, 1)}
	n.begin(1, live...)
	n.deliverAll()
	for _, p := range live {
		require.True(t, n.arrived(p), n.name(p))
	}
	n.end(nil, live...)
	for range ackEvery {
		n.send(n.p(0, 0), "behind", 1, 0)
	}
	n.deliverAll()
	for range ackEvery {
		for _, p := range []int{n.p(1, 0), n.p(1, 1)} {
			require.Equal(t, "0:behind", n.recv(p, 0, 0).text(t), n.name(p))
		}
	}
}

// TestLivesAgain: after the cut a restarted replica sends and receives as if it had not
// died. Frames of its first incarnation are refused.
func TestLivesAgain(t *testing.T) {
	n := newNet(t, Limits{}, 2, 3)
	p01 := n.p(0, 1)
	n.send(p01, "from the first incarnation", 1, 0)
	late := n.wire[[2]int{p01, n.p(1, 1)}][0]
	n.die(p01)
	n.send(n.p(0, 0), "before", 1, 0)
	live := []int{n.p(0, 0), n.p(1, 0), n.p(1, 1), n.p(1, 2)}
	n.begin(1, live...)
	n.deliverAll()
	for _, p := range live {
		require.True(t, n.arrived(p))
	}
	n.restore(p01, 7, Limits{}, []int{2, 3}, n.position(n.p(0, 0)))
	joined := []Joiner{{0, 1, 7}}
	n.sent()

	// The joiner and 0.0 are faster than rank 1.
	n.end(joined, p01, n.p(0, 0))
	n.send(p01, "after", 1, 0)
	n.send(n.p(0, 0), "after", 1, 0)
	require.Equal(t, []string{"0.1->1.1 eager", "0.0->1.0 eager", "0.0->1.2 eager"}, n.sent(), "replica k serves replica k")
	n.deliverAll()
	c := n.cores[n.p(1, 1)]
	require.NoError(t, c.End(p01, &late.header, late.payload))
	n.end(joined, n.p(1, 0), n.p(1, 1), n.p(1, 2))
	n.deliverAll()
	for k := range 3 {
		require.Equal(t, "0:before", n.recv(n.p(1, k), 0, 0).text(t))
		require.Equal(t, "0:after", n.recv(n.p(1, k), 0, 0).text(t))
	}
	require.NoError(t, c.End(p01, &late.header, late.payload), "refused, silently")
	require.Empty(t, c.job.processes[p01].early.frames)

	// The process dies again; 0.0 serves in its place again.
	n.die(p01)
	n.sent()
	n.send(n.p(0, 0), "last", 1, 0)
	require.Contains(t, n.sent(), "0.0->1.1 eager")
}

// TestQuickerThanTheCut: a message from after the cut reaches a replica that has not passed
// the cut. There it depends on operations after the cut. A message from before the cut
// depends on nothing.
func TestQuickerThanTheCut(t *testing.T) {
	n := newNet(t, Limits{}, 1, 2)
	a0, a1, b := n.p(1, 0), n.p(1, 1), n.p(0, 0) // 1.0 sends to 0.0
	for _, a := range []int{a0, a1} {
		n.send(a, "q", 0, 0)
	}
	n.deliverAll()
	n.see(b, n.recv(b, 1, 0))
	n.send(b, "old", 1, 0)
	n.begin(1, a0, a1, b)
	n.deliverAll()
	for p := range n.cores {
		require.True(t, n.arrived(p))
	}
	n.end(nil, a0, b)
	n.send(a0, "question", 0, 0)
	n.deliverAll()
	n.see(b, n.recv(b, 1, 0))
	n.send(b, "answer", 1, 0)
	n.deliverAll()

	n.end(nil, a1)
	require.Equal(t, "0:old", n.recv(a1, Any, Any).text(t))
	answer := n.recv(a1, Any, Any)
	require.False(t, answer.Done(), "1.1 has not requested the payload yet")
	n.send(a1, "question", 0, 0)
	require.Equal(t, "0:answer", answer.text(t))
}

// TestEarlyFramesOutliveTheVerdict: frames of the second incarnation may arrive before the
// verdict on the first one, and the verdict does not affect them. A verdict on a second
// incarnation that was never announced discards its frames.
func TestEarlyFramesOutliveTheVerdict(t *testing.T) {
	n := newNet(t, Limits{}, 2, 2)
	p01, c := n.p(0, 1), n.cores[n.p(1, 1)]
	h := transport.Header{Channel: transport.ChannelMessage, Kind: kindWant, Incarnation: 2}
	require.NoError(t, c.End(p01, &h, nil))
	c.Dead(p01)
	require.Len(t, c.job.processes[p01].early.frames, 1)
	c.Dead(p01)
	require.Empty(t, c.job.processes[p01].early.frames)
}

// TestRoomOfTheFirstIncarnation: messages that a process sent before it died occupy no room of its
// next incarnation.
func TestRoomOfTheFirstIncarnation(t *testing.T) {
	limits := Limits{Window: 1000}
	n := newNet(t, limits, 2, 2)
	p01, c := n.p(0, 1), n.cores[n.p(1, 1)]
	n.send(n.p(0, 0), strings.Repeat("x", 400), 1, 0)
	n.send(p01, strings.Repeat("x", 400), 1, 0)
	n.deliverAll()
	n.die(p01)
	live := []int{n.p(0, 0), n.p(1, 0), n.p(1, 1)}
	n.begin(1, live...)
	n.deliverAll()
	for _, p := range live {
		require.True(t, n.arrived(p))
		n.end([]Joiner{{0, 1, 2}}, p)
	}
	n.sent()
	c.matching.Recv(n.ctxs[n.p(1, 1)], new(Request), make([]byte, 400), 0, 0)
	n.carry(n.p(1, 1))
	require.Empty(t, n.sent(), "no room is returned to the dead process")
	require.Zero(t, c.job.processes[p01].owed)
}

// TestUnannouncedIncarnation: a bounded number of frames is kept for an incarnation that is never
// announced.
func TestUnannouncedIncarnation(t *testing.T) {
	n := newNet(t, Limits{}, 1, 1)
	h := transport.Header{Channel: transport.ChannelMessage, Kind: kindEager, Incarnation: 3, Size: 1 << 20}
	h.Args[0] = testContext
	payload := make([]byte, 1<<20)
	for range maxEarly>>20 - 1 {
		require.NoError(t, n.cores[0].End(1, &h, payload))
	}
	require.ErrorIs(t, n.cores[0].End(1, &h, payload), ErrProtocol)
}

func TestPending(t *testing.T) {
	for name, c := range map[string]struct {
		begin func(n *net) (cancel func())
		want  string
	}{
		"receive": {func(n *net) func() {
			r := n.recv(0, 1, 4)
			return func() { n.cores[0].matching.Cancel(&r.Request) }
		}, "a receive from rank 1 with tag 4 is pending across a safe point"},
		"receive from any": {func(n *net) func() {
			r := n.recv(0, Any, Any)
			return func() { n.cores[0].matching.Cancel(&r.Request) }
		}, "a receive from any rank is pending across a safe point"},
		"synchronous send": {func(n *net) func() {
			n.ssend(0, "x", 1, 9)
			return func() { n.recv(1, 0, 9); n.deliverAll() }
		}, "a synchronous send to rank 1 with tag 9 is pending across a safe point"},
		"synchronous send to itself": {func(n *net) func() {
			n.ssend(0, "x", 0, 9)
			return func() { n.recv(0, 0, 9) }
		}, "a synchronous send to rank 0 with tag 9 is pending across a safe point"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNet(t, Limits{}, 1, 1)
			require.NoError(t, n.cores[0].cuts.Pending())
			cancel := c.begin(n)
			err := n.cores[0].cuts.BeginCut(1)
			require.ErrorIs(t, err, ErrPending)
			require.Equal(t, c.want, err.Error())
			cancel()
			require.NoError(t, n.cores[0].cuts.BeginCut(1))
		})
	}
}

// TestCancelCut: after a cut that only some processes had begun was cancelled, the next cut
// succeeds.
func TestCancelCut(t *testing.T) {
	n := newNet(t, Limits{}, 2, 1)
	n.begin(1, n.p(0, 0), n.p(1, 0))
	n.deliverAll()
	for p := range n.cores {
		n.cores[p].cuts.CancelCut()
		n.carry(p)
	}
	_, err := n.cores[0].cuts.Arrived()
	require.Error(t, err)
	require.Error(t, n.cores[0].Cut(nil))
	kept, _ := n.cores[0].outgoing.Retained()
	require.Zero(t, kept)
	require.Error(t, n.cores[0].cuts.BeginCut(1), "cuts are numbered upwards")
	n.send(0, "m", 1, 0)
	n.send(1, "m", 1, 0)
	n.begin(2, 0, 1, 2)
	n.deliverAll()
	for p := range n.cores {
		require.True(t, n.arrived(p))
		n.end(nil, p)
		for _, s := range n.cores[p].contexts.bookmarks.in {
			require.True(t, s == nil || s.unexpected.first == nil, "bookmarks are discarded")
		}
	}
	require.Equal(t, "0:m", n.recv(2, 0, 0).text(t))
}

// TestFreedOnOneSide: if one rank freed a communicator before the cut and another did not,
// the error reports that.
func TestFreedOnOneSide(t *testing.T) {
	n := newNet(t, Limits{}, 1, 1)
	n.cores[0].Free(n.ctxs[0])
	n.begin(1, 0, 1)
	n.deliverAll()
	require.True(t, n.arrived(0))
	_, err := n.cores[1].cuts.Arrived()
	require.ErrorContains(t, err, "rank 0 has freed a communicator that rank 1 still has")
}

// samplePosition returns the position of rank 0 with messages of both ranks.
func samplePosition(t testing.TB) *Position {
	n := newNet(t, Limits{}, 1, 1)
	n.send(0, "to itself", 0, 3)
	n.send(1, "a", 0, 1)
	n.send(1, strings.Repeat("b", 100), 0, 2)
	n.send(0, "c", 1, 1)
	n.begin(1, 0, 1)
	n.deliverAll()
	require.True(t, n.arrived(0))
	pos, err := n.cores[0].cuts.Position()
	require.NoError(t, err)
	pos.program = []byte("more")
	return pos
}

func TestPosition(t *testing.T) {
	pos := samplePosition(t)
	require.Equal(t, 0, pos.Rank())
	require.Equal(t, 2, pos.Size())
	b, err := pos.MarshalBinary()
	require.NoError(t, err)
	var again Position
	require.NoError(t, again.UnmarshalBinary(b))
	require.Equal(t, *pos, again)

	for end := range b {
		require.ErrorIs(t, new(Position).UnmarshalBinary(b[:end]), ErrPosition)
	}
	require.ErrorIs(t, new(Position).UnmarshalBinary(append(b, 0)), ErrPosition)
	future := append([]byte(nil), b...)
	future[4] = 9
	require.ErrorContains(t, new(Position).UnmarshalBinary(future), "version 9")
	require.Error(t, NewCore(1, 0, 0, []int{1, 1}, false, Limits{}).cuts.Restore(pos), "of another rank")
	require.Error(t, NewCore(0, 0, 0, []int{1, 1, 1}, false, Limits{}).cuts.Restore(pos), "of another job")
	_, err = NewCore(0, 0, 0, []int{1}, false, Limits{}).cuts.Position()
	require.Error(t, err, "not in a cut")
}

// FuzzPosition: a core refuses bytes, or can begin at the position that they encode.
// Encoding that position gives the same bytes.
func FuzzPosition(f *testing.F) {
	b, err := samplePosition(f).MarshalBinary()
	require.NoError(f, err)
	f.Add(b)
	f.Add([]byte(positionMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		var pos Position
		if err := pos.UnmarshalBinary(b); err != nil {
			require.True(t, errors.Is(err, ErrPosition))
			return
		}
		again, err := pos.MarshalBinary()
		require.NoError(t, err)
		require.Equal(t, b, again)
		if pos.size > 16 {
			return
		}
		degrees := make([]int, pos.size)
		c := NewCore(pos.rank, 0, 0, degrees, false, Limits{})
		require.NoError(t, c.cuts.Restore(&pos))
		require.NoError(t, c.Cut(nil))
		require.NoError(t, c.cuts.BeginCut(pos.cut+1))
	})
}
