package main

import (
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/examples/npb/internal/nas"
	"github.com/intrahpc/intra/intratest"
	intra "github.com/intrahpc/intra/runtime"
)

// small is what the tests in this process use: 32 batches.
const small = 21

// runAll runs a job in this process and returns what the replicas of rank 0 that
// finished have found.
func runAll(t *testing.T, spec intra.Spec, opts ...intratest.Option) []benchmark {
	t.Helper()
	var mu sync.Mutex
	var all []benchmark
	intratest.Run(t, spec, func(p *intra.Process) error {
		b, err := newBenchmark(p, nas.Settings{Class: 'S', Tasks: 4}, small)
		if err != nil {
			return err
		}
		if err := b.run(); err != nil {
			return err
		}
		require.Positive(t, b.seconds)
		if p.Rank() == 0 {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, benchmark{sums: b.sums, counts: b.counts})
		}
		return nil
	}, opts...)
	return all
}

// The pairs are those of the definition, one after the other, on any number of
// ranks.
func TestPairs(t *testing.T) {
	var sums [2]float64
	var counts [annuli]int
	r := seed
	for range 1 << small {
		x, y := 2*r.Next()-1, 2*r.Next()-1
		if s := float64(x*x) + float64(y*y); s <= 1 {
			f := math.Sqrt(-2 * math.Log(s) / s)
			counts[int(max(math.Abs(x*f), math.Abs(y*f)))]++
			sums[0] += float64(x * f)
			sums[1] += float64(y * f)
		}
	}
	for _, ranks := range []int{1, 2, 3, 32} {
		got := runAll(t, intra.Spec{Ranks: ranks})[0]
		require.Equal(t, counts, got.counts)
		require.InEpsilonSlice(t, sums[:], got.sums[:], 1e-10)
	}
	_, err := newBenchmark(nil, nas.Settings{Class: 'S', Tasks: 4}, small)
	require.NoError(t, err)
}

func TestTooManyRanks(t *testing.T) {
	intratest.Run(t, intra.Spec{Ranks: 3}, func(p *intra.Process) error {
		_, err := newBenchmark(p, nas.Settings{Class: 'S', Tasks: 4}, logBatch+1)
		require.EqualError(t, err, "3 ranks are too many: class S has 2 batches")
		return nil
	})
}
