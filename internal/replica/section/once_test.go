package section

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/simseed"
)

// onceWord is a frame of the Once protocol.
type onceWord struct {
	kind   OnceActionKind
	number uint64
	deaths uint64
	result []byte
}

// onceGroup drives the replicas of a rank through calls of Once. The function returns a
// new value every time it runs, like a clock. So the test notices if a call has two
// results.
type onceGroup struct {
	rng   *rand.Rand
	nodes []*onceNode
	links [][][]onceWord
	epoch []int
	fresh int
}

type onceNode struct {
	g       *onceGroup
	id      int
	o       *Once
	dead    bool
	open    bool
	run     bool
	handled int
	late    int // the replica enters a call in one of that many possible steps
	got     []string
}

func newOnceGroup(seed uint64, replicas int) *onceGroup {
	g := &onceGroup{rng: rand.New(rand.NewPCG(seed, 3))}
	for i := range replicas {
		g.nodes = append(g.nodes, &onceNode{g: g, id: i, o: NewOnce(i, replicas), late: 1 + g.rng.IntN(3)*g.rng.IntN(20)})
		g.links = append(g.links, make([][]onceWord, replicas))
	}
	return g
}

func (n *onceNode) perform(acts []OnceAction) {
	for _, a := range acts {
		if a.Kind == OnceRun {
			n.run = true
			continue
		}
		n.g.links[n.id][a.Peer] = append(n.g.links[n.id][a.Peer], onceWord{a.Kind, a.Number, a.Deaths, a.Result})
	}
}

func (n *onceNode) deliver(from int) {
	q := &n.g.links[from][n.id]
	w := (*q)[0]
	*q = (*q)[1:]
	switch w.kind {
	case OnceSend:
		n.perform(n.o.Result(from, w.number, w.result))
	case OnceSayHave:
		n.o.Have(from, w.number)
	case OnceAsk:
		n.perform(n.o.Query(from, w.number, w.deaths))
	case OnceSayNone:
		n.perform(n.o.None(from, w.number, w.deaths))
	}
}

// moves lists the possible moves of the node. calls is the number of calls to make. all
// includes the moves of late replicas.
func (n *onceNode) moves(calls int, all bool) []func() {
	g := n.g
	var moves []func()
	for from := range g.nodes {
		if len(g.links[from][n.id]) > 0 {
			moves = append(moves, func() { n.deliver(from) })
		}
	}
	if n.handled < len(g.epoch) && len(g.links[g.epoch[n.handled]][n.id]) == 0 {
		moves = append(moves, func() {
			n.perform(n.o.Dead(g.epoch[n.handled]))
			n.handled++
		})
	}
	switch {
	case n.run:
		moves = append(moves, func() {
			n.run = false
			g.fresh++
			n.perform(n.o.Result(n.id, n.o.Number(), fmt.Appendf(nil, "value %d", g.fresh)))
		})
	case !n.open && len(n.got) < calls && (all || g.rng.IntN(n.late) == 0):
		moves = append(moves, func() { n.open = true; n.perform(n.o.Enter()) })
	case n.open:
		if v, ok := n.o.Done(); ok {
			moves = append(moves, func() { n.got = append(n.got, string(v)); n.open = false; n.o.Leave() })
		}
	}
	return moves
}

func (g *onceGroup) live() (live []*onceNode) {
	for _, n := range g.nodes {
		if !n.dead {
			live = append(live, n)
		}
	}
	return live
}

// join replaces a dead replica in a cut: all live replicas are between the same two calls.
// The dead replica may have been ahead of the cut.
func (g *onceGroup) join() (joined bool) {
	live := g.live()
	donor := live[0]
	for _, n := range live {
		if n.open || n.handled < len(g.epoch) || len(n.got) != len(donor.got) {
			return false
		}
	}
	i := slices.IndexFunc(g.nodes, func(n *onceNode) bool { return n.dead })
	if i < 0 {
		return false
	}
	var at Position
	donor.o.Position(&at)
	n := &onceNode{g: g, id: i, handled: len(g.epoch), late: 1 + g.rng.IntN(4), got: slices.Clone(donor.got), o: NewOnceAt(i, len(g.nodes), at)}
	for _, other := range live {
		other.o.Alive(i)
		n.o.Alive(other.id)
	}
	for _, to := range g.links { // a replica that has not joined has no links
		to[i] = nil
	}
	g.nodes[i] = n
	return true
}

// TestOnceSchedules kills and replaces any replicas at any time. No replica continues with
// a result that another live replica does not have, and none waits forever.
func TestOnceSchedules(t *testing.T) {
	const calls = 4
	reruns, joins := 0, 0
	first, n := simseed.Range(t, 6000)
	for seed := first; seed < first+n; seed++ {
		g := newOnceGroup(seed, 1+int(seed%4))
		crashes := g.rng.IntN(2 * len(g.nodes))
		used := make([]string, calls) // results used by any replica, live or dead
		for {
			var moves []func()
			for _, all := range []bool{false, true} {
				for _, n := range g.live() {
					if !all || len(moves) == 0 {
						moves = append(moves, n.moves(calls, all)...)
					}
				}
			}
			if len(moves) == 0 {
				break
			}
			moves[g.rng.IntN(len(moves))]()
			if g.rng.IntN(2) == 0 && g.join() {
				joins++
			}
			for _, n := range g.nodes {
				for i, v := range n.got {
					require.Contains(t, []string{"", v}, used[i], "seed %d: call %d gave two results", seed, i)
					used[i] = v
				}
			}
			if live := g.live(); crashes > 0 && len(live) > 1 && g.rng.IntN(15) == 0 {
				crashes--
				n := live[g.rng.IntN(len(live))]
				n.dead = true
				g.epoch = append(g.epoch, n.id)
				for to := range g.links[n.id] { // frames in flight to the dead replica are lost
					q := &g.links[n.id][to]
					*q = (*q)[:g.rng.IntN(len(*q)+1)]
				}
			}
		}
		for _, n := range g.live() {
			require.Len(t, n.got, calls, "seed %d: replica %d hangs", seed, n.id)
			require.NotContains(t, n.got, "")
		}
		reruns += g.fresh - calls
	}
	if n > 1000 {
		require.Positive(t, reruns, "no runner died between running the function and sending the result")
		require.Greater(t, joins, int(n)/20)
	}
}
