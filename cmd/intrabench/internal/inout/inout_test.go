package inout

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
)

// The particles move in the same way in place and from one array to another. Every particle
// moves.
func TestPush(t *testing.T) {
	a, b := start(100), start(100)
	to := make([]particle, 100)
	push(b, to, 0.01)
	push(a, a, 0.01)
	require.Equal(t, to, a)
	for i := range b {
		require.NotEqual(t, b[i], a[i])
		require.InDelta(t, 0, math.Hypot(a[i].x-b[i].x, a[i].y-b[i].y), 0.05)
	}
}

func TestMeasure(t *testing.T) {
	o := Options{Particles: 4000, Sections: 3, Rounds: 2}
	results, err := Measure(t.Context(), o)
	require.NoError(t, err)
	require.Len(t, results, len(Ways))
	for i, r := range results {
		require.Equal(t, Ways[i].Name, r.Way)
		require.Len(t, r.Seconds, 2)
		require.Positive(t, r.Seconds[0])
	}
}

func TestOverhead(t *testing.T) {
	got := Overhead(Result{Seconds: []float64{1, 2, 4}}, Result{Seconds: []float64{2, 3, 4}})
	require.Equal(t, spread.Spread{Median: 0.5, Q1: 0.25, Q3: 0.75, Min: 0, Max: 1}, got)
}
