package sdr

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestKnowledge: a knowledge gives the same clocks as an array with a clock for each rank,
// after any series of join, raise and encoding.
func TestKnowledge(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		var dense [2][9]clock
		var ds [2]decoded
		for k := range dense {
			base := random.Uint64N(4)
			d := decodedDomain{id: 7, knowledge: knowledge{base: base}}
			for rank := range dense[k] {
				dense[k][rank] = clock{epoch: base}
				if random.IntN(2) == 0 {
					at := clock{base + random.Uint64N(6), random.Uint64N(3) * random.Uint64N(1000)}
					if !d.exceeded(at) {
						continue
					}
					dense[k][rank] = at
					d.above = append(d.above, entry{rank, at})
				}
			}
			ds[k] = decoded{d}
		}
		var one, other, both past
		sender := random.IntN(9)
		ds[0].encode(&one, sender)
		ds[1].encode(&other, sender+1)
		var sum decoded
		sum.add(travel(&one, sender))
		sum.add(travel(&other, sender+1))
		sum.encode(&both, sender)
		base := max(ds[0][0].base, ds[1][0].base)
		for rank := range dense[0] {
			want := dense[0][rank]
			if want.less(dense[1][rank]) {
				want = dense[1][rank]
			}
			if want.less(clock{epoch: base}) {
				want = clock{epoch: base}
			}
			require.Equal(t, dense[0][rank], travel(&one, sender).of(rank, 7))
			require.Equal(t, want, sum[0].at(rank))
			require.Equal(t, want, both.of(rank, 7))
		}
		require.Equal(t, base, both.base)
	}
}

// travel encodes p in a frame from this rank, and decodes it.
func travel(p *past, from int) *past {
	q := &past{domain: p.domain, base: p.base, list: p.list}
	q.setOwn(from, p.word(len(p.list)))
	return q
}

// TestPastBytes: the clock of a rank usually takes three bytes. It takes none if the base
// implies it, or if it is the clock of the sending rank.
func TestPastBytes(t *testing.T) {
	k := knowledge{base: 1000}
	i := 0
	k.join(&i, entry{3, clock{1000, 0}})
	k.join(&i, entry{5, clock{1000, 26}})
	k.join(&i, entry{100, clock{1001, 4}})
	k.join(&i, entry{101, clock{1002, 40}})
	var p past
	d := decoded{{id: 1, knowledge: k}, {id: 2}, {id: 3, knowledge: knowledge{base: 4}}}
	d.encode(&p, 3)
	require.Len(t, p.list, 2+2+3+domainBytes+1)
	require.EqualValues(t, len(p.list), p.word(len(p.list)), "base implies what rank 3 has done")
	d.encode(&p, 100)
	require.Len(t, p.list, 2+3+domainBytes+1)
	require.Equal(t, entry{100, clock{1001, 4}}, travel(&p, 100).own)
	k.raise(1002)
	require.Equal(t, []entry{{101, clock{1002, 40}}}, k.above)
}

// TestOwnEntry: the rank's own clock is in the header as long as it fits, and otherwise in
// the list.
func TestOwnEntry(t *testing.T) {
	for _, c := range []struct {
		at    clock
		apart bool
	}{
		{clock{9, 1}, true}, {clock{9, farCount - 1}, true}, {clock{9, farCount}, false}, {clock{12, 0}, true},
		{clock{12, farCount - 1}, true}, {clock{13, 0}, false}, {clock{1 << 40, 5}, false}, {clock{9, 1 << 59}, false},
	} {
		n := newNet(t, Limits{}, 2, 2, 2)
		a, b := n.p(1, 0), n.p(0, 0)
		n.cores[b].history.domains[0].own = clock{9, 4} // otherwise this process lags behind the messages that it receives
		l := n.cores[a].history.domains[0]
		l.known.base, l.own = 9, c.at
		l.own.count-- // the send has counted
		if c.at.count == 0 {
			l.own = clock{c.at.epoch - 1, farCount}
		}
		l.known.above = []entry{{0, clock{9, 4}}, {2, clock{10, 0}}}
		if c.at.count == 0 {
			n.cores[a].matching.operate(n.ctxs[a], true)
			p := n.cores[a].history.causalPast(l, 0)
			require.Equal(t, c.apart, p.hasOwn(), "%v", c.at)
			n.cores[b].history.learn(travel(p, 1))
		} else {
			n.send(a, "m", 0, 0)
			require.Equal(t, c.apart, n.wire[[2]int{a, b}][0].header.Args[4] > maxList, "%v", c.at)
			r := n.recv(b, 1, 0)
			n.deliver(a, b)
			n.see(b, r)
		}
		require.Equal(t, knowledge{base: 9, above: []entry{{1, c.at}, {2, clock{10, 0}}}}, n.cores[b].history.domains[0].known)
	}
}

// TestCollectiveForwardsClocksOfOtherRanks: a collective passes on the clocks that it has
// received, even if its own rank has no clock that other ranks need.
func TestCollectiveForwardsClocksOfOtherRanks(t *testing.T) {
	n := newNet(t, Limits{}, 2, 1, 2)
	coll, _ := epochs(n)
	a, c, b := n.p(0, 0), n.p(1, 0), n.p(2, 0)
	begin := func(p int) *collective {
		s := &collective{Script: &Script{done: new(Call)}, room: make([]byte, 64)}
		n.cores[p].BeginCollective(coll[p], s.Script)
		s.request.script = s.Script
		return s
	}
	at, through, end := begin(a), begin(c), begin(b)
	n.cores[a].SendExact(coll[a], &at.request, []byte("part"), 1, 0, 0)
	n.cores[c].matching.RecvExact(coll[c], &through.request, through.room, 0, 0, 0)
	n.carry(a)
	n.deliver(a, c)
	require.True(t, through.request.Done())
	var on Request
	on.script = through.Script
	n.cores[c].SendExact(coll[c], &on, []byte("on"), 2, 0, 0)
	n.cores[b].matching.RecvExact(coll[b], &end.request, end.room, 1, 0, 0)
	n.carry(c)
	n.deliver(c, b)
	require.True(t, end.request.Done())
	n.cores[b].EndCollective(end.Script)
	n.cores[b].matching.See(&end.done.Request)
	require.Equal(t, []entry{{0, clock{count: 1}}}, n.cores[b].history.domains[0].known.above)
}

// epochs makes a context for collective operations on all processes of n. It returns a
// function that starts on process p an operation that synchronises all ranks.
func epochs(n *net) (coll []*Context, begin func(p int) *collective) {
	coll = make([]*Context, len(n.cores))
	for p, c := range n.cores {
		var err error
		coll[p], err = c.Join(collectives, testContext, true, nil)
		require.NoError(n.t, err)
	}
	return coll, func(p int) *collective {
		s := &collective{Script: &Script{Sync: SyncAll, done: new(Call)}, room: make([]byte, 64)}
		n.cores[p].BeginCollective(coll[p], s.Script)
		s.request.script = s.Script
		return s
	}
}

// TestBeyondAnEpoch: rank 1 begins an allreduce without waiting and then sends to rank 2.
// Rank 2 begins the allreduce after it has received the message. An operation after the end
// of the allreduce depends on that message, and the epoch of the allreduce does not imply
// this.
func TestBeyondAnEpoch(t *testing.T) {
	n := newNet(t, Limits{}, 1, 2, 2)
	coll, begin := epochs(n)
	c, a0, a1, b0, b1 := n.p(0, 0), n.p(1, 0), n.p(1, 1), n.p(2, 0), n.p(2, 1)
	n.die(b1)
	begin(a0)
	begin(a1)
	n.send(a0, "to b", 2, 0)
	r := n.recv(b0, 1, 0)
	n.deliver(a0, b0)
	n.see(b0, r)

	part, end := begin(b0), begin(c)
	n.cores[c].matching.RecvExact(coll[c], &end.request, end.room, 2, 0, 0)
	n.cores[b0].SendExact(coll[b0], &part.request, []byte("part"), 0, 0, 0)
	n.carry(b0)
	n.deliver(b0, c)
	require.True(t, end.request.Done())
	n.cores[c].EndCollective(end.Script)
	n.carry(c)
	n.cores[c].matching.See(&end.done.Request)
	require.Equal(t, uint64(1), n.cores[c].history.domains[0].known.base)

	n.send(c, "to a", 1, 0)
	wild := n.recv(a1, Any, 0)
	n.deliver(c, a1)
	require.False(t, wild.Done(), "without replicas the message does not exist before A has sent to B")
	n.send(a1, "to b", 2, 0)
	require.Equal(t, "0:to a", n.see(a1, wild))
}

// TestEpochs: the messages of a collective that synchronises all ranks carry no clocks from
// before it, and its end implies them.
func TestEpochs(t *testing.T) {
	n := newNet(t, Limits{}, 2, 2, 2)
	coll, begin := epochs(n)
	a, b := n.p(0, 0), n.p(1, 0)
	n.send(a, "m", 1, 0)
	r := n.recv(b, 0, 0)
	n.deliver(a, b)
	n.see(b, r)
	require.Equal(t, clock{count: 1}, n.cores[b].history.domains[0].known.at(0))
	s := begin(b)
	n.cores[b].SendExact(coll[b], &s.request, []byte("part"), 2, 0, 0)
	acts := n.cores[b].out.Actions()
	sent := acts[len(acts)-1].Header
	require.Equal(t, kindEager, sent.Kind)
	require.Equal(t, uint64(1), sent.Args[3])
	require.Zero(t, sent.Args[4])
	n.cores[b].EndCollective(s.Script)
	n.cores[b].matching.See(&s.done.Request)
	require.Equal(t, knowledge{base: 1, above: []entry{}}, n.cores[b].history.domains[0].known)
	s = begin(b)
	s.Failed = true
	n.cores[b].EndCollective(s.Script)
	n.cores[b].matching.See(&s.done.Request)
	require.Equal(t, uint64(1), n.cores[b].history.domains[0].known.base, "the collective was not carried out")
}

// TestRootSynchronises: at the root, the end of a gather implies that all ranks have begun
// it; elsewhere it does not.
func TestRootSynchronises(t *testing.T) {
	for sync, base := range map[Sync]uint64{SyncHere: 1, SyncElsewhere: 0, SyncNone: 0} {
		n := newNet(t, Limits{}, 2, 2)
		coll, _ := epochs(n)
		s := &Script{Sync: sync, done: new(Call)}
		n.cores[0].BeginCollective(coll[0], s)
		n.cores[0].EndCollective(s)
		n.cores[0].matching.See(&s.done.Request)
		require.Equal(t, base, n.cores[0].history.domains[0].known.base)
	}
}

// TestNoAnySource: messages carry no causal history. The program cannot assert NoAnySource
// after it has sent a message.
func TestNoAnySource(t *testing.T) {
	n := newNet(t, Limits{}, 2, 2)
	require.NoError(t, n.cores[0].NoAnySource())
	n.cores[0].Send(n.ctxs[0], new(Request), []byte("m"), 1, 0, false)
	acts := n.cores[0].out.Actions()
	h := acts[len(acts)-1].Header
	require.Equal(t, kindEager, h.Kind)
	require.Zero(t, h.Args[3]+h.Args[4])
	require.NoError(t, n.cores[0].NoAnySource(), "again, as in another run of the program")
	n.cores[1].matching.Probe(n.ctxs[1], Any, 0)
	require.Error(t, n.cores[1].NoAnySource())
}

// FuzzPast decodes arbitrary header words and lists. A well-formed causal history can be
// added to others, and does not change when it is encoded again.
func FuzzPast(f *testing.F) {
	f.Add(uint64(0), uint64(0), []byte{})
	f.Add(uint64(9), uint64(0), []byte{1, 8, 1, 7, 2, 0, 9, 0, 0, 0, 0, 0, 0, 0, 3, 2, 4})
	f.Add(uint64(9), uint64(9<<listBits), []byte{1, 8, 3, 7, 0, 9, 0, 0, 0, 0, 0, 0, 0, 3, 2, 4})
	f.Add(uint64(9), uint64(9<<listBits), []byte{2, 8})
	f.Add(uint64(1), uint64(0), []byte{0, 1, 2, 3})
	f.Add(uint64(1)<<63, uint64(3)<<listBits, []byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 4})
	c := NewCore(1, 0, 0, []int{2, 2, 1, 2}, false, Limits{})
	if _, err := c.Join(testContext, testContext, false, nil); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, base, word uint64, list []byte) {
		p := &past{domain: testContext, base: base, list: list}
		p.setOwn(1, word)
		if !c.history.scan(p) {
			return
		}
		var d decoded
		d.add(p)
		again := new(past)
		d.encode(again, 1)
		require.True(t, c.history.scan(again))
		require.LessOrEqual(t, len(again.list), len(list))
		for _, id := range []uint64{testContext, 9} {
			for rank := range c.job.ranks {
				require.Equal(t, p.of(rank, id), again.of(rank, id))
			}
		}
		require.Equal(t, c.history.begun(p), c.history.begun(again))
		c.history.learn(p.clone(&c.history))
	})
}
