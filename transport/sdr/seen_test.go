package sdr

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// see returns from a call that reports r to the program.
func (n *net) see(p int, r *pendingRecv) string {
	text := r.text(n.t)
	n.cores[p].matching.See(&r.Request)
	n.carry(p)
	return text
}

// poll tests r. It reports whether the program may see r. If so, the program sees it.
func (n *net) poll(p int, r *pendingRecv) bool {
	if !r.Done() || !n.cores[p].matching.Visible(&r.Request) {
		return false
	}
	n.see(p, r)
	return true
}

// A relay is a program of the ranks C, A and B. A posts a receive from C, sends to B and
// waits. B receives from any rank and sends to C. C then sends to A. C serves both replicas
// of A and B; A.1 and B.1 lag behind.
type relay struct {
	*net
	c, a, b int // ranks
	late    *pendingRecv
}

// runAhead runs C, A.0 and B.0 to the end. It runs A.1 up to its posted receive, which C's
// message fills.
func runAhead(n *net, c, a, b int) *relay {
	r := &relay{net: n, c: c, a: a, b: b}
	r.late = n.recv(n.p(a, 1), c, 1)
	first := n.recv(n.p(a, 0), c, 1)
	n.send(n.p(a, 0), "to b", b, 0)
	wild := n.recv(n.p(b, 0), Any, 0)
	n.deliver(n.p(a, 0), n.p(b, 0))
	require.Equal(n.t, 0, r.ranked(n.see(n.p(b, 0), wild), a))
	n.send(n.p(b, 0), "to c", c, 0)
	reply := n.recv(n.p(c, 0), b, 0)
	n.deliver(n.p(b, 0), n.p(c, 0))
	n.see(n.p(c, 0), reply)
	n.send(n.p(c, 0), "to a", a, 1)
	n.deliver(n.p(c, 0), n.p(a, 0))
	n.deliver(n.p(c, 0), n.p(a, 1))
	require.Equal(n.t, 0, r.ranked(n.see(n.p(a, 0), first), c))
	require.True(n.t, r.late.Done())
	return r
}

// ranked returns 0 if text is a message from rank.
func (r *relay) ranked(text string, rank int) int { return int(text[0]-'0') - rank }

// finish lets the replicas that were behind run the rest of the program.
func (r *relay) finish() {
	wild := r.recv(r.p(r.b, 1), Any, 0)
	r.send(r.p(r.a, 1), "to b", r.b, 0)
	r.deliverAll()
	require.True(r.t, wild.Done(), "B.1 waits forever for the message that A.1 sent before it could see C's message")
	require.Equal(r.t, 0, r.ranked(r.see(r.p(r.b, 1), wild), r.a))
	r.send(r.p(r.b, 1), "to c", r.c, 0)
	r.deliverAll()
	require.Equal(r.t, 0, r.ranked(r.see(r.p(r.a, 1), r.late), r.c))
}

// TestReceivedNotSeen: a message in a receive that the program has not seen does not enter
// the causal history of later messages.
func TestReceivedNotSeen(t *testing.T) {
	t.Run("mixed degrees", func(t *testing.T) {
		runAhead(newNet(t, Limits{}, 1, 2, 2), 0, 1, 2).finish()
	})
	t.Run("a replica of the sender died", func(t *testing.T) {
		n := newNet(t, Limits{}, 2, 2, 2)
		n.die(n.p(0, 1))
		runAhead(n, 0, 1, 2).finish()
	})
	t.Run("the replica that was ahead dies", func(t *testing.T) {
		n := newNet(t, Limits{}, 1, 2, 2)
		r := runAhead(n, 0, 1, 2)
		n.die(n.p(1, 0))
		r.finish()
	})
	t.Run("cancelled too late", func(t *testing.T) {
		r := runAhead(newNet(t, Limits{}, 1, 2, 2), 0, 1, 2)
		require.False(t, r.cores[r.p(1, 1)].matching.Cancel(&r.late.Request))
		r.finish()
	})
	t.Run("tested before the send", func(t *testing.T) {
		r := runAhead(newNet(t, Limits{}, 1, 2, 2), 0, 1, 2)
		p := r.p(1, 1)
		require.False(t, r.poll(p, r.late), "without replicas it cannot be there before A has sent")
		r.finish()
		require.True(t, r.cores[p].matching.Visible(&r.late.Request))
	})
	t.Run("awaited before the send", func(t *testing.T) { // by another goroutine
		r := runAhead(newNet(t, Limits{}, 1, 2, 2), 0, 1, 2)
		r.see(r.p(1, 1), r.late)
		r.finish()
	})
	t.Run("probed before the send", func(t *testing.T) {
		n := newNet(t, Limits{}, 1, 2, 2)
		r := runAhead(n, 0, 1, 2)
		p := n.p(1, 1)
		n.send(n.p(0, 0), "more to a", 1, 2)
		n.deliver(n.p(0, 0), p)
		_, ok := n.cores[p].matching.Probe(n.ctxs[p], 0, 2)
		require.False(t, ok, "without replicas it cannot be there before A has sent")
		r.finish()
		_, ok = n.cores[p].matching.Probe(n.ctxs[p], 0, 2)
		require.True(t, ok)
	})
	t.Run("one of two is reported", func(t *testing.T) { // by WaitAny
		n := newNet(t, Limits{}, 1, 2, 2, 1)
		other := n.recv(n.p(1, 1), 3, 0)
		r := runAhead(n, 0, 1, 2)
		n.send(n.p(3, 0), "not later", 1, 0)
		n.deliver(n.p(3, 0), n.p(1, 1))
		require.True(t, n.poll(n.p(1, 1), other))
		r.finish()
	})
}

// TestSeenTogether: a message that the program saw too early enters the causal history only
// of messages that depend on it in a run without replicas.
func TestSeenTogether(t *testing.T) {
	n := newNet(t, Limits{}, 1, 2, 2)
	r := runAhead(n, 0, 1, 2)
	a, b := n.p(1, 1), n.p(2, 1)
	n.see(a, r.late) // C's late message depends on the next message that A.1 sends
	first, second := n.recv(b, Any, 0), n.recv(b, Any, 7)
	n.send(a, "to b", 2, 0)
	n.send(a, "after C's message", 2, 7)
	n.deliverAll()
	require.Equal(t, "1:to b", n.see(b, first))
	require.False(t, second.Done(), "the message depends on B's message to C")
	n.send(b, "to c", 0, 0)
	require.Equal(t, "1:after C's message", n.see(b, second))
}

// TestCausalOrder: rank 0 has one replica and serves both replicas of rank 1. Replica 1.1 lags
// behind. Replica 1.0 sends an answer. A message that rank 0 sends after it has seen the answer
// depends on it. So that message must not match a receive from any source that 1.1 has posted
// before the answer.
func TestCausalOrder(t *testing.T) {
	receive := func(n *net) *pendingRecv { return n.recv(n.p(0, 0), 1, 0) }
	ways := map[string]func(n *net, r *pendingRecv) bool{
		"wait": func(n *net, r *pendingRecv) bool { return n.see(0, r) != "" },
		"test": func(n *net, r *pendingRecv) bool { return n.poll(0, r) },
		"probe": func(n *net, _ *pendingRecv) bool {
			_, ok := n.cores[0].matching.Probe(n.ctxs[0], 1, 0)
			return ok
		},
		"probe of any": func(n *net, _ *pendingRecv) bool {
			_, ok := n.cores[0].matching.Probe(n.ctxs[0], Any, Any)
			return ok
		},
		"blocking receive": func(*net, *pendingRecv) bool { return true },
	}
	for name, look := range ways {
		for _, degrees := range [][]int{{1, 2, 1}, {2, 2, 2}} {
			for _, eager := range []int{0, 1} { // all messages eager, or all offered
				t.Run(name, func(t *testing.T) {
					n := newNet(t, Limits{Eager: eager}, degrees...)
					for rank := 0; rank < 3; rank += 2 {
						if degrees[rank] == 2 { // the substitute serves 1.1 from now on
							n.die(n.p(rank, 1))
						}
					}
					ahead, behind := n.p(1, 0), n.p(1, 1)
					hold := [][2]int{{n.p(2, 0), behind}, {behind, n.p(2, 0)}}
					n.send(n.p(2, 0), "from 2", 1, 0)
					a := n.recv(ahead, Any, 0)
					n.deliverAll(hold...) // not to 1.1 yet
					require.Equal(t, "2:from 2", n.see(ahead, a))
					n.send(ahead, "answer", 0, 0)
					var r *pendingRecv
					switch name {
					case "wait", "test":
						r = receive(n)
					case "blocking receive":
						r = &pendingRecv{room: make([]byte, 64)}
						r.awaited = true
						n.cores[0].matching.Recv(n.ctxs[0], &r.Request, r.room, 1, 0)
					}
					n.deliverAll(hold...)
					require.True(t, look(n, r))
					n.send(0, "later", 1, 0)
					b := n.recv(behind, Any, 0)
					n.deliverAll(hold...)
					require.False(t, b.Done(), "the message depends on the answer")
					_, ok := n.cores[behind].matching.Probe(n.ctxs[behind], Any, Any)
					require.False(t, ok)
					n.deliverAll()
					require.Equal(t, "2:from 2", n.see(behind, b))
					c := n.recv(behind, Any, 0)
					require.False(t, c.Done())
					n.send(behind, "answer", 0, 0)
					n.deliverAll()
					require.Equal(t, "0:later", n.see(behind, c), "the answer was begun")
				})
			}
		}
	}
}

// collective is the part of one process in a collective of one message. The
// test posts its steps.
type collective struct {
	*Script
	request Request
	room    []byte
}

const collectives = 43

// TestCollectiveNotSeen is the relay with one change: C's message to A is part of a
// collective, which A begins before it sends and completes afterwards.
func TestCollectiveNotSeen(t *testing.T) {
	for _, seen := range []bool{false, true} {
		n := newNet(t, Limits{}, 1, 2, 2)
		coll := make([]*Context, len(n.cores))
		for p, c := range n.cores {
			var err error
			coll[p], err = c.Join(collectives, testContext, true, nil)
			require.NoError(t, err)
		}
		begin := func(p int) *collective {
			s := &collective{Script: new(Script), room: make([]byte, 64)}
			s.done = new(Call)
			n.cores[p].BeginCollective(coll[p], s.Script)
			s.request.script = s.Script
			return s
		}
		recv := func(p int, s *collective, src int) {
			n.cores[p].matching.RecvExact(coll[p], &s.request, s.room, src, 0, 0)
		}
		a0, a1, b0, b1, c := n.p(1, 0), n.p(1, 1), n.p(2, 0), n.p(2, 1), n.p(0, 0)
		late := begin(a1)
		recv(a1, late, 0)
		recv(a0, begin(a0), 0)
		n.send(a0, "to b", 2, 0)
		wild := n.recv(b0, Any, 0)
		n.deliver(a0, b0)
		n.see(b0, wild)
		n.send(b0, "to c", 0, 0)
		reply := n.recv(c, 2, 0)
		n.deliver(b0, c)
		n.see(c, reply)
		root := begin(c)
		n.cores[c].SendExact(coll[c], &root.request, []byte("to a"), 1, 0, 0)
		n.carry(c)
		n.deliver(c, a1)
		require.True(t, late.request.Done())
		n.cores[a1].EndCollective(late.Script)
		n.carry(a1)
		require.False(t, n.cores[a1].matching.Visible(&late.done.Request), "C's part depends on a message that A.1 has yet to send")
		wild, more := n.recv(b1, Any, 0), n.recv(b1, Any, 7)
		n.send(a1, "to b", 2, 0)
		require.True(t, n.cores[a1].matching.Visible(&late.done.Request))
		if seen {
			n.cores[a1].matching.See(&late.done.Request)
		}
		n.send(a1, "more to b", 2, 7)
		n.deliver(a1, b1)
		require.Equal(t, "1:to b", n.see(b1, wild))
		n.deliver(a1, b1)
		require.Equal(t, !seen, more.Done(), "the message depends on B's message to C if A has seen the end of the collective")
		n.send(b1, "to c", 0, 0)
		require.Equal(t, "1:more to b", n.see(b1, more))
	}
}

// TestCollectivePassesOn: a later message of a collective depends on the messages that the
// collective has received. It does not depend on other messages that the program saw in
// between.
func TestCollectivePassesOn(t *testing.T) {
	n := newNet(t, Limits{}, 2, 2, 2, 2)
	coll := make([]*Context, len(n.cores))
	for p, c := range n.cores {
		var err error
		coll[p], err = c.Join(collectives, testContext, true, nil)
		require.NoError(t, err)
	}
	c, d := n.p(2, 0), n.p(3, 0)
	s := &Script{done: new(Call)}
	n.cores[c].BeginCollective(coll[c], s)
	n.send(d, "seen meanwhile", 2, 0)
	r := n.recv(c, 3, 0)
	n.deliver(d, c)
	n.see(c, r)
	n.send(n.p(0, 0), "anything", 0, 5)
	var part, on Request
	part.script, on.script = s, s
	n.cores[c].matching.RecvExact(coll[c], &part, make([]byte, 8), 0, 0, 0)
	root := &Script{done: new(Call)}
	n.cores[0].BeginCollective(coll[0], root)
	var sent Request
	sent.script = root
	n.cores[0].SendExact(coll[0], &sent, []byte("part"), 2, 0, 0)
	n.carry(0)
	n.deliver(0, c)
	require.True(t, part.Done())
	n.cores[c].SendExact(coll[c], &on, []byte("on"), 1, 0, 0)
	acts := n.cores[c].out.Actions()
	of := past{domain: testContext, list: acts[len(acts)-1].CausalPast}
	of.setOwn(2, acts[len(acts)-1].Header.Args[4])
	require.Equal(t, clock{count: 2}, of.of(0, testContext), "the message and the collective of rank 0")
	require.Zero(t, of.of(3, testContext), "rank 3's message came after the collective was begun")
	require.Equal(t, clock{count: 1}, of.of(2, testContext))
}

// TestSeenAcrossCut: a message that arrived before a cut and is seen after it has no causal
// history any more, because operations are counted from 0 after the cut.
func TestSeenAcrossCut(t *testing.T) {
	n := newNet(t, Limits{}, 1, 2, 2)
	n.send(n.p(1, 0), "x", 0, 0)
	n.send(n.p(1, 0), "y", 0, 1)
	r := n.recv(0, 1, 0)
	n.deliver(n.p(1, 0), 0)
	require.True(t, r.Done())
	n.cores[0].history.reset()
	n.cores[0].matching.See(&r.Request)
	require.Zero(t, n.cores[0].history.domains[0].known.at(1))
}
