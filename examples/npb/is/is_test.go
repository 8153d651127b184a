package main

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/examples/npb/internal/nas"
	"github.com/intrahpc/intra/internal/testkit/jobtest/agreement"
)

// outcome is the result of a rank.
type outcome struct {
	passed, lowest int
	ranks          []int32
}

// measure returns a program that ranks the keys of the given problem, which need not be that
// of class S.
func measure(of problem) agreement.Program[outcome] {
	return func(p *intra.Process) (outcome, error) {
		b, r, err := program.Untimed(p, 5, of)
		if err != nil {
			return outcome{}, err
		}
		if r.Verified != (r.Passed == 50+p.Size()) {
			return outcome{}, fmt.Errorf("%d tests passed, verified: %t", r.Passed, r.Verified)
		}
		lo, hi := b.own()
		return outcome{r.Passed, b.lowest(), slices.Clone(b.ranks[:(hi-lo)<<of.shift()])}, nil
	}
}

// Class S is verified on any number of ranks, and the ranks of keys agree with sorting.
func TestRanks(t *testing.T) {
	of := problems['S']
	values := 1 << of.values
	keys := make([]int32, 1<<of.keys)
	draw(0, values, keys)
	for i := range iterations {
		keys[i+1], keys[i+1+iterations] = int32(i+1), int32(values-i-1)
	}
	slices.Sort(keys)
	for _, ranks := range []int{1, 2, 4, 16} {
		all := measure(of).Alone(t, ranks)
		next := 0
		for rank := range ranks {
			got := all[rank]
			require.Equal(t, 50+ranks, got.passed)
			require.Equal(t, next, got.lowest)
			for i, r := range got.ranks {
				want, _ := slices.BinarySearch(keys, int32(got.lowest+i))
				require.Equal(t, want, int(r), "value %d", got.lowest+i)
			}
			next += len(got.ranks)
		}
		require.Equal(t, values, next)
	}
}

// The keys are those of the definition, at every position where a rank or task begins.
func TestDraw(t *testing.T) {
	r := nas.Seed
	var want []int32
	for range 100 {
		want = append(want, int32(float64(1<<9)*(r.Next()+r.Next()+r.Next()+r.Next())))
	}
	got := make([]int32, 100)
	draw(0, 1<<11, got[:37])
	draw(37, 1<<11, got[37:])
	require.Equal(t, want, got)
}

// The tests detect keys that are out of order, and samples with wrong ranks.
func TestFaults(t *testing.T) {
	of := problems['S']
	of.samples[2].rank++
	require.Equal(t, 41, measure(of).Alone(t, 1)[0].passed)
	b := &benchmark{of: problem{3, 2, 2, [5]sample{}}, cuts: []int{0, 4}, totals: []int32{1, 0, 1, 0}, runs: [][]int32{{2, 0}}}
	for ranks, passed := range map[[4]int32]int{{0, 1, 1, 2}: 1, {1, 1, 0, 2}: 0} {
		b.ranks, b.passed = ranks[:], 0
		require.NoError(t, b.testOrder())
		require.Equal(t, passed, b.passed, ranks)
	}
}

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		keys  []int32
		parts int
		want  []int
	}{
		{[]int32{1, 1, 1, 1}, 2, []int{0, 2, 4}},
		{[]int32{0, 5, 1, 0, 0}, 2, []int{0, 2, 5}},
		{[]int32{9, 0, 0, 1}, 3, []int{0, 1, 2, 4}},
		{[]int32{0, 0, 9}, 3, []int{0, 3, 3, 3}},
		{[]int32{4, 4}, 1, []int{0, 2}},
		{nil, 0, []int{0}},
	} {
		require.Equal(t, tt.want, cut(tt.keys, tt.parts))
	}
}
