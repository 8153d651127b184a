package arbiter

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/testkit/simseed"
)

// inTime bounds the true time until a lost host is detected, including that of the head, on
// machines and networks that are not late.
const inTime = time.Second

// schedule runs one random schedule with one fault. It returns the cluster and
// the first error.
func schedule(seed uint64, sabotage func(*cluster)) (*cluster, error) {
	c := newCluster(seed, 2+int(seed%4), int(seed/4%2), DefaultTiming)
	if sabotage != nil {
		sabotage(c)
	}
	c.busy = c.rng.IntN(3) == 0
	c.delay = []time.Duration{200 * us, 5 * ms, 20 * ms}[c.rng.IntN(3)]
	if c.rng.IntN(2) == 0 {
		c.loss = 0.2 * c.rng.Float64()
	}
	if c.rng.IntN(2) == 0 {
		c.join(600*ms + time.Duration(c.rng.Int64N(int64(500*ms)))) // it answers before the fault
	}
	const end = 16 * time.Second
	c.work(end - 3*time.Second)
	at := 2*time.Second + time.Duration(c.rng.Int64N(int64(time.Second)))
	leaves := c.rng.IntN(2) == 0
	lost := c.fault(at, !leaves)
	if leaves { // heads hand over, before the fault, with it or after it
		for range 1 + c.rng.IntN(2) {
			c.at(at-500*ms+time.Duration(c.rng.Int64N(int64(1500*ms))), c.leave)
		}
	}
	if err := c.run(end); err != nil {
		return c, err
	}
	return c, c.finish(at, lost)
}

// fault schedules a fault, of two nodes if two allows that, and returns the nodes that must be declared lost.
func (c *cluster) fault(at time.Duration, two bool) (lost []ID) {
	members := c.nodes[Head].members
	victim := c.ids[c.rng.IntN(len(c.ids))]
	if c.rng.IntN(3) == 0 {
		victim = Head
	}
	if len(members) == 1 && victim == Head { // the only node that keeps the decisions
		victim = 2
	}
	heal := at + time.Duration(c.rng.Int64N(int64(4*time.Second)))
	forever := c.rng.IntN(3) == 0
	// Another node may be lost with the victim, unless both are members. A node that is about to
	// replace a member that leaves counts as a member.
	group := []ID{victim}
	if other := c.ids[c.rng.IntN(len(c.ids))]; two && len(c.ids) > 3 && other != victim && other != Head &&
		!(slices.Contains(members, other) && slices.Contains(members, victim)) {
		group = append(group, other)
	}
	switch kind := c.rng.IntN(6); kind {
	case 0: // no fault
	case 1: // hosts are lost
		c.at(at, func() {
			for _, id := range group {
				c.kill(id)
			}
		})
		return group
	case 2: // a partition, with the majority of the members on one side
		for _, id := range group {
			c.excused[id] = true
		}
		c.at(at, func() { c.split(group) })
		if !forever {
			c.at(heal, c.heal)
		}
	case 3, 4: // one node receives from no other, or no other receives from it
		c.excused[victim] = true
		c.at(at, func() {
			for _, id := range c.ids {
				if kind == 3 {
					c.cut[[2]ID{id, victim}] = true
				} else {
					c.cut[[2]ID{victim, id}] = true
				}
			}
			c.logf("%d is half cut off", victim)
		})
		if !forever {
			c.at(heal, c.heal)
		}
	case 5: // a link is dead, in one direction or both: no reason to declare a node lost
		other := c.ids[c.rng.IntN(len(c.ids))]
		both := c.rng.IntN(2) == 0
		c.at(at, func() {
			c.cut[[2]ID{victim, other}] = true
			c.cut[[2]ID{other, victim}] = both
			c.logf("the link from %d to %d is cut, both ways: %v", victim, other, both)
		})
		if !forever {
			c.at(heal, c.heal)
		}
	}
	return nil
}

// finish checks the end of a run.
func (c *cluster) finish(at time.Duration, lost []ID) error {
	head := c.head()
	if head == 0 {
		return fmt.Errorf("no node leads in the end")
	}
	state := c.nodes[head].log.state
	for _, id := range lost {
		if _, ok := state.Lost[id]; !ok {
			return fmt.Errorf("%d was never found lost", id)
		}
		took := c.nodes[head].lost[id] - at
		limit := inTime
		if len(c.resigned) > 0 { // the lost node may be the only successor, or old leases may be in force
			limit += 4 * c.timing.promise()
		}
		if took > limit && !c.busy && c.loss == 0 && c.delay <= 5*ms {
			return fmt.Errorf("it took %v to find %d lost", took, id)
		}
	}
	for id := range state.Lost {
		if s := c.nodes[id]; s.killed == 0 && s.clock(c.now) < s.word {
			return fmt.Errorf("%d is lost but may act", id)
		}
	}
	// The present head, and so every node that it reaches, knows all announced verdicts.
	if !slices.Equal(c.verdicts, verdicts(state)) {
		return fmt.Errorf("%d verdicts were announced, the head %d knows %d", len(c.verdicts), head, len(state.Verdicts))
	}
	for _, id := range c.survivors() {
		s := c.nodes[id]
		if _, gone := state.Lost[id]; gone || c.cutOff(id) {
			continue
		}
		switch {
		case s.clock(c.now) >= s.word:
			return fmt.Errorf("%d has no lease", id)
		case s.leader != head || s.Node.term != c.nodes[head].Node.term:
			return fmt.Errorf("%d follows %d in term %d, not the head %d", id, s.leader, s.Node.term, head)
		case !slices.Equal(s.verdicts, verdicts(state)):
			return fmt.Errorf("%d knows %d verdicts of %d", id, len(s.verdicts), len(state.Verdicts))
		case s.log != nil && s.log.state.Applied == state.Applied && string(s.log.state.Snapshot()) != string(state.Snapshot()):
			return fmt.Errorf("the states of %d and %d differ", id, head)
		}
	}
	return nil
}

// TestLossOfTheHeadAfterSilence covers nodes that have seen long silences of live nodes: they
// suspect a lost head only after a long time. No node stops before that, although the head may
// have been too slow for leases for a while.
func TestLossOfTheHeadAfterSilence(t *testing.T) {
	for seed := range uint64(20) {
		c := newCluster(seed, 3, 1, DefaultTiming)
		c.busy = true
		c.at(600*ms, func() { c.propose(decision.Entry{Kind: decision.Started}) })
		c.at(2*time.Second, func() { // as on overloaded machines
			for _, id := range c.ids {
				s := c.nodes[id]
				s.stall = c.now + 2*time.Second + time.Duration(c.rng.Int64N(int64(200*ms)))
			}
		})
		c.at(6500*ms, func() { c.delay = 700 * ms })
		c.at(8*time.Second, func() {
			c.kill(Head)
			c.delay = ms
		})
		require.NoError(t, c.run(25*time.Second), "seed %d\n%s", seed, strings.Join(c.events, "\n"))
		require.NoError(t, c.finish(8*time.Second, []ID{Head}), "seed %d\n%s", seed, strings.Join(c.events, "\n"))
	}
}

// TestSlowHeadRemainsBeforeTheStart checks that a slow head remains the head until all processes have
// joined. A head that is lost still gets a successor, which reports the loss.
func TestSlowHeadRemainsBeforeTheStart(t *testing.T) {
	for seed := range uint64(20) {
		for started, heads := range map[bool]int{false: 1, true: 2} {
			c := newCluster(seed, 3, 1, DefaultTiming)
			if started {
				c.at(600*ms, func() { c.propose(decision.Entry{Kind: decision.Started}) })
			}
			c.at(time.Second, func() { c.nodes[Head].stall = c.now + 2*time.Second })
			c.excused[Head] = true
			require.NoError(t, c.run(8*time.Second), "seed %d\n%s", seed, strings.Join(c.events, "\n"))
			led := 0
			for _, s := range c.nodes {
				led += len(s.leads)
			}
			require.Equal(t, heads, led, "seed %d\n%s", seed, strings.Join(c.events, "\n"))
			if !started {
				c.kill(Head)
				require.NoError(t, c.run(20*time.Second), "seed %d\n%s", seed, strings.Join(c.events, "\n"))
				require.NotZero(t, c.head())
			}
		}
	}
}

func (c *cluster) cutOff(id ID) bool {
	for _, other := range c.ids {
		if c.cut[[2]ID{id, other}] || c.cut[[2]ID{other, id}] {
			return true
		}
	}
	return false
}

// TestSchedules runs many random schedules of whole jobs. They contain a lost host, a
// partition, half-dead links, lost and delayed messages, busy machines, and clocks that differ
// as much as the timing allows.
func TestSchedules(t *testing.T) {
	first, n := simseed.Range(t, 60)
	for seed := first; seed < first+n; seed++ {
		c, err := schedule(seed, nil)
		require.NoError(t, err, "INTRA_SEED=%d\n%s", seed, strings.Join(c.events, "\n"))
	}
}

// TestBusyHours simulates INTRA_HOURS hours on machines with four times too much work, with a
// network that loses and delays messages, and with occasional pauses of half a second. No node
// is declared lost, the head does not change, and no node is kept from acting for long.
func TestBusyHours(t *testing.T) {
	minutes := 60 * simseed.Environment(t, "INTRA_HOURS", 0)
	if minutes == 0 {
		minutes = 10
	}
	for seed := range uint64(2) {
		c := newCluster(seed, 4, 1, DefaultTiming)
		c.busy, c.loss, c.delay = true, 0.05*float64(seed), 2*ms
		c.work(20 * time.Second)
		var held, looked int
		end := time.Duration(minutes) * time.Minute / 2
		for at := 5 * time.Second; at < end; at += 100 * ms {
			c.at(at, func() {
				for _, id := range c.ids {
					s := c.nodes[id]
					looked++
					if s.clock(c.now) < s.word {
						held++
					}
				}
			})
		}
		for at := 10 * time.Second; at < end; at += 5*time.Second + time.Duration(c.rng.Int64N(int64(20*time.Second))) {
			s := c.nodes[c.ids[c.rng.IntN(len(c.ids))]]
			pause := time.Duration(c.rng.Int64N(int64(500 * ms)))
			c.at(at, func() { s.stall = max(s.stall, c.now+pause) })
		}
		require.NoError(t, c.run(end), "seed %d\n%s", seed, strings.Join(c.events, "\n"))
		require.Len(t, c.nodes[Head].leads, 1, "the head has not changed\n%s", strings.Join(c.events, "\n"))
		share := float64(held) / float64(looked)
		t.Logf("leases held %.4f %% of the time", 100*share)
		require.Greater(t, share, 0.99)
	}
}

// verdicts returns the verdicts of a state as all nodes receive them.
func verdicts(s *decision.State) (all []job.Verdict) {
	for _, v := range s.Verdicts {
		all = append(all, v.Verdict)
	}
	return all
}

// All heads report the time of a loss on the same clock, which starts when all processes had
// joined.
func TestTimesOfLosses(t *testing.T) {
	for seed := range uint64(10) {
		const started, first, second = 600 * ms, 2 * time.Second, 6 * time.Second
		c := newCluster(seed, 4, 1, DefaultTiming)
		c.at(started, func() { c.propose(decision.Entry{Kind: decision.Started}) })
		c.at(first, func() { c.kill(Head) })
		c.at(second, func() { c.kill(4) })
		require.NoError(t, c.run(10*time.Second), "seed %d", seed)
		s := c.nodes[c.head()]
		for id, at := range map[ID]time.Duration{Head: first, 4: second} {
			said := s.log.state.Lost[id].At - (at - started)
			require.Positive(t, said, "seed %d: node %d", seed, id)
			require.Less(t, said, 2*inTime, "seed %d: node %d", seed, id)
		}
	}
}
