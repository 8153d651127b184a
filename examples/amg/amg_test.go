package main

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/internal/testkit/jobtest/agreement"
	"github.com/intrahpc/intra/intratest"
)

// poisson returns the settings of a run.
func poisson(s stencil, method string, nx, ny, nz int) settings {
	return settings{stencil: s, n: [3]int{nx, ny, nz}, method: method, tolerance: 1e-8, iterations: 500, tasks: 16}
}

// solve returns a program that computes the result of these settings.
func solve(set settings) agreement.Program[*result] {
	return func(p *intra.Process) (*result, error) {
		s, err := newSolver(p, set)
		if err != nil {
			return nil, err
		}
		if err := s.run(); err != nil {
			return nil, err
		}
		r, err := s.result()
		if err != nil {
			return nil, err
		}
		r.Times, r.Seconds = seconds{}, 0
		return r, nil
	}
}

// The levels are exactly those published for smoothed aggregation.
func TestLevels(t *testing.T) {
	for _, tt := range []struct {
		set                settings
		unknowns, nonzeros []int64
		operator, grid     float64
		long               bool
	}{
		{poisson(cube27, "pcg", 32, 32, 32), []int64{32768, 1331, 64, 8}, []int64{830584, 29791, 1000, 64}, 1.0371, 1.0428, false},
		{poisson(cross7, "pcg", 32, 32, 32), []int64{32768, 4192, 117, 4}, []int64{223232, 114356, 4273, 16}, 1.5315, 1.1316, false},
		{poisson(cross5, "pcg", 500, 500, 1), []int64{250000, 41750, 4704, 532, 65, 9}, []int64{1248000, 373416, 41554, 4526, 509, 65}, 1.3366, 1.1882, true},
		{poisson(cross5, "pcg", 1000, 1000, 1), []int64{1000000, 167000, 18579, 2086, 233, 28, 3}, []int64{4996000, 1499328, 167051, 18870, 2109, 248, 9}, 1.338, 1.188, true},
	} {
		t.Run(fmt.Sprint(tt.set.stencil, tt.set.n), func(t *testing.T) {
			if tt.long && !jobtest.Matrix() {
				t.Skip("takes long: `make matrix` (INTRA_MATRIX=1) runs it")
			}
			s, err := newSolver(nil, tt.set)
			require.NoError(t, err)
			h := s.hierarchy
			require.Equal(t, tt.unknowns, h.unknowns)
			require.Equal(t, tt.nonzeros, h.nonzeros)
			require.InDelta(t, tt.operator, complexity(h.nonzeros), 5e-4)
			require.InDelta(t, tt.grid, complexity(h.unknowns), 5e-4)
		})
	}
}

// Both methods find the solution in few iterations, on every number of ranks.
func TestConvergence(t *testing.T) {
	for _, tt := range []struct {
		set   settings
		ranks int
		most  int // maximum number of iterations
	}{
		{poisson(cube27, "", 16, 16, 16), 1, 8},
		{poisson(cross7, "", 16, 16, 16), 1, 11},
		{poisson(cross5, "", 48, 48, 1), 1, 11},
		{poisson(cube27, "", 12, 12, 12), 4, 11},
		{poisson(cross7, "", 12, 12, 12), 4, 11},
		{poisson(cross5, "", 24, 24, 1), 6, 18},
		{poisson(cross7, "", 1, 3, 2), 3, 4}, // levels with one unknown for each rank
		{poisson(cross5, "", 1, 1, 1), 1, 1},
	} {
		for _, m := range methods {
			tt.set.method = m
			t.Run(fmt.Sprint(tt.set.stencil, tt.set.n, tt.ranks, m), func(t *testing.T) {
				r := solve(tt.set).Alone(t, tt.ranks)[0]
				require.True(t, r.Converged, r.Residual)
				require.Equal(t, 1.0, r.History[0])
				require.Len(t, r.History, r.Iterations+1)
				require.LessOrEqual(t, r.Iterations, tt.most)
				t.Log(r.Unknowns, r.Iterations, r.Residual)
			})
		}
	}
}

// GMRES restarts after 20 iterations, and reaches the solution of conjugate gradients.
func TestRestart(t *testing.T) {
	ends := map[string][]float64{}
	for _, m := range methods {
		set := poisson(cross5, m, 40, 40, 1)
		set.tolerance = 1e-13
		s, err := newSolver(nil, set)
		require.NoError(t, err)
		s.hierarchy.levels[0].radius *= 8 // a bad smoother
		require.NoError(t, s.run())
		require.Greater(t, s.iterations(), restart)
		residual, err := s.residual()
		require.NoError(t, err)
		require.Less(t, residual, 1e-12)
		ends[m] = s.x
	}
	require.InDeltaSlice(t, ends["pcg"], ends["gmres"], 1e-8)
}

// A run that has too few iterations reports that it has not converged.
func TestNotConverged(t *testing.T) {
	for _, m := range methods {
		set := poisson(cube27, m, 8, 8, 8)
		set.iterations = 2
		all := solve(set).Alone(t, 1)
		require.False(t, all[0].Converged)
		require.Equal(t, 2, all[0].Iterations)
		require.Greater(t, float64(all[0].Residual), 1e-8)
		require.InEpsilon(t, all[0].History[2], float64(all[0].Residual), 1e-9)
	}
}

// The preconditioner is symmetric and positive, which conjugate gradients need.
func TestPreconditionerIsSymmetric(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		intratest.Run(t, intra.Spec{Ranks: ranks}, func(p *intra.Process) error {
			s, err := newSolver(p, poisson(cross7, "pcg", 9, 8, 10))
			if err != nil {
				return err
			}
			n := len(s.x)
			vector := func(seed uint64) []float64 {
				x := make([]float64, n)
				for i := range x {
					x[i] = float64(mix(seed+uint64(p.Rank()), uint64(i))>>11)/(1<<52) - 1
				}
				return x
			}
			apply := func(x []float64) []float64 {
				z, err := s.precondition(x)
				require.NoError(t, err)
				return append([]float64(nil), z[:n]...)
			}
			product := func(x, y []float64) float64 {
				sum, err := s.product(x, y)
				require.NoError(t, err)
				return sum
			}
			x, y := vector(10), vector(20)
			mx, my := apply(x), apply(y)
			require.InEpsilon(t, product(x, my), product(y, mx), 1e-11)
			require.Positive(t, product(x, mx))
			return nil
		})
	}
}

// Products equal those of dense matrices, and so do the matrices of the next level.
func TestProduct(t *testing.T) {
	s, err := newSolver(nil, poisson(cross7, "pcg", 7, 6, 5))
	require.NoError(t, err)
	h := s.hierarchy
	require.Greater(t, h.depth, 1)
	l, next := h.levels[0], h.levels[1]
	a, p := dense(l.a), dense(l.interpolation)
	want := times(times(dense(l.interpolation.transposed()), a), p)
	got := dense(next.a)
	require.Len(t, got, len(want))
	for i := range want {
		require.InDeltaSlice(t, want[i], got[i], 1e-13)
	}
	for i := range next.a.rows() {
		col, _ := next.a.row(i)
		require.IsIncreasing(t, col)
	}
}

func dense(s *sparse) [][]float64 {
	d := make([][]float64, s.rows())
	for i := range d {
		d[i] = make([]float64, s.cols)
		col, val := s.row(i)
		for k, c := range col {
			d[i][c] += val[k]
		}
	}
	return d
}

func times(a, b [][]float64) [][]float64 {
	c := make([][]float64, len(a))
	for i := range c {
		c[i] = make([]float64, len(b[0]))
		for k, v := range a[i] {
			for j, w := range b[k] {
				c[i][j] += v * w
			}
		}
	}
	return c
}

// If the matrix maps constants to zero, the interpolation keeps constants, on every level
// and also next to other ranks.
func TestInterpolationKeepsConstants(t *testing.T) {
	set := poisson(cube27, "pcg", 10, 9, 8)
	intratest.Run(t, intra.Spec{Ranks: 2}, func(p *intra.Process) error {
		s, err := newSolver(p, set)
		if err != nil {
			return err
		}
		l := s.hierarchy.levels[0]
		near := make([]float64, l.a.cols)
		for i := range near {
			near[i] = 1
		}
		group, count := aggregate(l.a)
		_, coarse := tentative(group, count, near)
		fine := make([]float64, l.a.rows())
		l.up.MulRows(0, coarse, fine)
		inside := 0
		for i, v := range fine {
			if _, val := l.a.row(i); sum(val) == 0 {
				require.InEpsilon(t, 1, v, 1e-13)
				inside++
			}
		}
		require.Equal(t, 9*7*6, inside)
		return nil
	})
}

func sum(x []float64) (s float64) {
	for _, v := range x {
		s += v
	}
	return s
}

// The test checks the groups of a chain, of a chain whose ends belong to other ranks, and of
// unknowns that are not coupled with any on this rank, or with any at all.
func TestAggregate(t *testing.T) {
	rows := func(cols int, all ...[]int32) *sparse {
		s := &sparse{cols: cols, ptr: []int64{0}}
		for _, r := range all {
			s.col, s.val = append(s.col, r...), append(s.val, make([]float64, len(r))...)
			s.ptr = append(s.ptr, int64(len(s.col)))
		}
		return s
	}
	for _, tt := range []struct {
		a     *sparse
		group []int32
		count int
	}{
		{rows(5, []int32{0, 1}, []int32{0, 1, 2}, []int32{1, 2, 3}, []int32{2, 3, 4}, []int32{3, 4}), []int32{0, 0, 1, 1, 1}, 2},
		{rows(4, []int32{0, 1}, []int32{0, 1, 2}, []int32{1, 2, 3}, []int32{2, 3}), []int32{0, 0, 1, 1}, 2},
		{rows(3, []int32{0, 1}, []int32{0, 1, 2}, []int32{1, 2}), []int32{0, 0, 0}, 1},
		{rows(3, []int32{0, 1}, []int32{0, 1, 2}), []int32{0, 0}, 1},
		{rows(4, []int32{0, 2}, []int32{1}), []int32{0, noAggregate}, 1},
	} {
		group, count := aggregate(tt.a)
		require.Equal(t, tt.group, group)
		require.Equal(t, tt.count, count)
	}
}

func TestCholesky(t *testing.T) {
	a := []float64{4, 2, 2, 2, 5, 3, 2, 3, 6}
	x := []float64{4*1 + 2*2 + 2*3, 2*1 + 5*2 + 3*3, 2*1 + 3*2 + 6*3}
	require.NoError(t, cholesky(a, 3))
	substitute(a, x)
	require.InDeltaSlice(t, []float64{1, 2, 3}, x, 1e-14)
	require.ErrorContains(t, cholesky([]float64{1, 2, 2, 1}, 2), "not positive definite (pivot 1 of 2 is -3)")
}

// The rows are those of the stencils, also across the borders between ranks. The test
// checks the number of entries, their sums, and the origin of each value.
func TestMatrix(t *testing.T) {
	for _, tt := range []struct {
		s        stencil
		n        [3]int
		ranks    int
		nonzeros int
	}{
		{cross5, [3]int{5, 4, 1}, 1, 5*20 - 2*4 - 2*5},
		{cross5, [3]int{5, 4, 1}, 4, 5*80 - 2*8 - 2*10},
		{cross7, [3]int{2, 3, 4}, 8, 7*4*6*8 - 2*(6*8+4*8+4*6)},
		{cube27, [3]int{2, 3, 4}, 8, (3*4 - 2) * (3*6 - 2) * (3*8 - 2)},
	} {
		number := func(g ghost) float64 { return float64(1000*g.rank + g.index) }
		total := make([]int, tt.ranks)
		intratest.Run(t, intra.Spec{Ranks: tt.ranks}, func(p *intra.Process) error {
			b := newBox(tt.s, tt.n, p.Rank(), tt.ranks)
			a, ghosts := b.matrix()
			h, err := newHalo(p.World(), ghosts)
			require.NoError(t, err)
			x := make([]float64, a.cols)
			for i := range a.rows() {
				x[i] = number(ghost{int32(p.Rank()), int32(i)})
				col, val := a.row(i)
				require.IsIncreasing(t, col)
				require.Equal(t, tt.s.diagonal()-float64(len(col)-1), sum(val))
			}
			require.NoError(t, exchange(p.World(), &h, x))
			for k, g := range ghosts {
				require.Equal(t, number(g), x[a.rows()+k])
			}
			total[p.Rank()] = len(a.col)
			return p.World().Barrier()
		})
		all := 0
		for _, n := range total {
			all += n
		}
		require.Equal(t, tt.nonzeros, all)
	}
}

// The polynomial is that of Chebyshev: its magnitude is bounded where errors must become
// small, and it is 1 at 0.
func TestChebyshev(t *testing.T) {
	const radius = 1.7
	f, alpha, beta := chebyshev(radius)
	left := func(lambda float64) float64 { return 1 - lambda*f*(alpha-beta*lambda) }
	worst := 0.0
	for i := range 1001 {
		worst = max(worst, math.Abs(left(radius*(lowest+(highest-lowest)*float64(i)/1000))))
	}
	sigma := (highest + lowest) / (highest - lowest)
	require.InEpsilon(t, 1/(2*sigma*sigma-1), worst, 1e-12)
	require.Equal(t, 1.0, left(0))
}

// All ranks have the whole coarsest level.
func TestCoarsestLevel(t *testing.T) {
	intratest.Run(t, intra.Spec{Ranks: 3}, func(p *intra.Process) error {
		s, err := newSolver(p, poisson(cross7, "pcg", 6, 5, 4))
		if err != nil {
			return err
		}
		h := s.hierarchy
		l := h.levels[h.depth-1]
		for i := range l.r {
			l.r[i] = float64(i + p.Rank() + 1)
		}
		require.NoError(t, h.solve(l))
		require.NoError(t, exchange(p.World(), l.halo, l.x))
		l.residual()
		largest, err := comm.AllreduceValue(p.World(), l.dot(l.rest, l.rest), comm.Sum)
		require.NoError(t, err)
		require.Less(t, largest, 1e-24)
		return nil
	})
}
