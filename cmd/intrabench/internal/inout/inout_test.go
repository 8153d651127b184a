package inout

import (
	"bytes"
	"context"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
)

// In place or from one array to another, the particles go the same way; none
// is left where it was.
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
		require.Len(t, r.CPU, 2)
		require.Positive(t, r.CPU[0])
	}
	var out bytes.Buffer
	require.NoError(t, Table(&out, o, results))
	require.Regexp(t, `(?m)^  in place, without protection +\d+\.\d{3} ms +\+0\.0% \[\+0\.0% \+0\.0%\]  cpu +\+0\.0% \[\+0\.0% \+0\.0%\]$`, out.String())
}

// Whichever way the particles are pushed and received, they are the same in
// the end: the program compares them.
func TestMeasureProcesses(t *testing.T) {
	o := Options{Particles: 4000, Sections: 3, Rounds: 2}
	results, err := MeasureProcesses(t.Context(), func(ctx context.Context, c Case, o Options) (out Outcome, err error) {
		err = intra.Run(ctx, intra.Spec{Ranks: 1, Replicas: 2}, func(p *intra.Process) error {
			got, err := Program(p, o)
			if p.Replica() == 0 {
				out = got
			}
			return err
		})
		return out, err
	}, o)
	require.NoError(t, err)
	require.Len(t, results, len(Cases))
	for _, r := range results {
		require.Len(t, r.Rounds, 2)
		require.Positive(t, r.Rounds[1].Out)
		require.Positive(t, r.Rounds[1].InOut)
	}
	var out bytes.Buffer
	require.NoError(t, ProcessTable(&out, o, results))
	require.Regexp(t, `(?m)^  updates that fit the ring +out +\d+\.\d{3} ms  inout +\d+\.\d{3} ms +[+-]\d+\.\d% \[`, out.String())

	_, err = MeasureProcesses(t.Context(), func(context.Context, Case, Options) (Outcome, error) {
		return Outcome{}, errors.New("no room")
	}, o)
	require.EqualError(t, err, "updates that fit the ring: no room")
	got := Pairs{Rounds: []Outcome{{Overhead: 0.01}, {Overhead: 0.03}, {Overhead: 0.02}}}.Overhead()
	require.Equal(t, 0.02, got.Median)
}

func TestOverhead(t *testing.T) {
	got := Overhead(Result{Seconds: []float64{1, 2, 4}}, Result{Seconds: []float64{2, 3, 4}})
	require.Equal(t, spread.Spread{Median: 0.5, Q1: 0.25, Q3: 0.75, Min: 0, Max: 1}, got)
}
