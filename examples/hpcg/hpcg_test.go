package main

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/examples/internal/cartesian"
	"github.com/intrahpc/intra/internal/testkit/jobtest/agreement"
	"github.com/intrahpc/intra/intratest"
)

// cube returns the settings of a run on n³ points per rank.
func cube(n int, how smoother) settings {
	return settings{nx: n, ny: n, nz: n, sets: 1, smoother: how, tasks: 16}
}

// measure returns a program that computes the result of these settings.
func measure(set settings) agreement.Program[*result] {
	return func(p *intra.Process) (*result, error) {
		b, err := newBenchmark(p, set)
		if err != nil {
			return nil, err
		}
		if err := b.run(); err != nil {
			return nil, err
		}
		r, err := b.result()
		if err != nil {
			return nil, err
		}
		r.Times, r.GFLOPS, r.Seconds = times{}, 0, 0
		return r, nil
	}
}

// The residuals agree with those of the original, built without FMA, and of the original
// with a patch for colours. They agree up to rounding, because the order of sums differs.
func TestReferenceValues(t *testing.T) {
	for _, tt := range []struct {
		how      smoother
		n, ranks int
		r0       float64
		history  map[int]float64
	}{
		{natural, 16, 1, 368.70584481399260, map[int]float64{1: 1.7528847365267122e-01, 2: 8.3595018369475332e-02, 5: 4.1734738539736917e-04, 10: 1.6353119008197327e-07, 20: 2.0126852393572105e-15, 50: 3.66e-41}},
		{natural, 32, 1, 722.00277007778857, map[int]float64{1: 1.8327342160930427e-01, 2: 9.6954621228218990e-02, 5: 3.3451040946517137e-02, 10: 9.4244414583785502e-05, 20: 1.0310011472783470e-08, 50: 1.03e-20}},
		{natural, 16, 2, 472.14404581652832, map[int]float64{1: 1.8645663795362694e-01, 2: 9.6933450979597990e-02, 5: 7.5472086337801808e-03, 10: 3.8617184246066634e-06, 20: 3.8649095361709099e-12, 50: 7.54e-32}},
		{natural, 16, 4, 592.76302178864023, map[int]float64{1: 1.9459704344782849e-01, 2: 1.0528940970129690e-01, 5: 2.0508481566903734e-02, 10: 4.2812524276129633e-05, 20: 6.8690947279926437e-10, 50: 6.20e-25}},
		{colour, 16, 1, 368.70584481399260, map[int]float64{1: 2.4292824712182373e-01, 10: 6.1015163242564526e-07}},
		{colour, 32, 1, 722.00277007778857, map[int]float64{1: 2.4973903385790064e-01, 10: 1.1015748041525103e-03}},
	} {
		t.Run(fmt.Sprint(tt.how, " ", tt.n, " on ", tt.ranks), func(t *testing.T) {
			if testing.Short() && tt.n > 16 {
				t.Skip("takes long")
			}
			r := measure(cube(tt.n, tt.how)).Alone(t, tt.ranks)[0]
			require.Empty(t, r.faults())
			require.True(t, r.Valid)
			require.Len(t, r.History, 51)
			require.Equal(t, 1.0, r.History[0])
			require.InEpsilon(t, tt.r0, r.R0, 1e-13)
			for k, want := range tt.history {
				switch {
				case k <= 5:
					require.InEpsilon(t, want, r.History[k], 1e-10, "iteration %d", k)
				case k <= 10:
					require.InEpsilon(t, want, r.History[k], 1e-6, "iteration %d", k)
				default: // rounding differs
					require.InDelta(t, math.Log10(want), math.Log10(r.History[k]), 2, "iteration %d", k)
				}
			}
			require.LessOrEqual(t, r.Spectral[0], 12)
			require.LessOrEqual(t, r.Spectral[1], 2)
		})
	}
}

// In every order of Gauss-Seidel the sets reach the residual that the original's order
// reaches after 50 iterations. All sets end with the same bits.
func TestSetsReachTheReference(t *testing.T) {
	for _, how := range []smoother{natural, slab, colour} {
		set := cube(16, how)
		set.sets = 3
		r := measure(set).Alone(t, 2)[0]
		require.True(t, r.Valid, r.faults())
		require.Equal(t, 3, r.Sets)
		require.Zero(t, r.Variance)
		require.GreaterOrEqual(t, r.Iterations, 50)
		require.LessOrEqual(t, r.Residual, r.Goal)
		if how == natural {
			require.Equal(t, 50, r.Iterations)
			require.Equal(t, r.Goal, r.Residual)
		} else {
			require.Greater(t, r.Iterations, 50)
		}
	}
	// A single slab has the natural order.
	set := cube(16, slab)
	set.tasks = 1
	one := measure(set).Alone(t, 1)
	set.smoother = natural
	other := measure(set).Alone(t, 1)
	require.Equal(t, other[0].History, one[0].History)
	require.Equal(t, other[0].XSHA256, one[0].XSHA256)
}

// With a given time, as many sets are run as fill it.
func TestSetsFillTheTime(t *testing.T) {
	set := cube(16, slab)
	set.time = 1 // ns
	require.Equal(t, 1, measure(set).Alone(t, 1)[0].Sets)
	b := &benchmark{set: set, cg: &solver{seconds: seconds{Total: 0.4}}}
	b.set.time = 2e9
	n, err := b.plan()
	require.NoError(t, err)
	require.Equal(t, 5, n)
}

// Slabs behave like ranks: smoothing with two slabs equals smoothing with one slab on each
// of two ranks, if the neighbours' points have their old values.
func TestSlabsAreRanks(t *testing.T) {
	const n, tasks = 16, 2
	input := func(g int) float64 { return random(uint64(g)) }
	smoothed := func(p *intra.Process, b box, how smoother) []float64 {
		l, err := newLevel(p, b, how, tasks, unscaled, newVectors(b)[:1])
		require.NoError(t, err)
		for row, point := range l.order.points {
			l.r[row] = input(b.global(cartesian.Split(b.n, int(point))))
		}
		l.smooth()
		require.NoError(t, l.halo.exchange(p, l.x))
		l.smoothAgain()
		return l.x[:b.points()]
	}
	whole := box{n: [3]int{n, n, 2 * n}, ranks: [3]int{1, 1, 1}}
	var mu sync.Mutex
	parts := make([][]float64, 2)
	var one []float64
	intratest.Run(t, intra.Spec{Ranks: 2}, func(p *intra.Process) error {
		half := box{n: [3]int{n, n, n}, ranks: [3]int{1, 1, 2}, at: [3]int{0, 0, p.Rank()}}
		x := smoothed(p, half, natural)
		mu.Lock()
		defer mu.Unlock()
		parts[p.Rank()] = x
		if p.Rank() == 0 {
			one = smoothed(p, whole, slab)
		}
		return nil
	})
	require.InEpsilonSlice(t, slices.Concat(parts...), one, 1e-13)
}

// The rows are those of the stencil: their sums and their numbers of entries are right.
func TestMatrix(t *testing.T) {
	r := result{NX: 32, NY: 32, NZ: 32, Grid: [3]int{1, 1, 1}}
	for _, how := range []smoother{natural, colour} {
		b, err := newBox(32, 32, 32, 0, 1)
		require.NoError(t, err)
		o, err := newOperator(nil, b, how, 16, unscaled, newVectors(b))
		require.NoError(t, err)
		l := o.level
		for k, want := range []struct{ points, entries int }{{32768, 830584}, {4096, 97336}, {512, 10648}, {64, 1000}} {
			require.Equal(t, want.points, l.box.points())
			require.Equal(t, want.entries, l.matrix.NNZ())
			points, entries := r.size(k)
			require.Equal(t, []float64{float64(want.points), float64(want.entries)}, []float64{points, entries})
			l = l.coarse
		}
		require.Nil(t, l)
		ones, y := slices.Repeat([]float64{1}, len(o.x)), make([]float64, b.points())
		o.matrix.MulRows(0, ones, y)
		require.Equal(t, o.b, y)
	}
	require.InEpsilon(t, 5.74e8, r.count().total(), 1e-2)
	require.InEpsilon(t, 0.82, r.count().multigrid/r.count().total(), 1e-2)
}

func TestFlatGrid(t *testing.T) {
	_, err := newBox(16, 16, 16, 0, 11)
	require.ErrorContains(t, err, "11 ranks form a grid of 11 × 1 × 1")
}

// Each violation of a rule for valid results is reported.
func TestFaults(t *testing.T) {
	good := result{Goal: 1e-20, Residual: 1e-20, Iterations: 50, Spectral: [2]int{12, 2}, Symmetry: [2]float64{1, 1}}
	require.Empty(t, good.faults())
	for want, spoil := range map[string]func(*result){
		"13 iterations without":       func(r *result) { r.Spectral[0] = 13 },
		"3 iterations with":           func(r *result) { r.Spectral[1] = 3 },
		"the matrix is":               func(r *result) { r.Symmetry[0] = 1.5 },
		"the preconditioner is NaN":   func(r *result) { r.Symmetry[1] = math.NaN() },
		"has to be 1e-20":             func(r *result) { r.Residual = 1.1e-20 },
		"residual after 50 iteration": func(r *result) { r.Residual = math.NaN() },
		"variance of 0.001":           func(r *result) { r.Variance = 1e-3 },
	} {
		r := good
		spoil(&r)
		require.Len(t, r.faults(), 1, want)
		require.Contains(t, r.faults()[0], want)
	}
	largest, variance := summarise([]float64{1, 3})
	require.Equal(t, []float64{3, 1}, []float64{largest, variance})
}

// The symmetry test finds a preconditioner that adds the coarse solution to the wrong
// points.
func TestSymmetryFindsAFault(t *testing.T) {
	for _, broken := range []bool{false, true} {
		b, err := newBenchmark(nil, cube(16, slab))
		require.NoError(t, err)
		b.stage = symmetryTest
		require.NoError(t, b.prepare())
		if broken {
			slices.Reverse(b.cg.op.coarser)
		}
		require.NoError(t, b.testSymmetry())
		require.LessOrEqual(t, b.symmetry[0], 1.0)
		require.Equal(t, broken, b.symmetry[1] > 1, b.symmetry)
	}
}
