package main

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/examples/npb/internal/nas"
	"github.com/intrahpc/intra/internal/jobtest/agreement"
	"github.com/intrahpc/intra/intratest"
	intra "github.com/intrahpc/intra/runtime"
)

// small is what the tests in this process use: 32 batches.
const small = 21

// outcome is what a rank has found.
type outcome struct {
	sums   [2]float64
	counts [annuli]int
}

// program is one that does the batches.
var program agreement.Program[outcome] = func(p *intra.Process) (outcome, error) {
	b, err := newBenchmark(p, nas.Settings{Class: 'S', Tasks: 4}, small)
	if err != nil {
		return outcome{}, err
	}
	if err := b.run(); err != nil {
		return outcome{}, err
	}
	if b.seconds <= 0 {
		return outcome{}, fmt.Errorf("it took %g seconds", b.seconds)
	}
	return outcome{b.sums, b.counts}, nil
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
		got := program.Alone(t, ranks)[0]
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
