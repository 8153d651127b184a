package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/examples/npb/internal/nas"
	"github.com/intrahpc/intra/internal/testkit/jobtest/agreement"
	"github.com/intrahpc/intra/intratest"
)

// small is the problem of the tests in this process: 32 batches.
var small = problem{log: 21}

// measure computes the result of small.
var measure agreement.Program[*result] = func(p *intra.Process) (*result, error) {
	_, r, err := program.Untimed(p, 4, small)
	return r, err
}

// The pairs are those of the definition, in order, on any number of ranks.
func TestPairs(t *testing.T) {
	var sums [2]float64
	var counts [annuli]int
	r := seed
	for range 1 << small.log {
		x, y := 2*r.Next()-1, 2*r.Next()-1
		if s := float64(x*x) + float64(y*y); s <= 1 {
			f := math.Sqrt(-2 * math.Log(s) / s)
			counts[int(max(math.Abs(x*f), math.Abs(y*f)))]++
			sums[0] += float64(x * f)
			sums[1] += float64(y * f)
		}
	}
	for _, ranks := range []int{1, 2, 3, 32} {
		got := measure.Alone(t, ranks)[0]
		require.Equal(t, counts, got.Counts)
		require.InEpsilonSlice(t, sums[:], []float64{got.SX, got.SY}, 1e-10)
	}
}

func TestTooManyRanks(t *testing.T) {
	intratest.Run(t, intra.Spec{Ranks: 3}, func(p *intra.Process) error {
		_, err := newBenchmark(nas.Run{P: p, Set: nas.Settings{Class: 'S', Tasks: 4}}, problem{log: logBatch + 1})
		require.EqualError(t, err, "3 ranks are too many: class S has 2 batches")
		return nil
	})
}
