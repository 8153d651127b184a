package main

import (
	"math"
	"math/cmplx"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/examples/npb/internal/nas"
	"github.com/intrahpc/intra/internal/testkit/jobtest/agreement"
)

// measure returns a program that computes the result of the given problem, which need not be
// that of class S.
func measure(of problem) agreement.Program[*result] {
	return func(p *intra.Process) (*result, error) {
		_, r, err := program.Untimed(p, 4, of)
		return r, err
	}
}

// Class S is verified on any number of ranks.
func TestRanks(t *testing.T) {
	for _, ranks := range []int{1, 2, 16} {
		r := measure(problems['S']).Alone(t, ranks)[0]
		require.True(t, r.Verified, "%d ranks: %v", ranks, r.Checksums)
	}
}

// A sum that differs in its last digit is not verified.
func TestTolerance(t *testing.T) {
	of := small
	of.sums = make([]complex128, 2)
	for i, sum := range measure(small).Alone(t, 1)[0].Checksums {
		of.sums[i] = complex(sum[0], sum[1])
	}
	require.True(t, measure(of).Alone(t, 1)[0].Verified)
	of.sums[1] *= 1 + 2e-12
	require.False(t, measure(of).Alone(t, 1)[0].Verified)
}

// small is a problem with a short run; its sums are not known.
var small = problem{32, 16, 16, []complex128{1, 1}}

// Transforms of every length agree with the definition.
func TestTransform(t *testing.T) {
	for n := 2; n <= 64; n *= 2 {
		f := newFourier(n)
		x, y := f.workspace()
		var in [lines][]complex128
		r := nas.Seed
		for i := range x {
			x[i] = complex(r.Next()-0.5, r.Next()-0.5)
			in[i%lines] = append(in[i%lines], x[i])
		}
		got := f.transform(x, y)
		for l := range lines {
			for k := range n {
				want := complex128(0)
				for j, v := range in[l] {
					want += v * cmplx.Rect(1, -2*math.Pi*float64(j*k%n)/float64(n))
				}
				require.InDelta(t, 0, cmplx.Abs(got[k*lines+l]-want), 1e-13*float64(n))
			}
		}
	}
}
