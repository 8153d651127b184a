package sdr

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"
)

// wrongJob runs a job whose ranks send around a ring, in a random schedule. Bits of one
// payload are turned on its way from process wrong, if that is not negative; so many
// processes die. If the program of who gets it fails of that, the process tells what it has
// received, and dies when all have heard that. It returns what was found, by process, and whether something was wrong.
func wrongJob(t *testing.T, seed uint64, wrong, deaths int, fails bool, degrees ...int) (found [][]*Difference, number uint64, turned bool) {
	rng := rand.New(rand.NewPCG(seed, 5))
	n := newNet(t, Limits{Eager: 16}, degrees...)
	alive, step := make([]bool, len(n.cores)), make([]int, len(n.cores))
	for p, c := range n.cores {
		c.sum, alive[p] = xxh3.Hash, true
	}
	left := make([]int, len(degrees))
	copy(left, degrees)
	const messages = 40
	at := rng.IntN(messages)
	failed, told := -1, false // a process, and whether it has told all
	turn := func() {
		for key, wire := range n.wire {
			for i := range wire {
				f := &wire[i]
				if key[0] == wrong && f.message != nil && !turned && f.message.number == uint64(at) && len(f.payload) > 0 {
					f.payload = slices.Clone(f.payload)
					f.payload[0] ^= 4
					number, turned = f.message.number, true
					if fails {
						failed = key[1]
					}
				}
			}
		}
	}
	for range 100_000 {
		var moves []func()
		for p, c := range n.cores {
			if !alive[p] {
				continue
			}
			if p == failed && n.cores[p].inStream(n.ctxs[p], n.cores[wrong].rank).received.has(number) {
				step[p] = messages
				switch {
				case !told:
					moves = append(moves, func() { told = true; c.tellAll(); n.carry(p) })
				case c.confirmed():
					moves = append(moves, func() {
						alive[p] = false
						require.True(t, heardOf(n, wrong, number), "seed %d", seed)
						n.die(p)
					})
				}
				n.carry(p)
			}
			if step[p] < messages {
				moves = append(moves, func() {
					i := step[p]
					step[p]++
					n.recv(p, (c.rank+len(degrees)-1)%len(degrees), i)
					n.send(p, strings.Repeat(string(rune('a'+i%26)), 1+i*7%30), (c.rank+1)%len(degrees), i)
				})
			}
			for q := range n.cores {
				if alive[q] && len(n.wire[[2]int{p, q}]) > 0 {
					moves = append(moves, func() { n.deliver(p, q) })
				}
			}
			if deaths > 0 && left[c.rank] > 1 && rng.IntN(300) == 0 {
				moves = []func(){func() {
					deaths--
					left[c.rank]--
					alive[p] = false
					n.die(p)
				}}
				break
			}
		}
		if turn(); len(moves) == 0 {
			break
		}
		moves[rng.IntN(len(moves))]()
	}
	for p, c := range n.cores {
		if alive[p] {
			c.Drain()
			n.carry(p)
		}
	}
	n.deliverAll()
	for p, c := range n.cores {
		if alive[p] {
			require.True(t, c.Drained())
			for _, ctx := range c.order {
				for _, s := range ctx.out {
					require.True(t, s == nil || len(s.compared.own)+len(s.compared.early) == 0 || slices.Contains(alive, false), "all was told")
				}
			}
		}
		found = append(found, c.differences)
	}
	return found, number, turned
}

// heardOf reports whether all that process wrong is compared with have heard of a message, or will
// look at it when they post it.
func heardOf(n *net, wrong int, number uint64) bool {
	of := n.cores[wrong]
	for p, c := range n.cores {
		if c.rank != of.rank || p == wrong {
			continue
		}
		s := c.outStream(n.ctxs[p], (c.rank+1)%len(c.ranks))
		if len(c.differences)+len(s.compared.early[number]) == 0 && (s.compared.own[number] == nil || !s.compared.own[number].differs) {
			return false
		}
	}
	return true
}

// Wrong contents that a replica has sent are found by the others of its rank, and with
// three of them it is known whose they are.
func TestWrongMessageIsFound(t *testing.T) {
	for seed := range uint64(50) {
		degrees := [][]int{{2, 2}, {2, 1}, {3, 3, 3}, {2, 3}, {3, 2}}[seed%5]
		wrong := int(seed) % degrees[0]
		found, number, turned := wrongJob(t, seed, wrong, 0, false, degrees...)
		if !turned { // the process sends to nobody of a smaller rank
			require.Less(t, degrees[1], degrees[0])
			continue
		}
		others := 0
		for p, all := range found {
			if len(all) == 0 {
				continue
			}
			others++
			require.Less(t, p, degrees[0], "only who knows what is right says so")
			require.NotEqual(t, wrong, p)
			require.Len(t, all, 1)
			require.Equal(t, number, all[0].Number)
			require.Contains(t, all[0].String(), "different contents (replica ")
			if degrees[0] == 3 && degrees[1] == 3 {
				require.Equal(t, []int{wrong}, all[0].Minority(), "%v", all[0])
			}
			for _, replica := range all[0].Minority() {
				require.Equal(t, wrong, replica, "%v", all[0])
			}
		}
		require.Positive(t, others, "seed %d", seed)
	}
}

// So they are if the program of who has got them fails of that: it has told all before.
func TestWrongMessageIsFoundBeforeItsReceiverFails(t *testing.T) {
	some := 0
	for seed := range uint64(100) {
		degrees := [][]int{{2, 2}, {2, 1}, {3, 3, 3}, {2, 3}, {3, 2}}[seed%5]
		found, number, turned := wrongJob(t, seed, int(seed)%degrees[0], 0, true, degrees...)
		if !turned {
			continue
		}
		some++
		all := slices.Concat(found...)
		require.NotEmpty(t, all, "seed %d", seed)
		require.Equal(t, number, all[0].Number)
	}
	require.Greater(t, some, 60)
}

// Where nothing is wrong nothing is found, whoever dies.
func TestNoWrongMessageIsFoundBesideDeaths(t *testing.T) {
	for seed := range uint64(120) {
		degrees := [][]int{{2, 2}, {2, 1}, {3, 3, 3}, {2, 3}, {3, 2, 1}}[seed%5]
		found, _, _ := wrongJob(t, seed, -1, int(seed%4), false, degrees...)
		for _, all := range found {
			require.Empty(t, all, "seed %d", seed)
		}
	}
}

// What has not been told is told at a cut, also to who posts the message later.
func TestMessagesAreComparedAtCuts(t *testing.T) {
	n := newNet(t, Limits{}, 2, 2)
	for _, c := range n.cores {
		c.sum, c.point = xxh3.Hash, func() uint64 { return 7 }
	}
	n.send(n.p(0, 0), "right", 1, 0)
	n.deliverAll()
	require.Len(t, n.cores[n.p(1, 0)].inStream(n.ctxs[n.p(1, 0)], 0).sums, 1)
	n.recv(n.p(1, 0), 0, 0)
	n.begin(1, n.p(1, 0))
	n.deliverAll()
	n.send(n.p(0, 1), "wrong", 1, 0)
	require.Len(t, n.cores[n.p(0, 1)].differences, 1)
	require.EqualValues(t, 7, n.cores[n.p(0, 1)].differences[0].Point)
	require.Equal(t, []Sent{{0, xxh3.HashString("right")}, {1, xxh3.HashString("wrong")}}, n.cores[n.p(0, 1)].differences[0].Sent)
}

func TestMinority(t *testing.T) {
	for _, c := range []struct {
		hashes string
		want   []int
	}{{"aa", nil}, {"ab", nil}, {"aab", []int{2}}, {"baa", []int{0}}, {"abc", nil}, {"aabb", nil}, {"abaca", []int{1, 3}}} {
		var d Difference
		for replica, hash := range c.hashes {
			d.Sent = append(d.Sent, Sent{replica, uint64(hash)})
		}
		if c.hashes == "aa" {
			require.Empty(t, d.Minority())
			continue
		}
		require.Equal(t, c.want, d.Minority(), c.hashes)
	}
	twice := Difference{Sent: []Sent{{0, 'b'}, {0, 'b'}, {1, 'a'}}}
	require.Empty(t, twice.Minority(), "one that has sent to two is no majority over another one")
	both := Difference{Sent: []Sent{{0, 'a'}, {0, 'b'}, {1, 'a'}}}
	require.Equal(t, []int{0}, both.Minority())
}
