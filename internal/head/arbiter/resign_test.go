package arbiter

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/head/decision"
)

// leave makes the host of the present head leave, and the head hand over, if a member on
// another host that stays can succeed it.
func (c *cluster) leave() {
	head := c.head()
	if head == 0 {
		return
	}
	h := c.nodes[head]
	if !slices.ContainsFunc(h.log.state.Members, func(id ID) bool {
		return id != head && id != Head && !h.leaves(id) && !h.isLost(id) && h.roster[h.place[id]].Host != h.roster[h.place[head]].Host
	}) {
		return
	}
	for _, p := range h.roster {
		if p.Host == h.roster[h.place[head]].Host && p.ID != Head {
			c.propose(decision.Entry{Kind: decision.Left, Node: p.ID})
		}
	}
	c.propose(decision.Entry{Kind: decision.Resigned, Node: head})
}

// TestHeadHandsOver checks that a head that hands over has a successor within a few beats, instead
// of after the time of its lease. No host is declared lost. Afterwards only hosts that stay keep
// the decisions.
func TestHeadHandsOver(t *testing.T) {
	for seed := range uint64(30) {
		c := newCluster(seed, 4, int(seed%2), DefaultTiming)
		c.work(6 * time.Second)
		const at = 2 * time.Second
		c.at(at, c.leave)
		require.NoError(t, c.run(8*time.Second), "seed %d\n%s", seed, strings.Join(c.events, "\n"))
		require.NoError(t, c.finish(at, nil), "seed %d\n%s", seed, strings.Join(c.events, "\n"))
		head := c.nodes[c.head()]
		require.NotEqual(t, Head, head.self)
		require.Len(t, head.leads, 1)
		require.Less(t, head.leads[0]-c.resigned[Head], 300*ms, "seed %d\n%s", seed, strings.Join(c.events, "\n"))
		require.Equal(t, Head, head.lead.after)
		require.Empty(t, head.log.state.Lost)
		require.Len(t, head.log.state.Members, targetMembers)
		require.Equal(t, seed%2 == 1, slices.Contains(head.log.state.Members, Head), "the host of the first head leaves if it has an agent, and the other hosts keep the decisions")
	}
}

// TestLeavingMember checks that a member on a host that is to leave is replaced by a node on a host
// that stays. There are never fewer members than before.
func TestLeavingMember(t *testing.T) {
	for seed := range uint64(20) {
		c := newCluster(seed, 4, 1, DefaultTiming)
		c.at(600*ms, func() { c.propose(decision.Entry{Kind: decision.Started}) })
		c.at(time.Second, func() { c.propose(decision.Entry{Kind: decision.Left, Node: 2}) })
		for at := time.Second; at < 4*time.Second; at += 10 * ms {
			c.at(at, func() { require.GreaterOrEqual(t, len(c.nodes[Head].log.state.Members), targetMembers) })
		}
		require.NoError(t, c.run(4*time.Second), "seed %d\n%s", seed, strings.Join(c.events, "\n"))
		require.Equal(t, []ID{Head, 3, 4}, c.nodes[Head].log.state.Members, "seed %d", seed)
	}
}
