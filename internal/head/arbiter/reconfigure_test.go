package arbiter

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/simseed"
)

// gone reports whether a node was killed, or is cut off permanently.
func (c *cluster) gone(id ID) bool {
	return c.nodes[id].killed != 0 || c.cut[[2]ID{id, id}]
}

// lose kills a node or cuts it off.
func (c *cluster) lose(id ID) {
	if c.rng.IntN(2) == 0 {
		c.kill(id)
		return
	}
	c.excused[id] = true
	c.split([]ID{id})
	c.cut[[2]ID{id, id}] = true
}

// hosts counts the hosts with a live node.
func (c *cluster) hosts() int {
	live := make(map[string]bool)
	for _, p := range c.nodes[Head].roster {
		live[p.Host] = live[p.Host] || !c.gone(p.ID)
	}
	n := 0
	for _, l := range live {
		if l {
			n++
		}
	}
	return n
}

// settled returns why the job could not survive the next loss yet, as an error.
func (c *cluster) settled() error {
	head := c.head()
	if head == 0 {
		return fmt.Errorf("no node leads")
	}
	h := c.nodes[head]
	state := h.log.state
	want := min(c.hosts(), targetMembers)
	if want == 2 { // only the head keeps the decisions then
		want = 1
	}
	if len(state.Members) != want || h.lead.changing || !slices.Equal(h.raftMembers(), state.Members) {
		return fmt.Errorf("%v keep the decisions of %d, Raft's are %v, %d should", state.Members, head, h.raftMembers(), want)
	}
	on := make(map[string]bool)
	for _, p := range h.roster {
		if slices.Contains(state.Members, p.ID) {
			if c.gone(p.ID) || on[p.Host] {
				return fmt.Errorf("%d on %s is one of %v", p.ID, p.Host, state.Members)
			}
			on[p.Host] = true
		}
	}
	for _, id := range c.ids {
		s := c.nodes[id]
		if _, lost := state.Lost[id]; lost != c.gone(id) {
			return fmt.Errorf("%d is lost: %v", id, lost)
		}
		switch {
		case c.gone(id):
		case s.shut:
			return fmt.Errorf("%d is fenced", id)
		case s.changes != state.Changes || !slices.Equal(s.members, state.Members):
			return fmt.Errorf("%d takes %v for the members", id, s.members)
		case slices.Contains(state.Members, id) && (s.log == nil || s.log.state.Changes != state.Changes):
			return fmt.Errorf("%d does not know that it is a member", id)
		case s.clock(c.now) >= s.word || s.leader != head:
			return fmt.Errorf("%d has no lease of %d", id, head)
		}
	}
	return nil
}

func (s *simNode) raftMembers() (all []ID) {
	for id := range s.log.node.Status().Config.Voters.IDs() {
		all = append(all, ID(id))
	}
	slices.Sort(all)
	return all
}

// oneByOne loses one node after another, each after the previous one is replaced. It stops
// when one node is left or the loss of the head ends the job.
func oneByOne(seed uint64, sabotage func(*cluster)) (*cluster, error) {
	c := newCluster(seed, 3+int(seed%4), int(seed/4%2), DefaultTiming)
	if sabotage != nil {
		sabotage(c)
	}
	c.delay = []time.Duration{200 * us, 5 * ms, 20 * ms}[c.rng.IntN(3)]
	if c.rng.IntN(2) == 0 {
		c.loss = 0.2 * c.rng.Float64()
	}
	for range seed % 3 {
		c.join(700 * ms)
	}
	c.work(time.Minute)
	left := slices.Clone(c.ids)
	for end := 2 * time.Second; ; {
		if err := c.run(end + time.Duration(c.rng.Int64N(int64(time.Second)))); err != nil {
			return c, err
		}
		const patience = 10 * time.Second
		for deadline := c.now + patience; ; {
			err := c.settled()
			if err == nil {
				break
			}
			if c.now > deadline {
				return c, fmt.Errorf("%v after a loss: %w", patience, err)
			}
			if err := c.run(c.now + 10*ms); err != nil {
				return c, err
			}
		}
		head := c.nodes[c.head()]
		if !slices.Equal(c.verdicts, verdicts(head.log.state)) {
			return c, fmt.Errorf("%d verdicts were announced, the head %d knows %d", len(c.verdicts), head.self, len(head.log.state.Verdicts))
		}
		if len(left) == 1 {
			return c, nil
		}
		i := c.rng.IntN(len(left))
		if c.rng.IntN(2) == 0 {
			i = slices.Index(left, head.self)
		}
		last := left[i] == head.self && len(head.log.state.Members) == 1
		c.lose(left[i])
		left = slices.Delete(left, i, i+1)
		if last {
			return c, c.over(left)
		}
		end = c.now
	}
}

// over checks that no node continues after the loss of the only node that keeps the decisions.
func (c *cluster) over(left []ID) error {
	for _, id := range left {
		c.excused[id] = true
	}
	if err := c.run(c.now + 2*c.timing.Abandon); err != nil {
		return err
	}
	for _, id := range left {
		if s := c.nodes[id]; !s.shut {
			return fmt.Errorf("%d goes on without a head", id)
		}
	}
	return nil
}

// TestLossesOneByOne runs many schedules in which hosts are lost until one is left, including
// hosts of heads.
func TestLossesOneByOne(t *testing.T) {
	first, n := simseed.Range(t, 25)
	for seed := first; seed < first+n; seed++ {
		c, err := oneByOne(seed, nil)
		require.NoError(t, err, "INTRA_SEED=%d\n%s", seed, strings.Join(c.events, "\n"))
	}
}

// TestMemberRulesAreNeeded breaks one rule of member changes at a time, and expects the
// checks to fail.
func TestMemberRulesAreNeeded(t *testing.T) {
	for name, rule := range map[string]struct {
		sabotage func(n *Node, m *Message, now time.Duration)
		finds    string
	}{
		"a lost member is replaced": {func(n *Node, _ *Message, _ time.Duration) { n.first = n.first[:1] }, "should"},
		"all nodes learn of new members": {func(n *Node, m *Message, _ time.Duration) {
			if m != nil {
				m.Members = nil
			}
		}, "for the members"},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(20) {
				_, err := oneByOne(seed, func(c *cluster) { c.sabotage = rule.sabotage })
				if err != nil && strings.Contains(err.Error(), rule.finds) {
					return
				}
			}
			require.Fail(t, "no check failed")
		})
	}
}

// TestNoChangeOnOldLeases checks that members do not change while a lease may be in force that
// the present members have not promised.
func TestNoChangeOnOldLeases(t *testing.T) {
	c := newCluster(1, 4, 1, DefaultTiming)
	require.NoError(t, c.run(2*time.Second))
	h := c.nodes[Head]
	require.Equal(t, []ID{1, 2, 3}, h.members)
	c.kill(3)
	for h.lost[3] == 0 {
		h.lead.longest = h.clock(c.now) + time.Hour // a lease that earlier members promised
		require.NoError(t, c.run(c.now+ms))
	}
	require.NoError(t, c.run(c.now+5*time.Second))
	require.Equal(t, []ID{1, 2, 3}, h.members)
	h.lead.longest = 0
	require.NoError(t, c.run(c.now+time.Second))
	require.Equal(t, []ID{1, 2, 4}, h.members)
	require.NoError(t, c.settled())
}

// TestHeadReportsMembers checks that the head reports the members once after a loss, when the
// new member has the whole log.
func TestHeadReportsMembers(t *testing.T) {
	c := newCluster(2, 4, 1, DefaultTiming)
	c.work(10 * time.Second)
	var reports []string
	for _, lost := range []ID{0, 3, 4, 5, 2} {
		if lost != 0 {
			c.kill(lost)
		}
		require.NoError(t, c.run(c.now+4*time.Second))
		reports = append(reports, c.nodes[Head].reports...)
		c.nodes[Head].reports = nil
	}
	require.Equal(t, []string{
		"the decisions of the head are kept on h0, h1 and h3 now",
		"the decisions of the head are kept on h0, h1 and h4 now",
		"losing the head on h0 ends the job: there is no third host any more to keep its decisions",
	}, reports)
	require.Equal(t, Head, c.head())
}
