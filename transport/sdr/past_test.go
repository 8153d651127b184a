package sdr

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestKnowledge: joining, raising and encoding give the same clocks as an array
// with one for each rank.
func TestKnowledge(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		var dense [2][9]clock
		var ds [2]decoded
		for k := range dense {
			base := random.Uint64N(4)
			d := decodedThread{id: 7, knowledge: knowledge{base: base}}
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
		ds[0].encode(&one)
		ds[1].encode(&other)
		var sum decoded
		sum.add(&one)
		sum.add(&other)
		sum.encode(&both)
		base := max(ds[0][0].base, ds[1][0].base)
		for rank := range dense[0] {
			want := dense[0][rank]
			if want.less(dense[1][rank]) {
				want = dense[1][rank]
			}
			if want.less(clock{epoch: base}) {
				want = clock{epoch: base}
			}
			require.Equal(t, dense[0][rank], one.of(rank, 7))
			require.Equal(t, want, sum[0].at(rank))
			require.Equal(t, want, both.of(rank, 7))
		}
		require.Equal(t, base, both.base)
	}
}

// TestPastBytes: what is known of most ranks has three bytes, and what the base
// implies has none.
func TestPastBytes(t *testing.T) {
	k := knowledge{base: 1000}
	i := 0
	k.join(&i, entry{3, clock{1000, 0}})
	k.join(&i, entry{5, clock{1000, 26}})
	k.join(&i, entry{100, clock{1001, 4}})
	k.join(&i, entry{101, clock{1002, 40}})
	var p past
	decoded{{id: 1, knowledge: k}, {id: 2}, {id: 3, knowledge: knowledge{base: 4}}}.encode(&p)
	require.Len(t, p.list, 2+2+3+threadBytes+1)
	k.raise(1002)
	require.Equal(t, []entry{{101, clock{1002, 40}}}, k.above)
}

// epochs is a collective context for all processes of n, and begins one that
// synchronises all ranks.
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

// TestBeyondAnEpoch: rank 1 begins an allreduce without waiting and then sends to
// rank 2, which begins it after that. Who has seen the end of the allreduce depends
// on that message, which the number of the allreduce does not imply.
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
	n.cores[c].RecvExact(coll[c], &end.request, end.room, 2, 0, 0)
	n.cores[b0].SendExact(coll[b0], &part.request, []byte("part"), 0, 0, 0)
	n.carry(b0)
	n.deliver(b0, c)
	require.True(t, end.request.Done())
	n.cores[c].EndCollective(end.Script)
	n.carry(c)
	n.cores[c].See(&end.done.Request)
	require.Equal(t, uint64(1), n.cores[c].threads[0].known.base)

	n.send(c, "to a", 1, 0)
	wild := n.recv(a1, Any, 0)
	n.deliver(c, a1)
	require.False(t, wild.Done(), "without replicas it does not exist before A has sent to B")
	n.send(a1, "to b", 2, 0)
	require.Equal(t, "0:to a", n.see(a1, wild))
}

// TestEpochs: the messages of a collective that synchronises all ranks say nothing
// of what was before it, and its end implies it.
func TestEpochs(t *testing.T) {
	n := newNet(t, Limits{}, 2, 2, 2)
	coll, begin := epochs(n)
	a, b := n.p(0, 0), n.p(1, 0)
	n.send(a, "m", 1, 0)
	r := n.recv(b, 0, 0)
	n.deliver(a, b)
	n.see(b, r)
	require.Equal(t, clock{count: 1}, n.cores[b].threads[0].known.at(0))
	s := begin(b)
	n.cores[b].SendExact(coll[b], &s.request, []byte("part"), 2, 0, 0)
	acts := n.cores[b].Actions()
	sent := acts[len(acts)-1].Header
	require.Equal(t, kindEager, sent.Kind)
	require.Equal(t, uint64(1), sent.Args[3])
	require.Zero(t, sent.Args[4])
	n.cores[b].EndCollective(s.Script)
	n.cores[b].See(&s.done.Request)
	require.Equal(t, knowledge{base: 1, above: []entry{}}, n.cores[b].threads[0].known)
	s = begin(b)
	s.Failed = true
	n.cores[b].EndCollective(s.Script)
	n.cores[b].See(&s.done.Request)
	require.Equal(t, uint64(1), n.cores[b].threads[0].known.base, "it was not carried out")
}

// TestRootSynchronises: the end of a gather implies at the root that all ranks have
// begun it, and elsewhere not.
func TestRootSynchronises(t *testing.T) {
	for sync, base := range map[Sync]uint64{SyncHere: 1, SyncElsewhere: 0, SyncNone: 0} {
		n := newNet(t, Limits{}, 2, 2)
		coll, _ := epochs(n)
		s := &Script{Sync: sync, done: new(Call)}
		n.cores[0].BeginCollective(coll[0], s)
		n.cores[0].EndCollective(s)
		n.cores[0].See(&s.done.Request)
		require.Equal(t, base, n.cores[0].threads[0].known.base)
	}
}

// TestNoAnySource: messages say nothing of what they depend on, and it cannot be
// said too late.
func TestNoAnySource(t *testing.T) {
	n := newNet(t, Limits{}, 2, 2)
	require.NoError(t, n.cores[0].NoAnySource())
	n.cores[0].Send(n.ctxs[0], new(Request), []byte("m"), 1, 0, false)
	acts := n.cores[0].Actions()
	h := acts[len(acts)-1].Header
	require.Equal(t, kindEager, h.Kind)
	require.Zero(t, h.Args[3]+h.Args[4])
	require.Error(t, n.cores[0].NoAnySource())
	n.cores[1].Probe(n.ctxs[1], Any, 0)
	require.Error(t, n.cores[1].NoAnySource())
}

// FuzzPast reads arbitrary lists. What is well formed can be added to others, and
// says the same when it is written again.
func FuzzPast(f *testing.F) {
	f.Add(uint64(0), []byte{})
	f.Add(uint64(9), []byte{1, 8, 1, 7, 2, 0, 9, 0, 0, 0, 0, 0, 0, 0, 3, 2, 4})
	f.Add(uint64(1), []byte{0, 1, 2, 3})
	f.Add(uint64(1)<<63, []byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 4})
	c := NewCore(1, 0, 0, []int{2, 2, 1, 2}, false, Limits{})
	if _, err := c.Join(testContext, testContext, false, nil); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, base uint64, list []byte) {
		p := &past{thread: testContext, base: base, list: list}
		if !c.scan(p) {
			return
		}
		var d decoded
		d.add(p)
		again := new(past)
		d.encode(again)
		require.True(t, c.scan(again))
		require.LessOrEqual(t, len(again.list), len(list))
		for _, id := range []uint64{testContext, 9} {
			for rank := range c.ranks {
				require.Equal(t, p.of(rank, id), again.of(rank, id))
			}
		}
		require.Equal(t, c.begun(p), c.begun(again))
		c.learn(p.clone(c))
	})
}
