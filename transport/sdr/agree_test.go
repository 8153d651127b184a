package sdr

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/ruletest"
)

// orders are rules of decisions that hardly ever matter in the random trials of package
// comm.
var orders = ruletest.Table{Root: ".", Test: "TestDecision.*|TestMessagesOfOneSource.*", Sign: "--- FAIL: Test", Rules: []ruletest.Rule{
	ruletest.New("agree.go", "decisions count within one cut",
		"	return h.Args[5] == a.out.passed, nil\n", "	return true, nil\n"),
	ruletest.New("chosen.go", "a new leader chooses nothing before the program knows the answers of the old one",
		"!x.agreed.leads() || x.agreed.answered[ctx.id] > 0", "!x.agreed.leads()"),
	ruletest.New("agree.go", "an answer counts until the program has acted on it",
		"	a.carries(key, d.run, d.value)\n	return d.value, true\n", "	delete(a.due, key)\n	a.carries(key, d.run, d.value)\n	return d.value, true\n"),
	ruletest.New("agree.go", "an answer on which the program has acted does not count again",
		"return key.number < ctx.acted", "return key.number+1 < ctx.questions"),
	ruletest.New("agree.go", "a decision that the next leader lacks is void",
		"d.maker < k && d.number >= a.held[d.maker][k]", "false"),
	ruletest.New("agree.go", "a decision that the next leader holds stands",
		"d.maker < k && d.number >= a.held[d.maker][k]", "d.maker < k"),
	ruletest.New("match.go", "a receive is not cancelled after a message was chosen for it",
		"req.place.line == nil || req.chosen", "req.place.line == nil"),
	ruletest.New("core.go", "messages carry no past where replicas agree",
		"	c.history.on = false\n	if degree", "	if degree"),
	ruletest.New("chosen.go", "a decision made ahead counts in its run only",
		"if d != nil && d.run != req.run && !x.agreed.replays() {", "if false {"),
	ruletest.New("match.go", "a receive from one source ends a run",
		"	} else {\n		ctx.endRun()\n	}\n	x.postRecv(req)", "	}\n	x.postRecv(req)"),
	ruletest.New("chosen.go", "a receive with another tag begins another run",
		"!ctx.inRun || ctx.runTag != req.tag", "!ctx.inRun"),
	ruletest.New("agree.go", "a question ends a run",
		"	ctx.endRun()\n", ""),
	ruletest.New("agree.go", "a settled decision of another run is replaced",
		"	case d.settled && d.run == of.run:", "	case d.settled:"),
	ruletest.New("chosen.go", "a decision made ahead replaces no other",
		"			break\n		}\n		x.agreed.due[d.key] = d\n", "		}\n		x.agreed.due[d.key] = d\n"),
	ruletest.New("chosen.go", "decisions are made ahead in order of arrival",
		"	slices.SortStableFunc(arrived, func(a, b place) int { return cmp.Compare(a.order, b.order) })\n", "	_ = cmp.Compare[int]\n"),
}}

func TestRulesStand(t *testing.T) {
	orders.Stand(t)
	returns.Stand(t)
}

// TestRulesAreNeeded removes each rule in turn: the tests beside the rule must fail.
func TestRulesAreNeeded(t *testing.T) {
	orders.Needed(t)
	returns.Needed(t)
}

// newOrderedNet returns a net whose replicas agree on everything that depends on the order
// of messages. Processes 0 and 1 are the replicas of rank 0, 2 is rank 1, and 3 is rank 2.
func newOrderedNet(t *testing.T) *net {
	n := newNet(t, Limits{}, 2, 1, 1)
	for _, c := range n.cores {
		c.agree(nil)
	}
	return n
}

// twoOrders posts a receive from any source at both replicas of rank 0. "a" arrives at the
// first replica, and "b" at the second one.
func twoOrders(t *testing.T) (n *net, first, second *pendingRecv) {
	n = newOrderedNet(t)
	first, second = n.recv(0, Any, 7), n.recv(1, Any, 7)
	n.send(2, "a", 0, 7)
	n.send(3, "b", 0, 7)
	n.deliver(2, 0)
	n.deliver(3, 1)
	require.False(t, first.Done(), "the leader does not know yet whether its sibling holds the decision")
	require.False(t, second.Done(), "a follower makes no decision")
	return n, first, second
}

func TestDecisionOfTheFirstReplica(t *testing.T) {
	n, first, second := twoOrders(t)
	n.deliver(2, 1)
	n.deliver(0, 1)
	require.Equal(t, "1:a", second.text(t))
	require.False(t, first.Done())
	n.deliver(1, 0)
	require.Equal(t, "1:a", first.text(t))
	again, andAgain := n.recv(0, Any, 7), n.recv(1, Any, 7)
	n.deliverAll()
	require.Equal(t, "2:b", again.text(t))
	require.Equal(t, "2:b", andAgain.text(t))
}

func TestDecisionIsLostWithItsReplica(t *testing.T) {
	n, _, second := twoOrders(t)
	n.die(0)
	require.Equal(t, "2:b", second.text(t), "the new leader decides by its own order of arrival")
}

func TestDecisionOutlivesItsReplica(t *testing.T) {
	n, _, second := twoOrders(t)
	later := n.recv(1, Any, 7)
	n.deliver(0, 1)
	n.die(0)
	n.deliver(2, 1)
	require.Equal(t, "1:a", second.text(t))
	require.Equal(t, "2:b", later.text(t))
}

// The old leader has left a receive undecided, and has answered a question. The program of the
// new leader has yet to ask that question, or to act on the answer. The new leader chooses no
// message for that receive, because the old one may have cancelled it.
func TestDecisionsOfEarlierLeadersComeFirst(t *testing.T) {
	for _, asked := range []bool{false, true} {
		t.Run(fmt.Sprintf("asked %v", asked), func(t *testing.T) {
			n := newOrderedNet(t)
			var cancelled *pendingRecv
			for p := range 2 {
				r := n.recv(p, Any, 7)
				if p == 0 {
					require.Zero(t, n.cores[0].matching.agreed.Inquire(n.ctxs[0]))
					require.True(t, n.cores[0].matching.Cancel(&r.Request))
					n.cores[0].matching.agreed.Answer(n.ctxs[0], 0, []byte("cancelled"))
					n.carry(0)
				}
				cancelled = r
			}
			follower := n.cores[1].matching
			ask := func() {
				number := follower.agreed.Inquire(n.ctxs[1])
				answer, settled := follower.agreed.Answered(n.ctxs[1], number)
				require.True(t, settled)
				require.Equal(t, "cancelled", string(answer))
			}
			if n.deliver(0, 1); asked {
				ask()
			}
			n.die(0)
			n.send(2, "a", 0, 7)
			if n.deliverAll(); !asked {
				ask()
			}
			require.True(t, follower.Cancel(&cancelled.Request), "a message was chosen for the receive")
			later := n.recv(1, Any, 7)
			follower.CatchUp(n.ctxs[1])
			n.carry(1)
			require.Equal(t, "1:a", later.text(t))
		})
	}
}

// The second leader repeats an answer of the first one, because it does not know that the third
// replica holds it. The third replica has acted on that answer. When it leads itself, it does
// not wait until its program acts on it again.
func TestDecisionThatIsRepeatedCountsOnce(t *testing.T) {
	n := newNet(t, Limits{}, 3, 1)
	for _, c := range n.cores {
		c.agree(nil)
	}
	for _, p := range []int{0, 2} {
		require.Zero(t, n.cores[p].matching.agreed.Inquire(n.ctxs[p]))
	}
	n.cores[0].matching.agreed.Answer(n.ctxs[0], 0, []byte("yes"))
	n.carry(0)
	n.deliverAll([2]int{2, 1})
	third := n.cores[2].matching
	_, settled := third.agreed.Answered(n.ctxs[2], 0)
	require.True(t, settled)
	third.CatchUp(n.ctxs[2])
	n.die(0)
	n.deliver(1, 2)
	n.die(1)
	next := n.recv(2, Any, 7)
	n.send(3, "a", 0, 7)
	n.deliverAll()
	require.Equal(t, "1:a", next.text(t))
}

// The old leader has chosen a message for a receive, and that message is still on its way
// to the new leader. The new leader does not cancel the receive, since another replica may
// have received the message.
func TestDecisionIsNotCancelled(t *testing.T) {
	n, _, second := twoOrders(t)
	n.deliver(0, 1)
	n.die(0)
	require.False(t, n.cores[1].matching.Cancel(&second.Request))
	n.deliver(2, 1)
	require.Equal(t, "1:a", second.text(t))
}

// A decision that a new leader does not hold is void once that leader has decided anything,
// because the leader may have cancelled the receive. A decision that it holds stands, even
// if only the new leader knows that all replicas hold it.
func TestDecisionThatTheNextLeaderLacks(t *testing.T) {
	for _, held := range []bool{false, true} {
		t.Run(fmt.Sprintf("held %v", held), func(t *testing.T) {
			n := newNet(t, Limits{}, 4, 1, 1)
			var any []*pendingRecv
			for p, c := range n.cores {
				c.agree(nil)
				if p < 4 {
					any = append(any, n.recv(p, Any, 7))
				}
			}
			n.send(4, "a", 0, 7)
			n.deliver(4, 0) // the new leader decides
			n.deliver(0, 2)
			if held {
				n.deliver(0, 1)
				n.deliver(0, 3)
				for _, acknowledges := range [][2]int{{1, 2}, {2, 1}, {3, 1}} {
					n.deliver(acknowledges[0], acknowledges[1])
				}
			}
			n.die(0)
			second := n.cores[1].matching
			second.agreed.Answer(n.ctxs[1], second.agreed.Inquire(n.ctxs[1]), []byte("now"))
			n.carry(1)
			n.deliver(1, 2)
			n.die(1)
			third := n.cores[2].matching
			require.Equal(t, !held, third.Cancel(&any[2].Request), "a receive of which the last leader knew no decision")
		})
	}
}

// A receive from one source does not match a message that an earlier receive from any
// source may get.
func TestLaterReceiveWaitsForTheDecision(t *testing.T) {
	n := newOrderedNet(t)
	n.recv(0, Any, 7)
	any, from := n.recv(1, Any, 7), n.recv(1, 2, 7)
	n.send(2, "a", 0, 7)
	n.send(3, "b", 0, 7)
	n.deliver(3, 1)
	require.False(t, from.Done())
	n.deliver(2, 0) // the first replica gives the message of rank 1 to the receive from any source
	n.deliverAll()
	require.Equal(t, "1:a", any.text(t))
	require.Equal(t, "2:b", from.text(t))
}

// A synchronous send completes only when the decision about its match is settled.
func TestSynchronousSendWaitsForTheDecision(t *testing.T) {
	n := newOrderedNet(t)
	n.recv(0, Any, 7)
	own := n.ssend(0, "to itself", 0, 7)
	require.False(t, own.Done())
	n.deliverAll()
	require.True(t, own.Done())

	n = newOrderedNet(t)
	n.recv(0, Any, 7)
	other := n.ssend(2, "from another rank", 0, 7)
	n.deliver(2, 0)
	require.NotContains(t, n.sent(), "0.0->1.0 grant")
	n.recv(1, Any, 7)
	n.deliverAll()
	require.Contains(t, n.sent(), "0.0->1.0 grant")
	require.True(t, other.Done())
}

// An acknowledgement from before a cut does not count for the decisions after it, whose
// numbers begin at 0 again.
func TestDecisionsOfBeforeACutDoNotCount(t *testing.T) {
	n := newNet(t, Limits{}, 4, 1)
	for _, c := range n.cores {
		c.agree(nil)
	}
	var receives []*pendingRecv
	for p := range 4 {
		receives = append(receives, n.recv(p, Any, 7))
	}
	n.send(4, "a", 0, 7)
	n.deliverAll([2]int{2, 1}, [2]int{3, 1})
	require.True(t, receives[2].Done())
	require.False(t, receives[1].Done())
	n.die(0)
	n.deliverAll([2]int{2, 3}) // replica 2 also acknowledges the decision of replica 1: replica 3 learns of it late
	require.True(t, receives[1].Done())
	n.begin(1, 1, 2, 3, 4)
	n.deliverAll([2]int{2, 3})
	for p := 1; p < 5; p++ {
		require.True(t, n.arrived(p))
	}
	n.end(nil, 1, 2, 3, 4)
	n.deliver(2, 3)

	next := n.recv(3, Any, 7)
	n.recv(1, Any, 7)
	n.send(4, "b", 0, 7)
	n.deliver(4, 1)
	n.deliver(4, 3)
	n.deliver(1, 3)
	require.False(t, next.Done(), "replica 2 does not hold the decision")
	n.deliverAll()
	require.Equal(t, "1:b", next.text(t))
}

// One replica is behind its sibling. There, a message that depends on later operations
// matches the receive that was posted first. If that is a receive from any source, it has
// completed at no sibling.
func TestMessagesOfOneSourceKeepTheirOrderBehindASibling(t *testing.T) {
	n := newNet(t, Limits{}, 2, 2)
	for _, c := range n.cores {
		c.agree(nil)
	}
	any, from := n.recv(0, Any, 7), n.recv(0, 1, 7)
	n.recv(1, Any, 7)
	n.recv(1, 1, 7)
	n.die(2)
	cause := n.recv(3, 0, 7)
	n.send(1, "cause", 1, 7) // the first replica has not reached that operation
	n.deliver(1, 3)
	require.Equal(t, "0:cause", cause.text(t))
	n.cores[3].matching.See(&cause.Request)
	n.send(3, "effect", 0, 7)
	n.send(3, "next", 0, 7)
	n.deliverAll()
	require.Equal(t, "1:effect", any.text(t))
	require.Equal(t, "1:next", from.text(t))
}

// A process refuses malformed frames about decisions.
func TestFramesAboutDecisionsAreChecked(t *testing.T) {
	n := newOrderedNet(t)
	n.recv(0, Any, 7)
	n.send(2, "a", 0, 7)
	n.deliver(2, 0)
	f := n.wire[[2]int{0, 1}][0]
	require.ErrorIs(t, n.cores[1].End(2, &f.header, f.payload), ErrProtocol, "from another rank")
	require.ErrorIs(t, n.cores[2].End(3, &f.header, f.payload), ErrProtocol, "to a rank with one replica")
	require.ErrorIs(t, n.cores[1].End(0, &f.header, f.payload[:8]), ErrProtocol, "too short")
	require.ErrorIs(t, n.cores[1].End(0, &f.header, nil), ErrProtocol, "empty")
	kind := f.header
	kind.Args[3] = 9
	require.ErrorIs(t, n.cores[1].End(0, &kind, f.payload), ErrProtocol, "of an unknown kind")
}

// A decision that was made ahead is void if the program receives from one source or with another tag
// first, or asks a question.
func TestDecisionsAheadAreVoidInAnotherRun(t *testing.T) {
	for _, between := range []string{"", "source", "tag", "question"} {
		t.Run(between, func(t *testing.T) {
			n := newOrderedNet(t)
			for _, text := range []string{"a", "b", "c"} {
				n.send(2, text, 0, 7)
			}
			n.send(3, "other", 0, 8)
			n.deliverAll()
			receive := func(src int, tag int) string {
				first := n.recv(0, src, tag)
				n.deliverAll()
				second := n.recv(1, src, tag)
				n.deliverAll()
				require.Equal(t, first.text(t), second.text(t))
				return first.text(t)
			}
			require.Equal(t, "1:a", receive(Any, 7))
			next := "1:b"
			switch between {
			case "source":
				require.Equal(t, "1:b", receive(1, 7))
				next = "1:c"
			case "tag":
				require.Equal(t, "2:other", receive(Any, 8))
			case "question":
				for p := range 2 {
					n.cores[p].matching.agreed.Inquire(n.ctxs[p])
				}
			}
			require.Equal(t, next, receive(Any, 7))
		})
	}
}

// A receive gets the message that an earlier probe has found. This holds even if an earlier
// leader, at which messages arrived in another order, has made decisions ahead.
func TestDecisionsAheadEndAtAProbe(t *testing.T) {
	n := newOrderedNet(t)
	n.send(2, "a", 0, 7)
	n.deliverAll()
	n.send(2, "b", 0, 7)
	n.send(3, "c", 0, 7)
	for _, arrives := range [][2]int{{2, 0}, {3, 0}, {3, 1}, {2, 1}} {
		n.deliver(arrives[0], arrives[1])
	}
	first, second := n.recv(0, Any, 7), n.recv(1, Any, 7)
	n.deliver(0, 1)
	n.deliver(1, 0)
	require.Equal(t, "1:a", first.text(t))
	n.die(0)
	require.Equal(t, "1:a", second.text(t))
	m := n.cores[1].matching
	m.agreed.Inquire(n.ctxs[1])
	st, found := m.Probe(n.ctxs[1], Any, 7)
	require.True(t, found)
	require.Equal(t, 2, st.Source)
	require.Equal(t, "2:c", n.recv(1, Any, 7).text(t))
}

// A decision made ahead does not replace one that an earlier leader has made and that a
// replica has acted on.
func TestDecisionAheadReplacesNoOther(t *testing.T) {
	n := newNet(t, Limits{}, 3, 1, 1)
	for _, c := range n.cores {
		c.agree(nil)
	}
	n.recv(0, Any, 7)
	n.recv(0, Any, 8)
	n.recv(2, Any, 7)
	acted := n.recv(2, Any, 8)
	n.send(4, "b", 0, 8)
	n.deliver(4, 0)
	n.deliverAll([2]int{4, 1}, [2]int{4, 2}, [2]int{4, 0})
	n.deliver(4, 2)
	require.Equal(t, "2:b", acted.text(t))
	n.die(0)
	n.send(3, "x", 0, 7)
	n.send(3, "y", 0, 7)
	n.send(3, "a", 0, 8)
	n.deliverAll()
	first, second := n.recv(1, Any, 7), n.recv(1, Any, 8)
	n.deliverAll()
	require.Equal(t, "1:x", first.text(t))
	require.Equal(t, "2:b", second.text(t))
}
