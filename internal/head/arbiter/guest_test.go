package arbiter

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/head/decision"
)

// join makes a node join the running job once the decision of a head to admit it is kept.
func (c *cluster) join(at time.Duration) ID {
	id := c.ids[len(c.ids)-1] + 1
	s := &simNode{rate: 1, offset: time.Duration(c.rng.Int64N(int64(time.Hour))), lost: make(map[ID]time.Duration)}
	self := Peer{ID: id, Host: fmt.Sprint("g", id), Address: "192.0.2.1:1"}
	n, err := NewGuest(self, c.nodes[Head].roster, c.timing, s.clock(at))
	if err != nil {
		panic(err)
	}
	s.Node = n
	c.nodes[id], c.ids = s, append(c.ids, id)
	var try func()
	try = func() {
		e := decision.Entry{Kind: decision.HostJoined, Host: &decision.Host{Node: id, Name: self.Host, Slots: 1, Beats: self.Address}}
		if !c.propose(e) {
			c.at(c.now+100*ms, try)
			return
		}
		if s.killed == 0 {
			c.tick(s)
		}
	}
	c.at(at, try)
	return id
}

// A guest that is admitted and never answers is declared lost. The other nodes go on.
func TestGuestThatNeverAnswers(t *testing.T) {
	c := newCluster(1, 3, 1, DefaultTiming)
	c.work(20 * time.Second)
	id := c.join(2 * time.Second)
	c.at(time.Second, func() { c.kill(id) })
	require.NoError(t, c.run(6*time.Second))
	require.Zero(t, c.nodes[Head].lost[id], "it has some time for its first beat")
	require.NoError(t, c.run(12*time.Second))
	require.NoError(t, c.finish(0, nil), strings.Join(c.events, "\n"))
	require.NotZero(t, c.nodes[Head].lost[id])
}

// The decisions stay on the nodes of the start, even if guests could keep them.
func TestGuestsDoNotDecide(t *testing.T) {
	c := newCluster(1, 2, 1, DefaultTiming)
	c.work(20 * time.Second)
	for range 3 {
		c.join(2 * time.Second)
	}
	c.at(4*time.Second, func() { c.kill(Head) })
	require.NoError(t, c.run(10*time.Second))
	require.NoError(t, c.finish(0, nil), strings.Join(c.events, "\n"))
	require.Len(t, c.nodes[c.head()].members, 1)
	require.LessOrEqual(t, c.head(), ID(3))
}

// TestGuestRules breaks one rule of guests at a time.
func TestGuestRules(t *testing.T) {
	for name, sabotage := range map[string]func(n *Node, m *Message, now time.Duration){
		"the members learn guests from the log": func(n *Node, _ *Message, _ time.Duration) {
			if n.log != nil && n.self != Head {
				for _, id := range n.guests {
					delete(n.peers, id)
					n.order = slices.DeleteFunc(n.order, func(o ID) bool { return o == id })
				}
			}
		},
		"guests learn the members": func(n *Node, m *Message, _ time.Duration) {
			if m != nil {
				m.Members = nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(20) {
				if _, err := oneByOne(seed, func(c *cluster) { c.sabotage = sabotage }); err != nil {
					return
				}
			}
			require.Fail(t, "nothing was noticed")
		})
	}
}

func TestGuestNeedsANumberOfItsOwn(t *testing.T) {
	_, err := NewGuest(Peer{ID: 2}, []Peer{{ID: Head, Host: "a"}, {ID: 2, Host: "b"}}, DefaultTiming, 0)
	require.ErrorIs(t, err, ErrRoster)
}
