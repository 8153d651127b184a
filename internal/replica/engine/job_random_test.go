package engine_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/intratest"
)

var taskRandom = intra.Register("engine_test.random")

// randomProgram runs steps that a seed chooses, the same on every rank: exchanges with
// wildcard receives, collectives, sections and Once. Each step uses the results of the
// previous ones. It returns the state of the rank.
func randomProgram(p *intra.Process, seed uint64) ([]float64, error) {
	rng := rand.New(rand.NewPCG(seed, 5))
	c := p.World()
	n := 16 + rng.IntN(50)
	x := make([]float64, n)
	for i := range x {
		x[i] = 1 / float64(1+i+p.Rank())
	}
	for step := range 3 + rng.IntN(8) {
		var err error
		switch rng.IntN(5) {
		case 0:
			err = exchangeWithAll(c, x, step)
		case 1:
			err = comm.Allreduce(c, nil, x, func(a, b float64) float64 { return (a + b) / 2 })
		case 2:
			root := rng.IntN(c.Size())
			err = comm.Bcast(c, x[:n/2], root)
		case 3:
			s := p.Section()
			for lo, hi := range intra.Blocks(n, p.Tasks()) {
				part := x[lo:hi]
				s.Launch(taskRandom, func() {
					for i := range part {
						part[i] = float64(part[i]*1.25) + 1/float64(lo+i+1)
					}
				}, intra.InOut("part", part))
			}
			err = s.End()
		case 4:
			var v float64
			v, err = intra.Once(p, func() (float64, error) { return float64(seed % 7), nil })
			x[0] += v
		}
		if err != nil {
			return nil, err
		}
	}
	return x, nil
}

// exchangeWithAll sends to every other rank and sums the messages from them. The messages
// arrive in any order, so they are stored by source first. The tag distinguishes the next
// exchange of a fast rank.
func exchangeWithAll(c *comm.Comm, x []float64, tag int) error {
	from := make([][]float64, c.Size())
	var sends []*comm.Request
	mine := append([]float64(nil), x...)
	for to := range c.Size() {
		if to != c.Rank() {
			sends = append(sends, comm.Isend(c, mine, to, tag))
		}
	}
	for range c.Size() - 1 {
		buf := make([]float64, len(x))
		status, err := comm.Recv(c, buf, comm.AnySource, tag)
		if err != nil {
			return err
		}
		from[status.Source] = buf
	}
	for _, buf := range from {
		for i, v := range buf {
			x[i] += v / 8
		}
	}
	return comm.WaitAll(sends...)
}

// TestRandomPrograms runs random programs with random degrees, schedules, threads and
// deaths. The state of every rank is that of a run without replicas.
func TestRandomPrograms(t *testing.T) {
	programs := 150
	if testing.Short() {
		programs = 20
	}
	deaths := 0
	for seed := range uint64(programs) {
		rng := rand.New(rand.NewPCG(seed, 6))
		ranks := 1 + rng.IntN(4)
		run := func(spec intra.Spec, opts ...intratest.Option) map[int][][]float64 {
			var mu sync.Mutex
			states := make(map[int][][]float64)
			report := intratest.Run(t, spec, func(p *intra.Process) error {
				x, err := randomProgram(p, seed)
				if err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				states[p.Rank()] = append(states[p.Rank()], x)
				return nil
			}, opts...)
			deaths += len(report.Deaths)
			return states
		}
		want := run(intra.Spec{Ranks: ranks})
		degrees := make([]int, ranks)
		for i := range degrees {
			degrees[i] = 1 + rng.IntN(3)
		}
		victim := rng.IntN(ranks)
		degrees[victim] = 2 + rng.IntN(2)
		point := []string{"section", "task", "update", "message"}[rng.IntN(4)]
		kill := fmt.Sprintf("%d.%d@%s:%d", victim, rng.IntN(degrees[victim]), point, rng.IntN(6))
		policy := []string{"static", "adaptive"}[rng.IntN(2)]
		threads := 1 + rng.IntN(4)
		what := fmt.Sprintf("seed %d, degrees %v, %s, %d threads, kill %s", seed, degrees, policy, threads, kill)
		got := run(intra.Spec{Degrees: degrees}, intratest.MayKill(kill), intratest.Sched(policy), intratest.Threads(threads), intratest.Capacity(64+rng.IntN(500)))
		for rank := range ranks {
			require.NotEmpty(t, got[rank], what)
			for _, x := range got[rank] {
				require.Equal(t, want[rank][0], x, what)
			}
		}
	}
	require.Greater(t, deaths, programs/4, "too few kill points were reached")
}
