package sdr

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/ruletest"
	"github.com/intrahpc/intra/transport"
)

// returns are rules of runs from a Place that the random trials of package comm hardly ever
// need. TestRulesAreNeeded removes each in turn: the tests of this file must fail.
var returns = ruletest.Table{Root: ".", Test: "TestRunAgain.*", Sign: "--- FAIL: Test", Rules: []ruletest.Rule{
	ruletest.New("kept.go", "the memory of a message that is kept is copied",
		"	o.copyOut(m)\n}\n\n// finish", "	_ = r\n}\n\n// finish"),
	ruletest.New("receive.go", "a message whose transfer was torn returns to its place",
		"		in.matching.unmatch(m)\n	}\n	if m.hasData", "	}\n	if m.hasData"),
	ruletest.New("undo.go", "a message that a link is writing counts as received",
		"				case m.filling:\n					m.req = m.req.standIn()\n", ""),
	ruletest.New("again.go", "a synchronous send waits for the message of the earlier run",
		"m.sync && first != nil", "false"),
	ruletest.New("again.go", "what is sent again is compared",
		"was != is && c.deviation == nil", "false"),
	ruletest.New("again.go", "what is not sent again is found",
		"		c.deviation = c.unsent()\n", ""),
	ruletest.New("script.go", "a collective of an earlier run posts nothing",
		"for len(round) > 0 && !e.retired {", "for len(round) > 0 {"),
}}

// rerun ends the run of the program of a process, and begins another one at a place.
func (n *net) rerun(p int, at *Place) {
	n.cores[p].retire()
	n.carry(p)
	n.beginAgain(p, at)
}

func (n *net) beginAgain(p int, at *Place) {
	n.cores[p].rerun(at)
	ctx, err := n.cores[p].Join(testContext, testContext, false, nil)
	require.NoError(n.t, err)
	require.Same(n.t, n.ctxs[p], ctx)
}

func (n *net) settle(p int) *Place {
	at, err := n.cores[p].settle()
	require.NoError(n.t, err)
	return at
}

func TestRunAgainReceivesAndSendsTheSame(t *testing.T) {
	n := newOrderedNet(t)
	n.send(2, "before", 0, 1)
	n.deliverAll()
	require.Equal(t, "1:before", n.recv(0, 1, 1).text(t))
	at := n.settle(0)
	course := func() {
		for _, text := range []string{"a", "b"} {
			require.Equal(t, "2:"+text, n.recv(0, 2, int(text[0])).text(t))
		}
		any := n.recv(0, Any, 9)
		n.recv(1, Any, 9)
		n.deliverAll()
		require.Equal(t, "1:first", any.text(t))
		n.send(0, "answer", 1, 3)
	}
	n.send(3, "c", 0, int('c'))
	n.send(3, "b", 0, int('b')) // received in another order than sent
	n.send(3, "a", 0, int('a'))
	n.send(2, "first", 0, 9)
	n.send(3, "second", 0, 9)
	n.deliverAll()
	course()
	n.send(1, "answer", 1, 3)
	n.deliverAll()
	require.Equal(t, "0:answer", n.recv(2, 0, 3).text(t))
	n.rerun(0, at)
	require.Equal(t, 1, n.cores[0].behind)
	n.sent()
	course()
	require.Empty(t, n.sent(), "nothing is sent again")
	require.Zero(t, n.cores[0].behind)
	require.Equal(t, "2:c", n.recv(0, 2, int('c')).text(t))
	n.send(0, "more", 1, 3)
	n.send(1, "more", 1, 3)
	n.deliverAll()
	require.Equal(t, "0:more", n.recv(2, 0, 3).text(t))
	require.Nil(t, n.cores[0].deviation)
}

func TestRunAgainIsCompared(t *testing.T) {
	for name, c := range map[string]struct {
		again func(n *net)
		want  string
	}{
		"other contents":  {func(n *net) { n.send(0, "other", 1, 3) }, "message 0 to rank 1: the first run has sent tag 3, 6 bytes, hash "},
		"another tag":     {func(n *net) { n.send(0, "answer", 1, 4) }, ", this run tag 4, 6 bytes, hash "},
		"another rank":    {func(n *net) { n.send(0, "answer", 2, 3); n.cores[0].Drain() }, ", this run nothing"},
		"it ends earlier": {func(n *net) { n.cores[0].Drain() }, ", this run nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newOrderedNet(t)
			at := n.settle(0)
			n.send(0, "answer", 1, 3)
			n.rerun(0, at)
			_, err := n.cores[0].settle()
			require.ErrorContains(t, err, ", this run nothing")
			c.again(n)
			require.NotNil(t, n.cores[0].deviation)
			require.ErrorContains(t, n.cores[0].deviation, c.want)
		})
	}
}

// The program overwrites the memory of its messages when it begins again.
func TestRunAgainKeepsMessagesThatAreUnderWay(t *testing.T) {
	n := newNet(t, Limits{Eager: 4}, 2, 2)
	for _, c := range n.cores {
		c.agree(nil)
	}
	at := n.settle(0)
	large, own := []byte("a large message"), []byte("one to itself")
	var r, s Request
	n.cores[0].Send(n.ctxs[0], &r, large, 1, 0, false)
	n.cores[0].Send(n.ctxs[0], &s, own, 0, 0, false)
	n.carry(0)
	n.rerun(0, at)
	require.False(t, r.Done() || s.Done())
	copy(large, "overwritten")
	copy(own, "overwritten")
	require.True(t, n.send(0, "a large message", 1, 0).Done())
	require.True(t, n.send(0, "one to itself", 0, 0).Done())
	require.Equal(t, "0:one to itself", n.recv(0, 0, 0).text(t))
	got := n.recv(2, 0, 0)
	n.deliverAll()
	require.Equal(t, "0:a large message", got.text(t))
}

// A synchronous send that is repeated ends when a receive has the message of the first run.
func TestRunAgainOfASynchronousSend(t *testing.T) {
	for _, to := range []int{1, 0} {
		n := newOrderedNet(t)
		at := n.settle(0)
		n.ssend(0, "m", to, 0)
		n.rerun(0, at)
		r := n.ssend(0, "m", to, 0)
		n.deliverAll()
		require.False(t, r.Done())
		if to == 0 {
			require.Equal(t, "0:m", n.recv(0, 0, 0).text(t))
		} else {
			n.ssend(1, "m", to, 0)
			n.recv(2, 0, 0)
			n.deliverAll()
		}
		require.True(t, r.Done())
	}
}

// A link writes a message into memory of the program when its run ends.
func TestRunAgainDuringATransfer(t *testing.T) {
	for _, torn := range []bool{false, true} {
		n := newNet(t, Limits{Eager: 4}, 2, 2)
		for _, c := range n.cores {
			c.agree(nil)
		}
		at := n.settle(0)
		first := n.recv(0, 1, 0)
		n.send(2, "a large message", 0, 0)
		n.deliver(2, 0)
		n.deliver(0, 2)
		f := n.wire[[2]int{2, 0}][0]
		place := n.cores[0].incoming.Begin(2, &f.header)
		require.NotNil(t, place)
		n.cores[0].retire()
		if torn {
			n.cores[0].incoming.Torn(2, &f.header)
			n.die(2)
		} else {
			copy(place, f.payload)
			require.NoError(t, n.cores[0].End(2, &f.header, place))
			n.wire[[2]int{2, 0}] = nil
		}
		n.beginAgain(0, at)
		clear(first.room)
		again := n.recv(0, 1, 0)
		if torn {
			n.send(3, "a large message", 0, 0)
			n.deliverAll()
		}
		require.Equal(t, "1:a large message", again.text(t), "torn: %v", torn)
		require.False(t, first.Done())
	}
}

// A communicator that was freed since a place stays until that place is forgotten.
func TestRunAgainOfAFree(t *testing.T) {
	n := newOrderedNet(t)
	c := n.cores[0]
	at := n.settle(0)
	c.Free(n.ctxs[0])
	c.Completed()
	require.NotNil(t, c.contexts.byID[testContext])
	n.rerun(0, at)
	require.True(t, n.send(0, "m", 1, 0).Done(), "it is in use again")
	at = n.settle(0)
	c.Free(n.ctxs[0])
	later := n.settle(0)
	require.Empty(t, later.contexts)
	c.forget(at)
	require.False(t, n.ctxs[0].freed)
	c.forget(later)
	require.True(t, n.ctxs[0].freed)
}

func TestRunAgainOnlyWhereReplicasAgree(t *testing.T) {
	n := newNet(t, Limits{}, 2, 1)
	_, err := n.cores[0].settle()
	require.ErrorIs(t, err, errNotOrdered)
	n = newOrderedNet(t)
	_, err = n.cores[2].settle()
	require.ErrorIs(t, err, errNotOrdered, "a rank with one replica")
	n.recv(0, Any, 0)
	_, err = n.cores[0].settle()
	require.ErrorIs(t, err, ErrPending)
}

// counted counts the frames of a link.
type counted struct {
	transport.Link
	frames *int
}

func (c counted) Send(f *transport.Frame) {
	*c.frames++
	c.Link.Send(f)
}

// A run may end while a collective does its local work, without the lock. The messages that
// come next do not belong to the next run.
func TestRunAgainStopsACollective(t *testing.T) {
	engines := make(map[[2]int]*Engine)
	frames := 0
	for _, at := range [][2]int{{0, 0}, {0, 1}, {1, 0}} { // rank and replica
		engines[at] = NewEngine(Config{Rank: at[0], Replica: at[1], Degrees: []int{2, 1}, Ordered: true, Context: t.Context(), Poller: never{},
			Link: func(rank, replica int) transport.Link {
				return counted{&direct{to: engines[[2]int{rank, replica}].Receiver(at[0], at[1])}, &frames}
			}})
	}
	e := engines[[2]int{0, 0}]
	ctx, err := e.Join(1, 1, true, nil)
	require.NoError(t, err)
	_, err = e.Runs().Settle()
	require.NoError(t, err)
	frames = 0
	over := errors.New("the run is over")
	s := &Script{ctx: ctx}
	s.Step = func() []Post {
		require.NoError(t, e.Runs().Retire(over))
		s.Step = func() []Post { return nil }
		return []Post{{Request: new(Request), Data: []byte("x"), Peer: 1}}
	}
	e.Start(ctx, s)
	require.Zero(t, frames)
	_, err = e.Wait(s.Call())
	require.ErrorIs(t, err, over)
}

// A process serves other processes after its run has ended, in place of a sibling that dies. The
// next run begins when no link holds a message.
func TestRunAgainWaitsForLinks(t *testing.T) {
	link := new(holding)
	e := NewEngine(Config{Degrees: []int{2, 1}, Ordered: true, Context: t.Context(), Poller: link, Link: func(int, int) transport.Link { return link }})
	ctx, err := e.Join(1, 1, false, nil)
	require.NoError(t, err)
	at, err := e.Runs().Settle()
	require.NoError(t, err)
	e.Send(ctx, &e.NewBlockingCall().Request, []byte("x"), 1, 0, false)
	require.NoError(t, e.Runs().Retire(errors.New("the run is over")))
	require.Empty(t, link.frames, "its sibling sends to that rank")
	require.NoError(t, e.Released(t.Context()))
	e.Dead(0, 1)
	require.Len(t, link.frames, 1)
	_, err = e.Runs().Again(t.Context(), at)
	require.NoError(t, err)
	require.Empty(t, link.frames)
}
