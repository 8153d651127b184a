package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/examples/npb/internal/flow"
	"github.com/intrahpc/intra/examples/npb/internal/nas"
	"github.com/intrahpc/intra/internal/jobtest/agreement"
	intra "github.com/intrahpc/intra/runtime"
)

// measure returns a program that finds the result of another problem of class S.
func measure(of flow.Problem) agreement.Program[*flow.Result] {
	return func(p *intra.Process) (*flow.Result, error) {
		_, r, err := program.Untimed(p, 4, of)
		return r, err
	}
}

// small is a problem that is quickly solved; its norms are not known.
var small = flow.Problem{Points: 8, Steps: 3, Dt: 0.01}

// Class S is verified on any number of ranks, also where a rank has a plane only.
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

// Blocks times the solution of a line give its right-hand side.
func TestLine(t *testing.T) {
	g := flow.NewGas(7, 0.01)
	r := nas.Seed
	u, side := make([]flow.State, 7), make([]flow.State, 7)
	for i := range u {
		u[i] = flow.State{1 + r.Next(), r.Next(), r.Next(), r.Next(), 5 + r.Next()}
		for m := range side[i] {
			side[i][m] = r.Next() - 0.5
		}
	}
	for axis := range 3 {
		l := newLine(g, axis)
		x := append([]flow.State(nil), side...)
		l.solve(u, x, 1)
		require.Equal(t, side[0], x[0])
		require.Equal(t, side[6], x[6])
		x[0], x[6] = flow.State{}, flow.State{}
		for i := 1; i < 6; i++ {
			var before, ignored rows
			var own, after, skipped columns
			l.couple(l.take(&u[i-1]), &skipped, &before, &skipped)
			l.couple(l.take(&u[i]), &own, &ignored, &skipped)
			l.couple(l.take(&u[i+1]), &skipped, &ignored, &after)
			left := *l.take(&side[i])
			before.subtract(l.take(&x[i-1]), &left)
			own.subtract(l.take(&x[i]), &left)
			after.subtract(l.take(&x[i+1]), &left)
			for m := range left {
				require.InDelta(t, 0, left[m], 1e-12, "axis %d, point %d", axis, i)
			}
		}
	}
}
