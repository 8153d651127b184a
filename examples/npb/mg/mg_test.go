package main

import (
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/examples/npb/internal/nas"
	"github.com/intrahpc/intra/internal/testkit/jobtest/agreement"
	"github.com/intrahpc/intra/intratest"
)

// measure returns a program that computes the result of the given problem, which need not be
// that of class S.
func measure(of problem) agreement.Program[*result] {
	return func(p *intra.Process) (*result, error) {
		_, r, err := program.Untimed(p, 4, of)
		return r, err
	}
}

// Class S is verified for every division of the cube, even if grids are gathered.
func TestRanks(t *testing.T) {
	for _, ranks := range []int{1, 2, 4, 8, 16} {
		r := measure(problems['S']).Alone(t, ranks)[0]
		require.True(t, r.Verified, "%d ranks: %v", ranks, r.Norm)
	}
}

// The norm after each iteration is that of the original.
func TestNorms(t *testing.T) {
	b, err := newBenchmark(nas.Run{Set: nas.Settings{Class: 'S', Tasks: 4}}, problems['S'])
	require.NoError(t, err)
	b.charges, err = b.top.findCharges(b.of.edge())
	require.NoError(t, err)
	b.place()
	for _, want := range []float64{2.4705294220065e-02, 2.9337960976e-03, 6.3150017906e-04, 1.7360856792e-04, 0.5307707005734e-4} {
		require.NoError(t, b.measureResidual())
		require.InEpsilon(t, want, b.norm, 1e-9)
		require.NoError(t, b.improve())
	}
}

// Points have the same bits on any number of ranks.
func TestSolutionsAgree(t *testing.T) {
	const n = 16
	of := problem{log: 4, iterations: 2, smoother: forLarge, norm: 1}
	solve := func(ranks int) []float64 {
		var mu sync.Mutex
		all := make([]float64, n*n*n)
		intratest.Run(t, intra.Spec{Ranks: ranks}, func(p *intra.Process) error {
			b, _, err := program.Untimed(p, 4, of)
			require.NoError(t, err)
			mu.Lock()
			defer mu.Unlock()
			o, s := b.top.origin(), b.top.shape
			for i := range s.inside() {
				x, y, z := i%s.nx, i/s.nx%s.ny, i/s.nx/s.ny
				all[((o[2]+z)*n+o[1]+y)*n+o[0]+x] = b.u[(z+1)*s.plane()+(y+1)*s.row()+x+1]
			}
			return nil
		})
		return all
	}
	want := solve(1)
	for _, ranks := range []int{2, 4, 32} {
		require.Equal(t, want, solve(ranks), "%d ranks", ranks)
	}
}

// The charges are at the largest and smallest random numbers.
func TestCharges(t *testing.T) {
	const n = 8
	b := newBox(comm.Self(), n)
	found, err := b.findCharges(n)
	require.NoError(t, err)
	v := make([]float64, b.shape.size())
	b.place(v, n, found)
	highest, lowest := 0.0, 1.0 // of the points without a charge
	charged := map[float64][]float64{}
	r := nas.Seed
	for z := range n {
		for y := range n {
			for x := range n {
				value := r.Next()
				switch charge := v[(z+1)*b.shape.plane()+(y+1)*b.shape.row()+x+1]; charge {
				case 0:
					highest, lowest = max(highest, value), min(lowest, value)
				default:
					charged[charge] = append(charged[charge], value)
				}
			}
		}
	}
	require.Len(t, charged[1], perSign)
	require.Len(t, charged[-1], perSign)
	for i := range perSign {
		require.Greater(t, charged[1][i], highest)
		require.Less(t, charged[-1][i], lowest)
	}
}

// The layer around a box has the values of its neighbours, including corners.
func TestExchange(t *testing.T) {
	const n = 8
	for _, ranks := range []int{1, 2, 4, 8, 64} {
		t.Run(fmt.Sprint(ranks), func(t *testing.T) {
			intratest.Run(t, intra.Spec{Ranks: ranks}, func(p *intra.Process) error {
				b := newBox(p.World(), n)
				x := make([]float64, b.shape.size())
				o, s := b.origin(), b.shape
				each := func(f func(at int, value float64)) {
					for i := range x {
						at := [3]int{i%s.row() - 1, i/s.row()%(s.ny+2) - 1, i/s.plane() - 1}
						global := 0
						for axis := 2; axis >= 0; axis-- {
							global = global*n + (o[axis]+at[axis]+n)%n
						}
						f(i, float64(global))
					}
				}
				each(func(i int, value float64) {
					x[i] = math.NaN()
					if at := [3]int{i % s.row(), i / s.row() % (s.ny + 2), i / s.plane()}; at[0] > 0 && at[0] <= s.nx && at[1] > 0 && at[1] <= s.ny && at[2] > 0 && at[2] <= s.nz {
						x[i] = value
					}
				})
				if err := b.exchange(x); err != nil {
					return err
				}
				each(func(i int, value float64) { require.Equal(t, value, x[i]) })
				return nil
			})
		})
	}
}
