package recovery

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/simseed"
)

// schedule makes a random cluster from a seed.
func schedule(seed uint64) *cluster {
	rng := rand.New(rand.NewPCG(seed, 4))
	degrees := make([]int, 1+rng.IntN(4))
	for r := range degrees {
		degrees[r] = 1 + rng.IntN(3)
	}
	config := Config{Start: rng.IntN(3) > 0, Spares: rng.IntN(4)}
	switch rng.IntN(4) {
	case 0:
		config.Backup.Auto = true
	case 1, 2:
		config.Backup.Every = 1 + uint64(rng.IntN(4))
	}
	if rng.IntN(3) == 0 {
		config.Files = Files{Every: 1 + uint64(rng.IntN(5)), First: 1 + uint64(rng.IntN(3))}
	}
	c := newCluster(seed, degrees, config, 3+uint64(rng.IntN(25)))
	c.crashes = rng.IntN(7)
	if rng.IntN(4) == 0 {
		c.refusals = rng.IntN(5)
	}
	return c
}

// TestSchedules runs whole jobs with random delays and deaths, in the middle
// of joins, backups and rollbacks too: each ends with the state of the run
// without failures, or is given up when neither a live replica nor a complete
// backup of a rank exists.
func TestSchedules(t *testing.T) {
	first, n := simseed.Range(t, 6000)
	seen := make(map[string]int)
	for seed := first; seed < first+n; seed++ {
		c := schedule(seed)
		require.NoError(t, c.run(), "INTRA_SEED=%d", seed)
		for k, v := range c.seen {
			seen[k] += v
		}
		if c.lost != "" {
			seen["lost: "+c.lost]++
		}
	}
	if n < 1000 {
		return
	}
	t.Log(seen)
	for _, what := range []string{
		"join", "transfer", "dismissed", "order renew", "order resume", "order cancel", "order complete",
		"publish", "abandoned", "a rollback overtakes another one", "a state overtakes its order",
		"death newcomer", "death rollback", "death drained", "death safe point", "death running",
		"lost: no backup was complete yet", "lost: all processes that held the last backup of rank 0 are dead",
		"lost: no backup was asked for", "lost: no process is left to take its place",
		"lost: no process takes its place: no free slot", "lost: the last process that held the state of rank 0 is dead",
	} {
		require.Greater(t, seen[what], int(n)/1000, "too few of %q to mean anything", what)
	}
}

// TestRulesAreNeeded shows that the simulation notices when a rule is broken.
func TestRulesAreNeeded(t *testing.T) {
	for name, broken := range map[string]rule{
		"a slot is reused before the newer backup is complete":      oneSlot,
		"a process that was asked goes on past its next safe point": ignoreAsk,
		"a copy does not say which backup is complete":              overtake,
		"a cut does not drain":                                      noDrain,
		"a state given for a newer rollback is thrown away":         throwAway,
		"a step of an older rollback counts for the newer one":      anyOrder,
		"a newcomer that has to go back takes another state":        takeLate,
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(30_000) {
				c := schedule(seed)
				c.broken = broken
				if c.run() != nil {
					return
				}
			}
			t.Fatal("no schedule shows that it is needed")
		})
	}
}
