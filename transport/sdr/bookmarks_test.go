package sdr

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBookmarks: every process learns of all messages that were sent to it, for any number
// of ranks. Each rank sends bookmarks to only a few others, and some processes die during
// that.
func TestBookmarks(t *testing.T) {
	for ranks := 1; ranks <= 9; ranks++ {
		for _, deaths := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d ranks, deaths %v", ranks, deaths), func(t *testing.T) {
				for seed := range uint64(20) {
					bookmarks(t, ranks, deaths, rand.New(rand.NewPCG(uint64(ranks), seed)))
				}
			})
		}
	}
}

func bookmarks(t *testing.T, ranks int, deaths bool, random *rand.Rand) {
	degrees := make([]int, ranks)
	for rank := range degrees {
		degrees[rank] = 1 + random.IntN(2)
	}
	n := newNet(t, Limits{}, degrees...)
	for range 2 * ranks {
		from, to := random.IntN(ranks), random.IntN(ranks)
		for k := range degrees[from] {
			if from != to {
				n.send(n.p(from, k), "m", to, 0)
			}
		}
	}
	n.sent()
	begun, arrived, dead := make(map[int]bool), make(map[int]bool), make(map[int]bool)
	for len(arrived)+len(dead) < len(n.cores) {
		p, q := random.IntN(len(n.cores)), random.IntN(len(n.cores))
		c := n.cores[p]
		switch {
		case dead[p] || dead[q]:
		case deaths && c.job.ranks[c.job.rank].live == 3 && random.IntN(50) == 0:
			n.die(p)
			dead[p] = true
			delete(arrived, p)
		case !begun[p]:
			n.begin(1, p)
			begun[p] = true
		case len(n.wire[[2]int{p, q}]) > 0:
			n.deliver(p, q)
		case n.arrived(p):
			arrived[p] = true
		}
	}
	for p, c := range n.cores {
		for rank, s := range c.contexts.bookmarks.out {
			far := bits.OnesCount(uint((rank-c.job.rank+ranks)%ranks)) != 1
			require.False(t, far && s != nil, "bookmark of %d for %d", c.job.rank, rank)
		}
		if dead[p] {
			continue
		}
		for rank := range degrees {
			if rank == c.job.rank {
				continue
			}
			sent := uint64(0)
			if s := n.ctxs[n.p(rank, 0)].out[c.job.rank]; s != nil {
				sent = s.next
			}
			s := n.ctxs[p].inStream(rank)
			require.Equal(t, sent, s.before, "from %d to %s", rank, n.name(p))
			require.GreaterOrEqual(t, s.received.low, sent)
		}
	}
}

// TestBookmarksCarryNonsense: a bookmark that no sound process sends causes an error.
func TestBookmarksCarryNonsense(t *testing.T) {
	entry := func(from, to, size byte) string {
		return string([]byte{from, 0, 0, 0, to, 0, 0, 0, size, 0, 0, 0, 0, 0, 0, 0})
	}
	for name, data := range map[string]string{
		"short":              "x",
		"too long":           entry(1, 0, 9),
		"no rank":            entry(7, 0, 0),
		"to an unknown rank": entry(1, 7, 0),
		"to itself":          entry(1, 1, 0),
		"its own":            entry(0, 1, 0),
		"odd":                entry(1, 0, 5) + "12345",
		"twice":              strings.Repeat(entry(1, 0, 24)+"\x2a\x00\x00\x00\x00\x00\x00\x00"+strings.Repeat("\x00", 16), 2),
	} {
		t.Run(name, func(t *testing.T) {
			n := newNet(t, Limits{}, 1, 1, 1)
			n.begin(1, 0)
			require.ErrorIs(t, n.cores[0].cuts.takeBookmarks(2, []byte(data)), ErrProtocol)
		})
	}
}
