package flow

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/examples/npb/internal/nas"
	"github.com/intrahpc/intra/intratest"
)

// The exact solution does not change, and has no error.
func TestExactSolutionStays(t *testing.T) {
	c, err := NewCube(nil, nas.Settings{Class: 'S', Tasks: 4}, NewGas(8, 0.01))
	require.NoError(t, err)
	c.fill(c.Columns, exact, 0, 0, 8)
	n, err := c.Norms()
	require.NoError(t, err)
	for m := range n.Residual {
		require.InDelta(t, 0, n.Residual[m], 1e-11)
		require.Zero(t, n.Error[m])
	}
	c.Begin()
	n, err = c.Norms()
	require.NoError(t, err)
	require.Greater(t, n.Residual[4], 1.0)
	require.Greater(t, n.Error[4], 0.1)
}

// Planes and columns have the points of the cube for every division, and so have the planes
// of the neighbours.
func TestSlabs(t *testing.T) {
	const n = 7
	place := func(at [3]float64) State { return State{at[0], at[1], at[2]} }
	for ranks := 1; ranks <= n; ranks++ {
		intratest.Run(t, intra.Spec{Ranks: ranks}, func(p *intra.Process) error {
			g := NewGas(n, 1)
			s := slabs{c: p.World(), n: n}
			y, end := s.own(p.Rank())
			lo, hi := s.seen(p.Rank())
			first, last := s.own(p.Rank())
			columns, wantColumns := make([]State, n*n*(end-y)), make([]State, n*n*(end-y))
			planes, wantPlanes := make([]State, n*n*(hi-lo)), make([]State, n*n*(hi-lo))
			g.fill(wantColumns, place, y, 0, end-y)
			g.fill(wantPlanes, place, 0, lo, n)
			require.NoError(t, s.toPlanes(wantColumns, planes))
			require.Equal(t, wantPlanes, planes, "%d ranks", ranks)
			require.NoError(t, s.toColumns(planes[(first-lo)*n*n:(last-lo)*n*n], columns))
			require.Equal(t, wantColumns, columns, "%d ranks", ranks)
			return nil
		})
	}
}

// The right-hand side has the same bits on any number of ranks.
func TestSidesAgree(t *testing.T) {
	const n = 7
	find := func(ranks int) []State {
		var mu sync.Mutex
		all := make([]State, n*n*n)
		intratest.Run(t, intra.Spec{Ranks: ranks}, func(p *intra.Process) error {
			c, err := NewCube(p, nas.Settings{Tasks: 3}, NewGas(n, 0.01))
			require.NoError(t, err)
			c.Begin()
			require.NoError(t, c.FindSide())
			mu.Lock()
			defer mu.Unlock()
			first, _ := c.Own()
			copy(all[first*n*n:], c.R)
			return nil
		})
		return all
	}
	want := find(1)
	for _, ranks := range []int{2, 3, 7} {
		require.Equal(t, want, find(ranks), "%d ranks", ranks)
	}
}

// More ranks than planes are refused.
func TestTooManyRanks(t *testing.T) {
	intratest.Run(t, intra.Spec{Ranks: 7}, func(p *intra.Process) error {
		_, err := NewCube(p, nas.Settings{Class: 'S', Tasks: 1}, NewGas(6, 0.01))
		require.EqualError(t, err, "7 ranks do not fit: class S has 6 planes")
		return nil
	})
}
