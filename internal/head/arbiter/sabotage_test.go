package arbiter

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/detect"
)

// noDetours marks all messages as forwarded, so that no node forwards them.
func noDetours(n *Node, m *Message) {
	if m != nil && m.To != n.self {
		m.Via = n.self
	}
}

// TestRulesAreNeeded breaks one rule at a time and expects the simulation to detect that. A check
// that accepts everything would prove nothing. The test tries the seed in the table first, then all
// others, and logs the seed that showed an error.
func TestRulesAreNeeded(t *testing.T) {
	each := func(f func(n *Node, m *Message, now time.Duration)) func(*cluster) {
		return func(c *cluster) { c.sabotage = f }
	}
	for _, rule := range []struct {
		name     string
		sabotage func(*cluster)
		finds    []string // any of these errors counts
		seed     uint64   // of the first schedule that showed it; a change of the simulation may need another one
	}{
		{"a member keeps its promise not to elect another head", func(c *cluster) {
			c.sabotage = func(n *Node, _ *Message, _ time.Duration) { n.promised = 0 }
			makeHasty(c)
		}, []string{"lead, in terms"}, 10},
		{"a head without a majority stops by its lease", each(func(n *Node, _ *Message, _ time.Duration) {
			if n.lead.term != 0 {
				n.lead.until = math.MaxInt64
			}
		}), []string{"lead, in terms", "before its lease is over"}, 67},
		{"a lease ends with the lease of the head that grants it", each(func(_ *Node, m *Message, _ time.Duration) {
			if m != nil && m.Grant > 0 {
				m.Grant = 2 * time.Second
			}
		}), []string{"before its lease is over", "may act"}, 16},
		{"a host is declared lost only after its lease and the margin", func(c *cluster) {
			c.sabotage = func(n *Node, m *Message, _ time.Duration) {
				clear(n.lead.leased)
				if m == nil {
					return
				}
				for i := range m.Sightings { // the sightings of all nodes suspect too early
					m.Sightings[i].Limit = 200 * ms
				}
			}
			makeHasty(c) // the head suspects too early, too
		}, []string{"before its lease is over"}, 14},
		{"clocks differ by no more than the timing allows", func(c *cluster) {
			for _, s := range c.nodes {
				s.timing.Drift = 0
				s.rate = map[bool]float64{true: 0.6, false: 1.4}[s.self%2 == 0]
			}
		}, []string{"before its lease is over", "lead, in terms", "may act"}, 16},
		{"messages take a detour around a dead link", each(func(n *Node, m *Message, _ time.Duration) {
			noDetours(n, m)
		}), []string{"was fenced", "has no lease", "no node leads"}, 3},
		{"all observers of a host must suspect it", each(func(n *Node, m *Message, _ time.Duration) {
			noDetours(n, m)
			if m != nil {
				for i := range m.Sightings { // all nodes report the suspicion
					m.Sightings[i].Silence = m.Sightings[i].Limit
				}
			}
		}), []string{"lives and answers"}, 3},
		{"a head that does not receive from a member gets no promise from it", each(func(n *Node, m *Message, now time.Duration) {
			if m != nil && n.log != nil && m.From == n.leader && m.Leader == m.From && m.Term == n.term {
				n.promised = now + n.timing.promise()
			}
		}), []string{"no node leads", "was fenced", "has no lease"}, 22},
		{"nodes obey the highest term only", each(func(n *Node, m *Message, _ time.Duration) {
			if m != nil && m.Leader != 0 && n.log == nil {
				n.term, n.leader = m.Term, m.Leader
			}
		}), []string{"went back"}, 3},
		{"a decision counts when two of three have it", func(c *cluster) {
			head := c.nodes[Head]
			alone, err := newReplica(Head, []ID{Head})
			require.NoError(t, err)
			if head.isMember(2) || head.isMember(3) {
				head.log, head.first = alone, []ID{Head} // this node is the only member that it knows
			}
		}, []string{"verdicts were announced", "another had announced"}, 130},
	} {
		t.Run(rule.name, func(t *testing.T) {
			for n := range uint64(1001) {
				seed := n - 1
				if n == 0 {
					seed = rule.seed
				}
				_, err := schedule(seed, rule.sabotage)
				if err == nil {
					continue
				}
				for _, text := range rule.finds {
					if strings.Contains(err.Error(), text) {
						t.Logf("seed %d: %v", seed, err)
						return
					}
				}
			}
			require.Fail(t, "no check failed")
		})
	}
}

// makeHasty makes all nodes suspect a node that is silent for a moment.
func makeHasty(c *cluster) {
	hasty := detect.DefaultConfig
	hasty.Floor, hasty.Spread = 200*ms, 0
	for _, s := range c.nodes {
		s.observer = detect.NewObserver(hasty, s.clock(0))
		for _, p := range s.order {
			s.observer.Watch(p, s.clock(0))
		}
	}
}
