package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/examples/npb/internal/nas"
	"github.com/intrahpc/intra/internal/testkit/jobtest/agreement"
	"github.com/intrahpc/intra/intratest"
)

// outcome is the result of a rank without the times.
type outcome struct {
	result
	history []float64
}

// measure returns a program that computes the result of the given problem, which need not be
// that of class S.
func measure(of problem) agreement.Program[outcome] {
	return func(p *intra.Process) (outcome, error) {
		b, r, err := program.Untimed(p, 4, of)
		if err != nil {
			return outcome{}, err
		}
		return outcome{*r, b.history}, nil
	}
}

// Class S is verified on every shape of the grid, and its first values are those of the
// original.
func TestRanks(t *testing.T) {
	for _, ranks := range []int{1, 2, 4, 8, 16} {
		r := measure(problems['S']).Alone(t, ranks)[0]
		require.True(t, r.Verified, "%d ranks: %v", ranks, r.Zeta)
		require.Len(t, r.history, 15)
		require.InEpsilon(t, 9.9986441579140, r.history[0], 1e-12)
		require.Less(t, r.RNorm, 1e-12)
	}
}

// The matrix is symmetric and has the entries of the original, for every division into
// blocks.
func TestMatrix(t *testing.T) {
	of := problems['S']
	whole, err := newMatrix(of, 0, of.rows, 0, of.rows)
	require.NoError(t, err)
	require.Equal(t, 78148, whole.NNZ())
	x, y := make([]float64, of.rows), make([]float64, of.rows)
	for i := range x {
		x[i] = float64(i%7) - 3
	}
	whole.MulRows(0, x, y)
	const rows, cols = 2, 4
	got, entries := make([]float64, of.rows), 0
	for row := range rows {
		for col := range cols {
			h, w := of.rows/rows, of.rows/cols
			block, err := newMatrix(of, row*h, h, col*w, w)
			require.NoError(t, err)
			entries += block.NNZ()
			part := make([]float64, h)
			block.MulRows(0, x[col*w:(col+1)*w], part)
			for i, v := range part {
				got[row*h+i] += v
			}
		}
	}
	require.Equal(t, whole.NNZ(), entries)
	require.InDeltaSlice(t, y, got, 1e-10)
}

// combine sums the parts of a product and distributes the sum, so that each rank has its
// columns.
func TestCombine(t *testing.T) {
	const n = 64
	for _, ranks := range []int{1, 2, 4, 8, 16, 32} {
		t.Run(fmt.Sprint(ranks), func(t *testing.T) {
			intratest.Run(t, intra.Spec{Ranks: ranks}, func(p *intra.Process) error {
				g := newGrid(p.World(), n)
				w, y := make([]float64, g.height()), make([]float64, g.width())
				for i := range w {
					w[i] = float64(1000*(g.row*g.height()+i) + g.col)
				}
				if err := g.combine(w, y); err != nil {
					return err
				}
				for i, v := range y {
					require.Equal(t, float64(1000*g.cols*(g.col*g.width()+i)+g.cols*(g.cols-1)/2), v)
				}
				sum, err := g.sum(float64(g.col), 1)
				require.Equal(t, []float64{float64(g.cols * (g.cols - 1) / 2), float64(g.cols)}, sum)
				return err
			})
		})
	}
}

func TestMostRanks(t *testing.T) {
	for class, want := range map[nas.Class]int{'S': 64, 'W': 64, 'A': 256, 'B': 64, 'C': 256} {
		n := problems[class].rows
		require.Equal(t, want, mostRanks(n))
		g := newGrid(comm.Self(), n)
		require.Equal(t, [2]int{n, n}, [2]int{g.height(), g.width()})
	}
}
