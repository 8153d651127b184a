package recovery

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/checkpoint"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/simseed"
)

// heirs is what outlives the head of a cluster: what was kept of its decisions.
// Agents keep what processes have said, and what they were told.
type heirs struct {
	heads   int        // still to be lost
	keeping []decision // not kept yet, in order
	waits   bool       // the head hears nothing before something is kept
	past    Past
	whole   map[uint64][]checkpoint.File
	ended   map[uint64]string // sets
	ends    []job.Process     // in which the program has returned
}

type decision struct{ kept, then func() }

// keep has something kept that is acted on then.
func (c *cluster) keep(kept, then func()) {
	c.keeping = append(c.keeping, decision{kept, then})
}

// kept lists what can happen to decisions now.
func (c *cluster) kept() (all []func()) {
	if len(c.keeping) > 0 {
		all = append(all, func() {
			d := c.keeping[0]
			c.keeping = c.keeping[1:]
			d.kept()
			if c.heads > 0 && c.rng.IntN(4) == 0 { // it is kept, and not acted on
				c.succeed()
				return
			}
			d.then()
		})
	}
	return all
}

// passes reports whether a process has yet to hear that, as its agent knows.
func (q *proc) passes(o job.Order) bool {
	if o.Kind == job.OrderGo {
		if o.Generation == 0 && o.Number <= q.left {
			return false
		}
		q.left = o.Number
	}
	return true
}

// succeed: the head is lost, and another one takes its place.
func (c *cluster) succeed() {
	c.heads--
	if len(c.keeping) > 0 {
		c.seen["a decision is lost"]++
	}
	if c.head.saving.set > 0 {
		c.seen["lost while files are written"]++
	}
	c.keeping, c.publishing, c.complete = nil, nil, 0
	c.waits = false
	fate := Fate{Finished: c.ends}
	for _, q := range c.procs {
		if q.declared {
			fate.Dead = append(fate.Dead, Death{Process: q.p})
			continue
		}
		q.orders = q.orders[:c.rng.IntN(len(q.orders)+1)] // the others were on their way
		q.left = q.obeyed
		for _, o := range q.orders {
			if o, ok := o.(job.Order); ok && o.Kind == job.OrderGo {
				q.left = o.Number
			}
		}
		q.says, q.said = append(q.said, q.says...), nil
		clear(q.told)
		if q.dead && c.rng.IntN(2) == 0 { // with its host
			q.says = nil
		}
	}
	past := c.past
	if c.ended[past.Set] != "" {
		past.End(past.Set)
	}
	past.Whole = c.whole[past.Set]
	if !past.Fits(c.head.config.Degrees) {
		c.fail("%+v is of another job", past)
		return
	}
	var acts []Action
	c.head, acts = Resume(c.head.config, past, fate, c.now)
	for _, q := range c.procs {
		for _, o := range c.procs {
			if o.declared && !q.declared {
				q.orders = append(q.orders, died{o})
			}
		}
	}
	c.apply(acts)
}

// heirless is a random cluster from a seed that may lose its heads until somebody
// is replaced.
func heirless(seed uint64) *cluster {
	rng := rand.New(rand.NewPCG(seed, 5))
	degrees := make([]int, 1+rng.IntN(4))
	for r := range degrees {
		degrees[r] = 1 + rng.IntN(3)
	}
	config := Config{Start: rng.IntN(3) == 0, Spares: max(0, rng.IntN(5)-2)}
	if rng.IntN(4) > 0 {
		config.Files = Files{Every: 1 + uint64(rng.IntN(5)), First: 1 + uint64(rng.IntN(3))}
	}
	switch rng.IntN(6) {
	case 0:
		config.Backup.Auto = true
	case 1:
		config.Backup.Every = 1 + uint64(rng.IntN(4))
	}
	c := newCluster(seed, degrees, config, 3+uint64(rng.IntN(25)))
	c.crashes, c.heads = rng.IntN(4), 1+rng.IntN(3)
	return c
}

// TestHeadsAreLost runs whole jobs that write files, whose heads are lost, right
// before, in and after cuts too, and processes with them: each ends with the
// state of the run without failures unless a rank is lost, no set is complete
// that holds anything else, and none that was given up.
func TestHeadsAreLost(t *testing.T) {
	first, n := simseed.Range(t, 3000)
	seen := make(map[string]int)
	for seed := first; seed < first+n; seed++ {
		c := heirless(seed)
		require.NoError(t, c.run(), "INTRA_SEED=%d", seed)
		for k, v := range c.seen {
			seen[k] += v
		}
		if c.lost != "" {
			seen["lost"]++
		}
	}
	if n < 1000 {
		return
	}
	t.Log(seen)
	for _, what := range []string{"publish", "abandoned", "order cancel", "a decision is lost", "lost while files are written", "lost", "replaced under a successor"} {
		require.Greater(t, seen[what], int(n)/100, "too few of %q to mean anything", what)
	}
}

// TestResume: who may still wait in the cut that was left last is told to leave
// it before it hears that there is no other one. The dead hear nothing.
func TestResume(t *testing.T) {
	p := Past{Cut: 4, Files: 6, Number: 3, Set: 2, At: 4, Savers: []int{1, 0}}
	c := Config{Degrees: []int{2, 1}, Files: Files{Every: 2, First: 1}}
	h, acts := Resume(c, p, Fate{Dead: []Death{{Process: job.Process{Rank: 0, Replica: 0}}}, Finished: []job.Process{{Rank: 0, Replica: 1}}}, 0)
	require.True(t, h.rest)
	var told []string
	for _, a := range acts {
		require.Equal(t, Send, a.Kind)
		told = append(told, a.To.String()+" "+string(a.Order.Kind))
	}
	require.Equal(t, []string{"0.1 go", "1.0 go", "0.1 cancel", "1.0 cancel"}, told)
	require.Equal(t, job.Order{Kind: job.OrderGo, Number: 4, Next: 6, Set: 2, Savers: []job.Process{{Rank: 0, Replica: 1}, {Rank: 1}}}, acts[0].Order)

	for name, savers := range map[string][]int{"a replica that is not there": {0, 1}, "too few": {0}, "too many": {0, 0, 0}, "below": {-1, 0}} {
		p.Savers = savers
		require.False(t, p.Fits(c.Degrees), name)
	}
}

// TestSuccessorReplaces: a successor replaces who was killed, once it hears that
// its rank has come to a safe point, and not who ended by itself.
func TestSuccessorReplaces(t *testing.T) {
	p, q := job.Process{Rank: 0}, job.Process{Rank: 0, Replica: 1}
	h, acts := Resume(Config{Degrees: []int{3}, Start: true}, Past{}, Fate{Dead: []Death{{Process: p}, {Process: q, Itself: true}}}, 0)
	require.Empty(t, acts)
	acts = h.Reply(job.Process{Rank: 0, Replica: 2}, 1, job.Reply{Kind: job.ReplyFirst}, 0)
	require.Equal(t, []Action{{Kind: Start, To: p, Birth: 2}}, acts)
}
