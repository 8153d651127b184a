package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/examples/npb/internal/flow"
	"github.com/intrahpc/intra/examples/npb/internal/nas"
	"github.com/intrahpc/intra/internal/testkit/jobtest/agreement"
)

// measure returns a program that computes the result of the given problem, which need not be
// that of class S.
func measure(of flow.Problem) agreement.Program[*flow.Result] {
	return func(p *intra.Process) (*flow.Result, error) {
		_, r, err := program.Untimed(p, 4, of)
		return r, err
	}
}

// small is a problem with a short run; its norms are not known.
var small = flow.Problem{Points: 8, Steps: 3, Dt: 0.01}

// Class S is verified on any number of ranks, also if a rank has a single plane.
func TestRanks(t *testing.T) {
	for _, ranks := range []int{1, 2, 5, 12} {
		r := measure(problems['S']).Alone(t, ranks)[0]
		require.True(t, r.Verified, "%d ranks: %v", ranks, r.Norms)
	}
}

// A norm that differs in its eighth digit is not verified.
func TestTolerance(t *testing.T) {
	of := small
	of.Norms = measure(of).Alone(t, 1)[0].Norms
	require.True(t, measure(of).Alone(t, 1)[0].Verified)
	of.Norms.Error[4] *= 1 + 2e-8
	require.False(t, measure(of).Alone(t, 1)[0].Verified)
}

// The product of the blocks and the solution of a line is its right-hand side.
func TestLine(t *testing.T) {
	const n = 7
	r := nas.Seed
	u, side := make([]flow.State, n), make([]flow.State, n)
	for i := range u {
		u[i] = flow.State{1 + r.Next(), r.Next(), r.Next(), r.Next(), 5 + r.Next()}
		for m := range side[i] {
			side[i][m] = r.Next() - 0.5
		}
	}
	one := columns{{1}, {0, 1}, {0, 0, 1}, {0, 0, 0, 1}, {0, 0, 0, 0, 1}}
	for axis := range 3 {
		l := newLine(flow.NewGas(n, 0.01), axis)
		x := append([]flow.State(nil), side...)
		l.solve(u, x, 1)
		require.Equal(t, side[0], x[0])
		require.Equal(t, side[n-1], x[n-1])
		x[0], x[n-1] = flow.State{}, flow.State{}
		inOrder := func(s flow.State) flow.State {
			o := order(axis)
			return flow.State{s[o[0]], s[o[1]], s[o[2]], s[o[3]], s[o[4]]}
		}
		for i := 1; i < n-1; i++ {
			var last, this, next point
			l.look(&u[i-1], &last)
			l.look(&u[i], &this)
			l.look(&u[i+1], &next)
			var none, before rows
			var own, after columns
			l.before(&last, &before)
			l.own(&this, &none, &after, &own)
			l.after(&next, &one, &after)

			left, y := inOrder(side[i]), inOrder(x[i-1])
			before.add(&y, left[0], left[1], left[2], left[3], left[4], &left)
			y = inOrder(x[i])
			left[0], left[1], left[2], left[3], left[4] = own.subtract(&left, y[0], y[1], y[2], y[3], y[4])
			y = inOrder(x[i+1])
			left[0], left[1], left[2], left[3], left[4] = after.subtract(&left, y[0], y[1], y[2], y[3], y[4])
			for m := range left {
				require.InDelta(t, 0, left[m], 1e-12, "axis %d, point %d", axis, i)
			}
		}
	}
}
