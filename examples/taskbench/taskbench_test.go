package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
)

// serial computes the hash of a grid in plain loops over all points and steps.
func serial(set settings) string {
	width := set.graph.width
	before, trail := make([]float64, width), make([]uint64, width)
	for step := range set.steps {
		now := make([]float64, width)
		for at := range set.graph.points(step) {
			compute(before, set.graph.sources(step, at), set.graph.start(step, at), set.iters, now[at:at+1])
			trail[at] = mix(trail[at], math.Float64bits(now[at]))
		}
		before = now
	}
	var text []byte
	for _, h := range trail {
		text = binary.LittleEndian.AppendUint64(text, h)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// some returns a small grid of each pattern.
func some(p pattern) settings {
	return settings{graph: graph{pattern: p, width: 11, radix: 5, fraction: 0.5, seed: 3}, steps: 40, iters: 3}
}

// The values do not depend on the number of ranks.
func TestRanks(t *testing.T) {
	for p := range pattern(len(patterns)) {
		for _, ranks := range []int{1, 2, 3, 13} {
			set := some(p)
			err := intra.Run(t.Context(), intra.Spec{Ranks: ranks}, func(proc *intra.Process) error {
				r, err := measure(proc, set)
				if err == nil && proc.Rank() == 0 {
					require.Equal(t, serial(set), r.XSHA256, "%v, %d ranks", p, ranks)
				}
				return err
			})
			require.NoError(t, err)
		}
	}
}

// TestSources: the sources of a point are points of the step before, in ascending order.
func TestSources(t *testing.T) {
	for name, tt := range map[string]struct {
		pattern pattern
		want    [][]int // of points 0, 3 and 6, in steps 1, 2, 3 and 4
	}{
		"trivial":    {trivial, [][]int{nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil}},
		"stencil_1d": {stencil1D, [][]int{{0, 1}, {2, 3, 4}, {5, 6}, {0, 1}, {2, 3, 4}, {5, 6}, {0, 1}, {2, 3, 4}, {5, 6}, {0, 1}, {2, 3, 4}, {5, 6}}},
		"fft":        {fft, [][]int{{0, 1}, {2, 3, 4}, {5, 6}, {0, 2}, {1, 3, 5}, {4, 6}, {0, 4}, {3}, {2, 6}, {0, 1}, {2, 3, 4}, {5, 6}}},
		"tree":       {tree, [][]int{{0}, {1}, {3}, {0}, {1}, {3}, {0}, {1}, {3}, {0}, {1}, {3}}},
	} {
		t.Run(name, func(t *testing.T) {
			g := graph{pattern: tt.pattern, width: 7}
			for i, want := range tt.want {
				require.Equal(t, want, g.sources(1+i/3, 3*(i%3)), "step %d, point %d", 1+i/3, 3*(i%3))
			}
		})
	}
	g := graph{pattern: tree, width: 7}
	for step, want := range []int{1, 2, 4, 7, 7} {
		require.Equal(t, want, g.points(step))
	}
}

// TestRandomNearest: a point is its own source, others are near, and steps and seeds differ.
func TestRandomNearest(t *testing.T) {
	g := graph{pattern: randomNearest, width: 100, radix: 4, fraction: 0.5, seed: 1}
	n, differs := 0, false
	for at := range g.width {
		all := g.sources(1, at)
		require.Contains(t, all, at)
		require.IsIncreasing(t, append([]int{-1}, all...))
		require.GreaterOrEqual(t, all[0], max(0, at-2))
		require.LessOrEqual(t, all[len(all)-1], min(99, at+1))
		require.Equal(t, all, g.sources(1+drawn, at))
		other := g
		other.seed = 2
		differs = differs || len(other.sources(1, at)) != len(all)
		n += len(all)
	}
	require.InDelta(t, 250, n, 40)
	require.True(t, differs)
}

// Steps of one kind have the same points and sources.
func TestKinds(t *testing.T) {
	for p := range pattern(len(patterns)) {
		for _, width := range []int{1, 2, 3, 8, 9} {
			g := some(p).graph
			g.width = width
			first := make(map[int]int)
			for step := range 30 {
				kind := g.kind(step)
				require.Less(t, kind, g.kinds())
				if _, ok := first[kind]; !ok {
					first[kind] = step
				}
				require.Equal(t, g.points(first[kind]), g.points(step), "%v, width %d, step %d", p, width, step)
				for at := range g.points(step) {
					sources := g.sources(step, at)
					require.Equal(t, g.sources(first[kind], at), sources)
					for _, s := range sources {
						require.Less(t, s, g.points(step-1))
					}
				}
			}
		}
	}
}
