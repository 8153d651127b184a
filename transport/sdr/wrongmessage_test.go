package sdr

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"
)

// wrongJob runs a job whose ranks send around a ring, in a random schedule. It flips bits
// of one payload from process wrong, if that is not negative, and kills some processes. If
// fails is set, the receiver of a wrong message reports all hashes, and dies when the
// reports have arrived. wrongJob returns the differences found, by process, and whether
// bits were flipped.
func wrongJob(t *testing.T, seed uint64, wrong, deaths int, fails bool, degrees ...int) (found [][]*Difference, number uint64, turned bool) {
	j := runWrong(t, seed, wrong, deaths, fails, degrees...)
	return j.found, j.number, j.turned
}

// wrongRun is the result of a job with a wrong message.
type wrongRun struct {
	found  [][]*Difference // by process
	number uint64          // number of the wrong message
	turned bool            // bits were flipped
	hash   uint64
	died   bool // the sender has died
	// A process that lived to the end has received the message, and another replica of its
	// sender's rank lived to the end.
	taken bool
}

func runWrong(t *testing.T, seed uint64, wrong, deaths int, fails bool, degrees ...int) (j wrongRun) {
	rng := rand.New(rand.NewPCG(seed, 5))
	n := newNet(t, Limits{Eager: 16}, degrees...)
	alive, step := make([]bool, len(n.cores)), make([]int, len(n.cores))
	takers := make(map[int]bool) // receivers of the wrong message
	for p, c := range n.cores {
		alive[p] = true
		c.comparer.sum = func(payload []byte) uint64 {
			hash := xxh3.Hash(payload)
			if hash == j.hash {
				takers[p] = true
			}
			return hash
		}
		c.comparer.begin("")
	}
	left := make([]int, len(degrees))
	copy(left, degrees)
	const messages = 40
	at := rng.IntN(messages)
	failed, reported := -1, false // a process, and whether it has reported all hashes
	turn := func() {
		for key, wire := range n.wire {
			for i := range wire {
				f := &wire[i]
				if key[0] == wrong && f.message != nil && !j.turned && f.message.number == uint64(at) && len(f.payload) > 0 {
					f.payload = slices.Clone(f.payload)
					f.payload[0] ^= 0x80 // no other message has this bit
					j.number, j.turned, j.hash = f.message.number, true, xxh3.Hash(f.payload)
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
			if p == failed && n.ctxs[p].inStream(n.cores[wrong].job.rank).received.has(j.number) {
				step[p] = messages
				switch {
				case !reported:
					moves = append(moves, func() { reported = true; c.acks.sendAllSums(); n.carry(p) })
				case c.outgoing.confirmed(ofArrival):
					moves = append(moves, func() {
						alive[p] = false
						require.True(t, hasReport(n, wrong, j.number), "seed %d", seed)
						n.die(p)
					})
				}
				n.carry(p)
			}
			if step[p] < messages {
				moves = append(moves, func() {
					i := step[p]
					step[p]++
					n.recv(p, (c.job.rank+len(degrees)-1)%len(degrees), i)
					n.send(p, strings.Repeat(string(rune('a'+i%26)), 1+i*7%30), (c.job.rank+1)%len(degrees), i)
				})
			}
			for q := range n.cores {
				if alive[q] && len(n.wire[[2]int{p, q}]) > 0 {
					moves = append(moves, func() { n.deliver(p, q) })
				}
			}
			if deaths > 0 && left[c.job.rank] > 1 && rng.IntN(300) == 0 {
				moves = []func(){func() {
					deaths--
					left[c.job.rank]--
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
			require.True(t, c.outgoing.Drained())
			nothingKept(t, c)
		}
		j.died = j.died || p == wrong && !alive[p]
		j.found = append(j.found, c.comparer.differences)
		if wrong >= 0 && p != wrong && c.job.rank == n.cores[wrong].job.rank && alive[p] {
			for taker := range takers {
				j.taken = j.taken || alive[taker]
			}
		}
	}
	return j
}

// hasReport reports whether all processes with which process wrong is compared have a report
// on a message, or will have one when they post it.
func hasReport(n *net, wrong int, number uint64) bool {
	of := n.cores[wrong]
	for p, c := range n.cores {
		if c.job.rank != of.job.rank || p == wrong {
			continue
		}
		s := c.contexts.outStream(n.ctxs[p], (c.job.rank+1)%len(c.job.ranks))
		if len(c.comparer.differences)+len(s.compared.early[number]) == 0 && (s.compared.own[number] == nil || !s.compared.own[number].differs) {
			return false
		}
	}
	return true
}

// The other replicas of the sender's rank find the difference. With three replicas they
// also find which one is wrong.
func TestWrongMessageIsFound(t *testing.T) {
	for seed := range uint64(50) {
		degrees := [][]int{{2, 2}, {2, 1}, {3, 3, 3}, {2, 3}, {3, 2}}[seed%5]
		wrong := int(seed) % degrees[0]
		found, number, turned := wrongJob(t, seed, wrong, 0, false, degrees...)
		if !turned { // the process sends nothing to a smaller rank
			require.Less(t, degrees[1], degrees[0])
			continue
		}
		others := 0
		for p, all := range found {
			if len(all) == 0 {
				continue
			}
			others++
			require.Less(t, p, degrees[0], "a verdict needs a majority")
			require.NotEqual(t, wrong, p)
			require.Len(t, all, 1)
			require.Equal(t, number, all[0].Number)
			require.Contains(t, all[0].String(), "different contents (replica ")
			if degrees[0] == 3 && degrees[1] == 3 {
				require.Equal(t, []int{wrong}, minority(all[0]), "%v", all[0])
			}
			for _, replica := range minority(all[0]) {
				require.Equal(t, wrong, replica, "%v", all[0])
			}
		}
		require.Positive(t, others, "seed %d", seed)
	}
}

// The replicas find a wrong message even if its sender or other processes die. They need not find
// it if all processes that have received it die, or all processes that could compare it.
func TestWrongMessageIsFoundBesideDeaths(t *testing.T) {
	some, ofTheDead := 0, 0
	for seed := range uint64(400) {
		degrees := [][]int{{2, 2}, {2, 1}, {3, 3, 3}, {2, 3}, {3, 2, 1}}[seed%5]
		wrong := int(seed/5) % degrees[0]
		j := runWrong(t, seed, wrong, 1+int(seed%4), false, degrees...)
		all := slices.Concat(j.found...)
		require.True(t, j.turned || len(all) == 0, "seed %d", seed)
		for _, d := range all {
			require.Equal(t, j.number, d.Number, "seed %d", seed)
			for _, s := range d.Sent {
				require.True(t, s.Hash != j.hash || s.Replica == wrong, "seed %d: %v", seed, d) // the process may have sent the right contents to other processes
			}
		}
		if j.taken {
			require.NotEmpty(t, all, "seed %d", seed)
			some++
		}
		if j.taken && j.died {
			ofTheDead++
		}
	}
	require.Greater(t, some, 60)
	require.Greater(t, ofTheDead, 5)
}

// The replicas find a wrong message even if the receiver's program fails because of it: the
// receiver reports all hashes first.
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

// Without a wrong message the replicas report no difference, whichever processes die.
func TestNoWrongMessageIsFoundBesideDeaths(t *testing.T) {
	for seed := range uint64(120) {
		degrees := [][]int{{2, 2}, {2, 1}, {3, 3, 3}, {2, 3}, {3, 2, 1}}[seed%5]
		found, _, _ := wrongJob(t, seed, -1, int(seed%4), false, degrees...)
		for _, all := range found {
			require.Empty(t, all, "seed %d", seed)
		}
	}
}
