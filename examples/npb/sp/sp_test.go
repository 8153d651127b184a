package main

import (
	"math"
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

// Class S is verified on any number of ranks, also if a rank has a single plane.
func TestRanks(t *testing.T) {
	for _, ranks := range []int{1, 2, 5, 12} {
		r := measure(problems['S']).Alone(t, ranks)[0]
		require.True(t, r.Verified, "%d ranks: %v", ranks, r.Norms)
	}
}

// random returns points of a gas, and changes of them.
func random(n int) (u, change []flow.State) {
	r := nas.Seed
	u, change = make([]flow.State, n), make([]flow.State, n)
	for i := range u {
		u[i] = flow.State{1 + r.Next(), r.Next(), r.Next(), r.Next(), 5 + r.Next()}
		for m := range change[i] {
			change[i][m] = r.Next() - 0.5
		}
	}
	return u, change
}

// The terms of a change equal those of a small step from one state to the next, and the
// inverse restores the change.
func TestTerms(t *testing.T) {
	const small = 1e-6
	pressure := func(u flow.State) float64 {
		return flow.C2 * (u[4] - (u[1]*u[1]+u[2]*u[2]+u[3]*u[3])/(2*u[0]))
	}
	states, changes := random(20)
	for i, u := range states {
		low, high := u, u
		for m, c := range changes[i] {
			low[m] -= small * c
			high[m] += small * c
		}
		var m matter
		m.set(&u)
		require.InEpsilon(t, math.Sqrt(flow.C1*pressure(u)/u[0]), m.sound, 1e-14)
		got := changes[i]
		m.split(&got)
		pressed := (pressure(high) - pressure(low)) / (2 * small)
		require.InDelta(t, changes[i][0]-pressed/(m.sound*m.sound), got[0], 1e-8)
		for axis := 1; axis <= 3; axis++ {
			require.InDelta(t, (high[axis]/high[0]-low[axis]/low[0])/(2*small), got[axis], 1e-8)
		}
		require.InDelta(t, pressed/(u[0]*m.sound), got[4], 1e-8)
		m.join(&got)
		require.InDeltaSlice(t, changes[i][:], got[:], 1e-14)
	}
}

// The product of the matrix of each wave and its solution is its right-hand side. Both ends
// do not change.
func TestLine(t *testing.T) {
	const n = 9
	g := flow.NewGas(n, 0.01)
	for axis := range 3 {
		u, side := random(n)
		x := append([]flow.State(nil), side...)
		newLine(g, axis).solve(u, x, 1)
		require.Equal(t, side[0], x[0])
		require.Equal(t, side[n-1], x[n-1])
		var speeds, spreads [n]float64
		var sounds [n]float64
		for i := range u {
			var m matter
			m.set(&u[i])
			speeds[i], sounds[i], spreads[i] = m.velocity[axis], m.sound, flow.Spread(axis)+flow.Thermal/m.density
			switch axis {
			case 0:
				m.split(&side[i])
			case 2:
				m.split(&x[i])
			}
		}
		x[0], x[n-1] = flow.State{}, flow.State{}
		for i := 1; i < n-1; i++ {
			for wave := range 5 {
				sign := 0.0                                                      // direction of the sound with which the wave moves
				term := func(s flow.State) float64 { return s[(axis+wave)%3+1] } // velocity across the line
				switch wave {
				case 0:
					term = func(s flow.State) float64 { return s[0] }
				case 3, 4:
					sign = float64(7 - 2*wave)
					term = func(s flow.State) float64 { return s[4] + sign*s[axis+1] }
				}
				moved := func(k int) float64 { return (speeds[k] + sign*sounds[k]) * term(x[k]) }
				spread := func(k int) float64 { return spreads[k] * term(x[k]) }
				got := term(x[i]) + g.Dt*(g.First*(moved(i+1)-moved(i-1))-g.Second*(spread(i+1)-2*spread(i)+spread(i-1)))
				for k, w := range flow.Damping(i, n) {
					if w != 0 {
						got += g.Dt * w * term(x[i+k-2])
					}
				}
				require.InDelta(t, term(side[i]), got, 1e-12, "axis %d, wave %d, point %d", axis, wave, i)
			}
		}
	}
}
