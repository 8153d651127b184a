package section

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/simseed"
	"github.com/intrahpc/intra/sched"
)

// schedule makes a random cluster from a seed.
func schedule(seed uint64) *cluster {
	rng := rand.New(rand.NewPCG(seed, 2))
	c := newCluster(seed, 1+rng.IntN(4))
	for range 1 + rng.IntN(8) {
		c.tasks = append(c.tasks, rng.IntN(9))
		c.policy = append(c.policy, sched.Policy(rng.IntN(3)))
	}
	c.inPlace = rng.IntN(2) == 0
	c.crashes = rng.IntN(len(c.nodes))
	if rng.IntN(2) == 0 {
		c.cuts = rng.IntN(20)
	}
	if rng.IntN(3) == 0 {
		c.inbox = int64(rng.IntN(1000))
	}
	if rng.IntN(2) == 0 {
		c.cores = 1 + rng.IntN(4)
	}
	c.timed = rng.IntN(2) == 0
	c.size()
	return c
}

// TestSchedules runs many random schedules of whole ranks, with delays, crashes, torn
// updates, full inboxes and replicas that are sections apart. Every survivor ends with the
// bits of the serial run.
func TestSchedules(t *testing.T) {
	first, n := simseed.Range(t, 6000)
	crashes, together, held, alone := 0, 0, 0, 0
	for seed := first; seed < first+n; seed++ {
		c := schedule(seed)
		require.NoError(t, c.run(), "INTRA_SEED=%d", seed)
		want := c.serial()
		for _, node := range c.nodes {
			if !node.dead {
				require.Equal(t, want, node.mem, "INTRA_SEED=%d replica %d", seed, node.id)
			}
		}
		crashes += len(c.epoch)
		if c.most > 1 {
			together++
		}
		if c.held > 0 {
			held++
		}
		if c.alone > 0 {
			alone++
		}
	}
	if n > 1000 {
		require.Greater(t, crashes, int(n)/10, "too few crashes to mean anything")
		require.Greater(t, together, int(n)/10, "too few replicas ran several tasks at once")
		require.Greater(t, held, int(n)/50, "too few replicas left tasks to their peers")
		require.Greater(t, alone, int(n)/5, "too few replicas continued alone")
	}
}

// TestSnapshotIsNeeded shows that the simulation notices a torn update: without snapshots
// the same schedules give wrong words.
func TestSnapshotIsNeeded(t *testing.T) {
	wrong := 0
	for seed := range uint64(3000) {
		c := schedule(seed)
		c.inPlace, c.unsafely = true, true
		require.NoError(t, c.run(), "INTRA_SEED=%d", seed)
		want := c.serial()
		if slices.ContainsFunc(c.nodes, func(n *node) bool { return !n.dead && !slices.Equal(n.mem, want) }) {
			wrong++
		}
	}
	require.Positive(t, wrong)
}

// TestLostUpdatesMustBeReported shows that the simulation notices a replica that is not
// informed of lost updates, because that replica waits forever.
func TestLostUpdatesMustBeReported(t *testing.T) {
	hung, lost := 0, 0
	for seed := range uint64(1000) {
		for _, uninformed := range []bool{false, true} {
			c := schedule(seed)
			c.cuts, c.crashes, c.uninformed = 20, 0, uninformed
			for i := range c.policy {
				c.policy[i] = sched.Static
			}
			if err := c.run(); uninformed && err != nil {
				hung++
			} else {
				require.NoError(t, err, "INTRA_SEED=%d", seed)
			}
			lost += c.lost
		}
	}
	require.Positive(t, lost)
	require.Positive(t, hung)
}

// TestSharing requires that no task of a static section runs twice, on any number of
// cores, if no replica fails and all have the same speed.
func TestSharing(t *testing.T) {
	for replicas := 1; replicas <= 4; replicas++ {
		for cores := 1; cores <= 4; cores++ {
			c := newCluster(1, replicas)
			c.cores = cores
			c.tasks, c.policy = []int{16, 16, 16}, []sched.Policy{sched.Static, sched.Static, sched.Static}
			c.size()
			require.NoError(t, c.run())
			for _, n := range c.nodes {
				lo, hi := sched.Block(16, replicas, n.id)
				require.Equal(t, 3*(hi-lo), n.ran, "replica %d of %d", n.id, replicas)
			}
			require.Equal(t, cores, c.most)
		}
	}
}
