package verify

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/simseed"
)

// A keeping is the replicas of a rank that compare their state at safe points, with links
// and a head. It runs in one goroutine, and one seed determines all events.
type keeping struct {
	rng     *rand.Rand
	points  uint64
	nodes   []*keeper
	words   [][][]stateWord // by sender, then receiver
	deaths  []int
	crashes int
	faulty  int    // the replica whose state becomes wrong; -1: none
	since   uint64 // the first safe point with a wrong state
	blamed  map[int]bool
	ended   bool // no replica can be blamed
	repairs int
	joins   int // number of joins still to come
}

type stateWord struct {
	point, hash uint64
	finished    bool
}

// keeper is one replica.
type keeper struct {
	*keeping
	id      int
	s       *States
	point   uint64
	inside  bool
	wrong   bool
	dead    bool
	handled int
	passed  map[uint64]bool // by safe point that it has passed: its state was right
	lone    map[uint64]bool // by safe point that it has passed: it had no peer to compare with
}

func newKeeping(seed uint64) *keeping {
	rng := rand.New(rand.NewPCG(seed, 29))
	k := &keeping{rng: rng, points: 1 + rng.Uint64N(5), faulty: -1, blamed: make(map[int]bool), joins: rng.IntN(2)}
	n := 1 + rng.IntN(4)
	if rng.IntN(4) > 0 {
		k.faulty, k.since = rng.IntN(n), 1+rng.Uint64N(k.points)
	}
	k.crashes = rng.IntN(n + 1)
	for i := range n {
		k.nodes = append(k.nodes, &keeper{keeping: k, id: i, s: NewStates(i, n), passed: make(map[uint64]bool), lone: make(map[uint64]bool)})
		k.words = append(k.words, make([][]stateWord, n))
	}
	return k
}

// run drives the replicas until all live ones have passed all safe points.
func (k *keeping) run() error {
	for range 100_000 {
		if k.ended {
			return nil
		}
		var moves []func()
		for _, n := range k.nodes {
			if !n.dead {
				moves = append(moves, n.moves()...)
			}
		}
		if len(moves) == 0 {
			for _, n := range k.nodes {
				if !n.dead && n.point < k.points+1 {
					return fmt.Errorf("hang: replica %d at safe point %d: %+v", n.id, n.point, n.s.Compare())
				}
			}
			return nil
		}
		moves[k.rng.IntN(len(moves))]()
	}
	return fmt.Errorf("no end")
}

func (n *keeper) moves() (all []func()) {
	for from := range n.nodes {
		if w := n.words[from][n.id]; len(w) > 0 {
			all = append(all, func() {
				n.words[from][n.id] = w[1:]
				if w[0].finished {
					n.s.Finished(from)
				} else {
					n.s.Receive(from, w[0].point, w[0].hash)
				}
			})
		}
	}
	if n.handled < len(n.deaths) {
		if d := n.deaths[n.handled]; len(n.words[d][n.id]) == 0 {
			all = append(all, func() { n.handled++; n.s.Dead(d) })
		}
	}
	if n.crashes > 0 && n.live() > 1 && n.rng.IntN(15) == 0 {
		all = append(all, func() { n.crashes--; n.die() })
	}
	switch {
	case n.point > n.points:
	case !n.inside:
		all = append(all, n.enter)
	default:
		switch c := n.s.Compare(); {
		case c.Outcome == Same:
			all = append(all, func() { n.leave(c) })
		case c.Outcome == Unknown:
			all = append(all, func() { n.ended = true })
		case c.Outcome == Wrong:
			all = append(all, func() { n.blamed[n.id] = true; n.die() })
		case len(c.Faulty) > 0:
			for _, g := range c.Faulty {
				if !n.nodes[g].dead {
					all = append(all, func() { n.blamed[g] = true; n.nodes[g].die() })
				}
			}
		}
	}
	return all
}

func (n *keeper) enter() {
	n.point++
	if n.point > n.points {
		for p := range n.nodes {
			n.say(p, stateWord{finished: true})
		}
		return
	}
	n.wrong = n.wrong || n.id == n.faulty && n.point >= n.since
	hash := n.point
	if n.wrong {
		hash |= 1 << 40
	}
	n.lone[n.point] = !n.s.Asked(n.point)
	for _, p := range n.s.Enter(n.point, hash) {
		n.say(p, stateWord{point: n.point, hash: hash})
	}
	n.inside = true
}

func (n *keeper) say(p int, w stateWord) {
	if p != n.id && !n.nodes[p].dead {
		n.words[n.id][p] = append(n.words[n.id][p], w)
	}
}

func (n *keeper) leave(c Comparison) {
	n.inside = false
	n.passed[n.point] = !n.wrong
	if len(c.Faulty) > 0 {
		n.repairs++
	}
	for _, g := range c.Faulty {
		n.blamed[g] = true
	}
	// A joiner replaces a dead replica, while all live ones are at this safe point.
	for _, d := range n.nodes {
		if d.dead && n.joins > 0 && n.together() {
			n.joins--
			n.join(d)
			return
		}
	}
}

// together reports whether all live replicas have compared the same safe point, and have
// received all messages.
func (n *keeper) together() bool {
	for _, o := range n.nodes {
		if o.dead {
			continue
		}
		if o.point != n.point || o.inside || o.handled < len(n.deaths) {
			return false
		}
		for from := range n.nodes {
			if len(n.words[from][o.id]) > 0 {
				return false
			}
		}
	}
	return n.point < n.points
}

// join makes d begin with the state of n.
func (n *keeper) join(d *keeper) {
	d.s, d.dead, d.wrong, d.inside, d.point, d.handled = NewStates(d.id, len(n.nodes)), false, n.wrong, false, n.point, len(n.deaths)
	d.passed, d.lone = make(map[uint64]bool), make(map[uint64]bool)
	if d.id == n.faulty {
		n.faulty = -1 // the replacement is sound
	}
	if n.wrong {
		n.faulty = n.id
	}
	for _, o := range n.nodes {
		if o.dead {
			d.s.Dead(o.id)
		} else if o != d {
			o.s.Alive(d.id)
		}
	}
}

func (k *keeping) live() (n int) {
	for _, x := range k.nodes {
		if !x.dead {
			n++
		}
	}
	return n
}

// die kills n. Its last messages to each other replica are lost.
func (n *keeper) die() {
	if n.dead {
		return
	}
	n.dead = true
	for p, w := range n.words[n.id] {
		n.words[n.id][p] = w[:n.rng.IntN(len(w)+1)]
	}
	for p := range n.nodes {
		n.words[p][n.id] = nil
	}
	n.keeping.deaths = append(n.keeping.deaths, n.id)
}

// TestStates runs ranks through safe points. The state of one replica becomes wrong, and
// any replica dies or is replaced at any point. No replica continues with a wrong state or
// beside one, none with a right state is blamed, and none waits forever.
func TestStates(t *testing.T) {
	repaired, unknown := 0, 0
	n := simseed.Search(t, 20_000, func(seed uint64) error {
		k := newKeeping(seed)
		bad := k.faulty
		if err := k.run(); err != nil {
			return err
		}
		if k.ended && bad < 0 {
			return fmt.Errorf("no replica errs, but no state counts as right")
		}
		if k.ended && len(k.nodes) > 2 && len(k.deaths) == 0 {
			return fmt.Errorf("no replica is blamed by %d replicas", len(k.nodes))
		}
		for g := range k.blamed {
			if g != bad && !k.nodes[g].wrong {
				return fmt.Errorf("replica %d is blamed, but its state is right", g)
			}
		}
		for _, x := range k.nodes {
			for point, right := range x.passed {
				if !right && !x.lone[point] {
					return k.spread(x, point)
				}
			}
		}
		return nil
	})
	for seed := range min(n, 2000) {
		k := newKeeping(seed)
		require.NoError(t, k.run())
		if repaired += k.repairs; k.ended {
			unknown++
		}
	}
	if n >= 2000 {
		require.Greater(t, repaired, 100)
		require.Greater(t, unknown, 100)
	}
}

// spread checks how x has passed a safe point with a wrong state, though it had a peer to
// compare with. Two causes are possible. All live replicas had no peer before, and the
// state was passed on to a joiner. Or all replicas that could have reported it died before
// they did.
func (k *keeping) spread(x *keeper, point uint64) error {
	for _, o := range k.nodes {
		if right, passed := o.passed[point]; passed && right {
			return fmt.Errorf("replica %d has passed safe point %d with a wrong state, beside replica %d", x.id, point, o.id)
		}
	}
	return nil
}

// TestCompare lists the right state for given votes, one of which may be from a dead
// replica.
func TestCompare(t *testing.T) {
	for _, c := range []struct {
		name    string
		votes   []uint64 // the first vote is that of this replica
		dead    []int
		outcome Outcome
		faulty  []int
	}{
		{"alone", []uint64{1}, nil, Same, nil},
		{"two alike", []uint64{1, 1}, nil, Same, nil},
		{"two that differ", []uint64{1, 2}, nil, Unknown, nil},
		{"two that differ, one of them dead", []uint64{1, 2}, []int{1}, Unknown, nil},
		{"one of three lives", []uint64{1, 2, 1}, nil, Await, []int{1}},
		{"one of three is dead", []uint64{1, 2, 1}, []int{1}, Same, []int{1}},
		{"two against one, one of them dead", []uint64{1, 2, 1}, []int{1, 2}, Same, []int{1}},
		{"one against two", []uint64{2, 1, 1}, nil, Wrong, []int{0}},
		{"one against two, one of them dead", []uint64{2, 1, 1}, []int{2}, Wrong, []int{0}},
		{"three that differ", []uint64{1, 2, 3}, nil, Unknown, nil},
		{"two against two", []uint64{1, 1, 2, 2}, nil, Unknown, nil},
		{"two against one and one", []uint64{1, 1, 2, 3}, nil, Await, []int{2, 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := NewStates(0, len(c.votes))
			for p := 1; p < len(c.votes); p++ {
				s.Receive(p, 7, c.votes[p])
				s.Receive(p, 8, 0) // the peer may be ahead
			}
			s.Enter(7, c.votes[0])
			for _, p := range c.dead {
				s.Dead(p)
			}
			got := s.Compare()
			require.Equal(t, c.outcome, got.Outcome)
			require.Equal(t, c.faulty, got.Faulty)
			require.Equal(t, -1, got.Left)
		})
	}
}

// TestStateThatNeverArrives requires that no replica waits for the state of one whose
// program has returned.
func TestStateThatNeverArrives(t *testing.T) {
	s := NewStates(1, 2)
	require.Equal(t, []int{0}, s.Enter(3, 5))
	s.Finished(0)
	require.Equal(t, 0, s.Compare().Left)
	s.Dead(0)
	require.Equal(t, Comparison{Outcome: Same, Votes: []Vote{{1, 5}}, Left: -1}, s.Compare())
	require.True(t, s.Counts())
}
