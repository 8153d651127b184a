package sdr

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"
)

// comparing returns a job of bare cores whose messages are compared.
func comparing(t *testing.T, limits Limits, degrees ...int) *net {
	n := newNet(t, limits, degrees...)
	for _, c := range n.cores {
		compareAll(c)
	}
	return n
}

// compareAll makes a core compare its messages from the start.
func compareAll(c *Core) {
	c.comparer.sum = xxh3.Hash
	c.comparer.begin("")
}

// report makes a process report all hashes that it has yet to report, and delivers them.
func (n *net) report(p int) {
	n.cores[p].acks.sendAllSums()
	n.carry(p)
	n.deliverAll()
}

// nothingKept requires that no comparison is open, and that no report waits for its
// message.
func nothingKept(t *testing.T, cores ...*Core) {
	t.Helper()
	for _, c := range cores {
		for _, ctx := range c.contexts.order {
			for rank, s := range ctx.out {
				if s != nil {
					require.Empty(t, s.compared.own, "of %d.%d to rank %d", c.job.rank, c.job.replica, rank)
					require.Empty(t, s.compared.early, "of %d.%d to rank %d", c.job.rank, c.job.replica, rank)
				}
			}
			for rank, s := range ctx.in {
				require.True(t, s == nil || len(s.sums) == 0, "%d.%d has yet to report messages from rank %d", c.job.rank, c.job.replica, rank)
			}
		}
	}
}

// 0.0 sends a wrong message to 1.0 and dies before 1.0 has reported its hash. Then 0.1
// serves 1.0. It finds the difference, in whatever order the send, the death and the report
// occur.
func TestWrongMessageOfTheDeadIsFound(t *testing.T) {
	for _, order := range []string{"send die report", "die send report", "die report send", "report die send"} {
		for _, exact := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, exact %v", order, exact), func(t *testing.T) {
				n := comparing(t, Limits{}, 2, 2)
				sender, survivor, receiver := n.p(0, 0), n.p(0, 1), n.p(1, 0)
				if exact {
					n.joinExact()
				}
				n.post(sender, "wrong", 1, 0)
				n.deliverAll()
				for _, step := range strings.Fields(order) {
					switch step {
					case "send":
						n.post(survivor, "right", 1, 0)
						n.deliverAll()
					case "die":
						n.die(sender)
						n.deliverAll()
					case "report":
						n.report(receiver)
					}
				}
				n.report(n.p(1, 1))
				require.Len(t, n.cores[survivor].comparer.differences, 1)
				require.Equal(t, []Sent{{Replica: 0, Hash: xxh3.HashString("wrong")}, {Replica: 1, Hash: xxh3.HashString("right")}},
					n.cores[survivor].comparer.differences[0].Sent)
				for i := range 3 { // a message that 1.0 receives from 0.1 itself is not compared
					n.post(survivor, "more", 1, uint64(1+i))
					n.deliverAll()
				}
				n.report(receiver)
				n.report(n.p(1, 1))
				nothingKept(t, n.cores[survivor], n.cores[receiver], n.cores[n.p(1, 1)])
			})
		}
	}
}

// joinExact makes all processes enter another context, an exact one.
func (n *net) joinExact() {
	for p, c := range n.cores {
		ctx, err := c.Join(testContext+1, testContext, true, nil)
		require.NoError(n.t, err)
		n.ctxs[p] = ctx
	}
}

// post sends a message in the context of a process, exact or not. Only an exact context
// uses the number.
func (n *net) post(p int, text string, dst int, number uint64) {
	if n.ctxs[p].exact {
		n.cores[p].SendExact(n.ctxs[p], new(Request), []byte(text), dst, number, 0)
	} else {
		n.cores[p].Send(n.ctxs[p], new(Request), []byte(text), dst, 0, false)
	}
	n.carry(p)
}

// The receiver does not know of the death yet. It accepts the message of the dead process
// and then that of its substitute 0.1, and reports both. After that it reports nothing more
// to 0.1.
func TestReceiverLearnsOfTheDeathLater(t *testing.T) {
	n := comparing(t, Limits{}, 2, 2)
	sender, survivor, receiver := n.p(0, 0), n.p(0, 1), n.p(1, 0)
	n.send(sender, "wrong", 1, 0)
	n.reportDeath(survivor, sender, n.cores[survivor])
	for _, text := range []string{"right", "second"} {
		n.send(survivor, text, 1, 0)
	}
	n.deliver(sender, receiver)
	n.deliverAll()
	require.Len(t, n.ctxs[survivor].out[1].compared.own, 2)
	n.report(receiver)
	require.Len(t, n.cores[survivor].comparer.differences, 1)
	require.EqualValues(t, 0, n.cores[survivor].comparer.differences[0].Number)
	nothingKept(t, n.cores[survivor])
	n.send(survivor, "third", 1, 0)
	n.reportDeath(receiver, sender, n.cores[receiver])
	n.deliverAll()
	require.Empty(t, n.ctxs[survivor].out[1].compared.own, "1.0 has announced that 0.1 serves it")
	n.report(receiver)
	nothingKept(t, n.cores[survivor], n.cores[receiver])
}

// A report attributes a wrong message to the process that sent it, even if another process
// serves the receiver by the time of the report.
func TestWrongMessageIsThatOfTheDead(t *testing.T) {
	n := comparing(t, Limits{}, 3, 3)
	n.send(n.p(0, 0), "wrong", 1, 0)
	for k := 1; k < 3; k++ {
		n.send(n.p(0, k), "right", 1, 0)
	}
	n.deliverAll()
	n.die(n.p(0, 0))
	for k := range 3 {
		n.report(n.p(1, k))
	}
	for k := 1; k < 3; k++ {
		all := n.cores[n.p(0, k)].comparer.differences
		require.Len(t, all, 1)
		require.Contains(t, all[0].Sent, Sent{Replica: 0, Hash: xxh3.HashString("wrong")})
		require.Equal(t, []int{0}, minority(all[0]), "%v", all[0])
	}
	nothingKept(t, n.cores[1:]...)
}

// The sender died in the middle of a payload. The receiver got the whole payload from a
// copy of another replica, and attributes its hash to that replica.
func TestCopyOfABrokenPayloadIsComparedAsThatOfItsSender(t *testing.T) {
	n := comparing(t, Limits{Window: frameCost + 10}, 3, 3)
	first, second, third, p := n.p(0, 0), n.p(0, 1), n.p(0, 2), n.p(1, 1)
	n.cores[second].job.processes[p].credit = 0
	n.recv(p, 0, 0)
	n.send(first, "right", 1, 0)
	n.send(second, "right", 1, 0)
	n.send(third, "wrong", 1, 0)
	n.deliver(second, p)
	n.deliver(p, second)
	f := n.wire[[2]int{second, p}][0]
	require.NotNil(t, n.cores[p].incoming.Begin(second, &f.header))
	n.reportDeath(first, second, n.cores[first])
	n.reportDeath(third, second, n.cores[third])
	n.deliver(third, p)
	n.cores[p].incoming.Torn(second, &f.header)
	delete(n.wire, [2]int{second, p})
	n.carry(p)
	for k := range 3 {
		n.report(n.p(1, k))
	}
	require.Len(t, n.cores[first].comparer.differences, 1)
	require.Contains(t, n.cores[first].comparer.differences[0].Sent, Sent{Replica: 2, Hash: xxh3.HashString("wrong")})
}

// If the sender of the copy dies, too, the remaining replica serves the receiver, and the copy is
// still compared.
func TestCopyOfTheDeadIsComparedByTheLastReplica(t *testing.T) {
	n := comparing(t, Limits{Window: frameCost + 10}, 3, 3)
	first, second, third, p := n.p(0, 0), n.p(0, 1), n.p(0, 2), n.p(1, 1)
	n.cores[second].job.processes[p].credit = 0
	n.recv(p, 0, 0)
	n.send(second, "right", 1, 0)
	n.send(third, "wrong", 1, 0)
	n.deliver(second, p)
	n.deliver(p, second)
	require.NotNil(t, n.cores[p].incoming.Begin(second, &n.wire[[2]int{second, p}][0].header))
	n.reportDeath(third, second, n.cores[third])
	n.deliver(third, p)
	n.die(third)
	n.die(second) // in the middle of the payload
	n.send(first, "right", 1, 0)
	n.deliverAll()
	n.report(p)
	require.Len(t, n.cores[first].comparer.differences, 1)
	require.Equal(t, []Sent{{Replica: 0, Hash: xxh3.HashString("right")}, {Replica: 2, Hash: xxh3.HashString("wrong")}}, n.cores[first].comparer.differences[0].Sent)
}

// The survivor has freed the context before the receiver reports.
func TestFreedContextIsComparedToTheEnd(t *testing.T) {
	n := comparing(t, Limits{}, 2, 2)
	sender, survivor, receiver := n.p(0, 0), n.p(0, 1), n.p(1, 0)
	n.send(sender, "wrong", 1, 0)
	n.deliverAll()
	n.die(sender)
	n.send(survivor, "right", 1, 0)
	n.deliverAll()
	n.report(n.p(1, 1))
	n.cores[survivor].Free(n.ctxs[survivor])
	n.carry(survivor)
	n.report(receiver)
	require.Len(t, n.cores[survivor].comparer.differences, 1)
	require.Nil(t, n.cores[survivor].contexts.byID[testContext], "the context is closed")
}

// Before 1.0 passes the cut, it receives a message that 0.0 sent after the cut. 0.1 joins
// in that cut, and compares the message.
func TestNewcomerComparesWhatCameInTheCut(t *testing.T) {
	for _, large := range []bool{false, true} {
		n := comparing(t, Limits{Eager: 16}, 2, 2)
		wrong, right := "wrong", "right"
		if large {
			wrong, right = strings.Repeat(wrong, 10), strings.Repeat(right, 10)
		}
		newcomer, sender, receiver, other := n.p(0, 1), n.p(0, 0), n.p(1, 0), n.p(1, 1)
		n.die(newcomer)
		n.begin(1, sender, receiver, other)
		n.deliverAll()
		for _, p := range []int{sender, receiver, other} {
			require.True(t, n.arrived(p))
		}
		compareAll(n.restore(newcomer, 3, Limits{Eager: 16}, []int{2, 2}, n.position(sender)))
		joined := []Joiner{{0, 1, 3}}
		n.end(joined, sender, other, newcomer)
		n.send(sender, wrong, 1, 0)
		n.deliverAll()
		n.end(joined, receiver)
		r := n.recv(receiver, 0, 0)
		n.deliverAll()
		require.True(t, r.Done())
		n.report(receiver)
		n.send(newcomer, right, 1, 0)
		n.deliverAll()
		require.Len(t, n.cores[newcomer].comparer.differences, 1)
		require.Equal(t, []Sent{{Replica: 0, Hash: xxh3.HashString(wrong)}, {Replica: 1, Incarnation: 3, Hash: xxh3.HashString(right)}}, n.cores[newcomer].comparer.differences[0].Sent)
		n.recv(other, 0, 0)
		n.deliverAll()
		n.report(other)
		nothingKept(t, n.cores...)
	}
}

// Before 1.0 passes the cut, it receives a message from beyond the cut, and the sender
// dies. The joiner then serves 1.0, and still compares the message.
func TestNewcomerComparesWhatTheDeadHadSentInTheCut(t *testing.T) {
	n := comparing(t, Limits{}, 2, 2)
	newcomer, sender, receiver, other := n.p(0, 1), n.p(0, 0), n.p(1, 0), n.p(1, 1)
	n.die(newcomer)
	n.begin(1, sender, receiver, other)
	n.deliverAll()
	for _, p := range []int{sender, receiver, other} {
		require.True(t, n.arrived(p))
	}
	compareAll(n.restore(newcomer, 3, Limits{}, []int{2, 2}, n.position(sender)))
	joined := []Joiner{{0, 1, 3}}
	n.end(joined, sender, other, newcomer)
	n.send(sender, "wrong", 1, 0)
	n.deliverAll()
	n.die(sender)
	n.send(newcomer, "right", 1, 0)
	n.end(joined, receiver)
	n.deliverAll()
	n.report(receiver)
	n.report(other)
	require.Len(t, n.cores[newcomer].comparer.differences, 1)
	nothingKept(t, n.cores[newcomer], n.cores[receiver], n.cores[other])
}

// A message that a dead process had sent after the cut is discarded, and so are the reports
// on it.
func TestHashesOfDiscardedMessages(t *testing.T) {
	for _, exact := range []bool{false, true} {
		n := comparing(t, Limits{}, 2, 2)
		if exact {
			n.joinExact()
		}
		dead, live := n.p(0, 1), []int{n.p(0, 0), n.p(1, 0), n.p(1, 1)}
		n.post(dead, "wrong", 1, 0)
		n.deliverAll()
		n.die(dead)
		n.begin(1, live...)
		n.deliverAll()
		for _, p := range live {
			require.True(t, n.arrived(p))
		}
		n.end(nil, live...)
		n.post(n.p(0, 0), "right", 1, 0)
		n.deliverAll()
		for _, p := range live {
			n.report(p)
			require.Empty(t, n.cores[p].comparer.differences)
		}
		nothingKept(t, n.cores[0], n.cores[2], n.cores[3])
	}
}

// Before 0.0 passes the cut, it gets a report on a message that will be discarded, and then a
// report on the message that 0.2 has sent in its place. 0.0 compares the second message.
func TestHashesOfBothSidesOfACut(t *testing.T) {
	n := comparing(t, Limits{}, 3, 3)
	last, dead, quick, receiver := n.p(0, 0), n.p(0, 1), n.p(0, 2), n.p(1, 1)
	live := []int{last, quick, n.p(1, 0), receiver, n.p(1, 2)}
	n.send(dead, "taken back", 1, 0)
	n.deliverAll()
	n.die(dead)
	n.begin(1, live...)
	n.deliverAll()
	for _, p := range live {
		require.True(t, n.arrived(p))
	}
	n.end(nil, live[1:]...)
	n.send(quick, "wrong", 1, 0)
	n.deliverAll()
	for k := range 3 {
		n.report(n.p(1, k))
	}
	n.end(nil, last)
	n.send(last, "right", 1, 0)
	n.deliverAll()
	for k := range 3 {
		n.report(n.p(1, k))
	}
	require.Len(t, n.cores[last].comparer.differences, 1)
	require.Contains(t, n.cores[last].comparer.differences[0].Sent, Sent{Replica: 2, Hash: xxh3.HashString("wrong")})
	require.NotContains(t, n.cores[last].comparer.differences[0].Sent, Sent{Replica: 1, Hash: xxh3.HashString("taken back")})
	for _, p := range live {
		nothingKept(t, n.cores[p])
	}
}

// If there are too many hashes for one acknowledgement, the receiver sends several. The
// process that serves the receiver from then on gets all of them.
func TestManyHashes(t *testing.T) {
	n := comparing(t, Limits{Window: 1 << 24}, 2, 2)
	newcomer, sender, receiver, other := n.p(0, 1), n.p(0, 0), n.p(1, 0), n.p(1, 1)
	n.die(newcomer)
	n.begin(1, sender, receiver, other)
	n.deliverAll()
	for _, p := range []int{sender, receiver, other} {
		require.True(t, n.arrived(p))
	}
	compareAll(n.restore(newcomer, 3, Limits{}, []int{2, 2}, n.position(sender)))
	joined := []Joiner{{0, 1, 3}}
	n.end(joined, sender, other, newcomer)
	const many = 2*maxReports + 10
	for range many {
		n.send(sender, "wrong", 1, 0)
	}
	n.deliverAll()
	n.die(sender)
	n.end(joined, receiver)
	n.deliverAll()
	for range many {
		n.send(newcomer, "right", 1, 0)
	}
	n.deliverAll()
	n.report(receiver)
	n.report(other)
	require.Len(t, n.cores[newcomer].comparer.differences, many)
	nothingKept(t, n.cores[newcomer], n.cores[receiver], n.cores[other])
}

// 1.0 does not report to a joiner the hashes that it still owed to the dead process in that
// slot.
func TestJoinerGetsNoReportsForThePreviousProcess(t *testing.T) {
	n := comparing(t, Limits{}, 2, 2)
	n.send(n.p(0, 0), "m", 1, 0)
	n.deliverAll()
	require.Len(t, n.ctxs[n.p(1, 0)].in[0].sums, 1)
	n.die(n.p(0, 1))
	require.Empty(t, n.ctxs[n.p(1, 0)].in[0].sums)
}

// A rank has lost its last replica in the middle of a payload. Another replica had sent a
// copy of that payload.
func TestLastReplicaDiesInsideAPayload(t *testing.T) {
	n := comparing(t, Limits{Window: frameCost + 10}, 2, 2)
	p := n.p(1, 1)
	n.cores[n.p(0, 1)].job.processes[p].credit = 0
	r := n.recv(p, 0, 0)
	n.send(n.p(0, 0), "message", 1, 0)
	n.send(n.p(0, 1), "message", 1, 0)
	n.deliver(n.p(0, 1), p)
	n.deliver(p, n.p(0, 1))
	require.NotNil(t, n.cores[p].incoming.Begin(n.p(0, 1), &n.wire[[2]int{n.p(0, 1), p}][0].header))
	n.reportDeath(n.p(0, 0), n.p(0, 1), n.cores[n.p(0, 0)])
	n.deliver(n.p(0, 0), p)
	n.die(n.p(0, 0))
	n.die(n.p(0, 1))
	require.Equal(t, "0:message", r.text(t))
}

// Hashes that are still due are reported at a cut, also to a process that posts the message
// later.
func TestMessagesAreComparedAtCuts(t *testing.T) {
	n := newNet(t, Limits{}, 2, 2)
	for _, c := range n.cores {
		compareAll(c)
		c.comparer.point = func() uint64 { return 7 }
	}
	n.send(n.p(0, 0), "right", 1, 0)
	n.deliverAll()
	require.Len(t, n.ctxs[n.p(1, 0)].inStream(0).sums, 1)
	n.recv(n.p(1, 0), 0, 0)
	n.begin(1, n.p(1, 0))
	n.deliverAll()
	n.send(n.p(0, 1), "wrong", 1, 0)
	require.Len(t, n.cores[n.p(0, 1)].comparer.differences, 1)
	require.EqualValues(t, 7, n.cores[n.p(0, 1)].comparer.differences[0].Point)
	require.Equal(t, []Sent{{Replica: 0, Hash: xxh3.HashString("right")}, {Replica: 1, Hash: xxh3.HashString("wrong")}}, n.cores[n.p(0, 1)].comparer.differences[0].Sent)
}

// minority returns the replicas in Minority.
func minority(d *Difference) (replicas []int) {
	for _, s := range d.Minority() {
		replicas = append(replicas, s.Replica)
	}
	return replicas
}

func TestMinority(t *testing.T) {
	for _, c := range []struct {
		hashes string
		want   []int
	}{{"aa", nil}, {"ab", nil}, {"aab", []int{2}}, {"baa", []int{0}}, {"abc", nil}, {"aabb", nil}, {"abaca", []int{1, 3}}} {
		var d Difference
		for replica, hash := range c.hashes {
			d.Sent = append(d.Sent, Sent{Replica: replica, Hash: uint64(hash)})
		}
		if c.hashes == "aa" {
			require.Empty(t, minority(&d))
			continue
		}
		require.Equal(t, c.want, minority(&d), c.hashes)
	}
	twice := Difference{Sent: []Sent{{Replica: 0, Hash: 'b'}, {Replica: 0, Hash: 'b'}, {Replica: 1, Hash: 'a'}}}
	require.Empty(t, minority(&twice), "a replica that has sent to two receivers counts once")
	both := Difference{Sent: []Sent{{Replica: 0, Hash: 'a'}, {Replica: 0, Hash: 'b'}, {Replica: 1, Hash: 'a'}}}
	require.Equal(t, []int{0}, minority(&both))
}
