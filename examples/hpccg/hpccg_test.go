package main

import (
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/intratest"
)

// outcome holds the results of a run on one rank that a test examines.
type outcome struct {
	history []float64
	x       []float64
}

// solveOn solves a problem on a job in this process. It returns the outcomes of all
// replicas of all ranks that finished, in the order of ranks.
func solveOn(t *testing.T, spec intra.Spec, set settings, opts ...intratest.Option) (map[int][]outcome, intratest.Report) {
	t.Helper()
	var mu sync.Mutex
	all := make(map[int][]outcome)
	report := intratest.Run(t, spec, func(p *intra.Process) error {
		b := box{nx: set.nx, ny: set.ny, nz: set.nz, rank: p.Rank(), size: p.Size()}
		s, err := newSolver(p, b, set)
		if err != nil {
			return err
		}
		history, _, err := s.solve(set.iters, set.tolerance)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		all[p.Rank()] = append(all[p.Rank()], outcome{history, s.x})
		return nil
	}, opts...)
	return all, report
}

// The residual norms agree with those of the original, summed in sequence on each rank.
func TestReferenceValues(t *testing.T) {
	tests := []struct {
		nx, ny, nz, ranks, passes   int
		first, tenth, fiftieth, end float64
	}{
		{5, 5, 5, 1, 122, 133.57769274845256, 1.5449933505422091e-10, 3.5687776714418949e-66, 0},
		{16, 16, 16, 1, 149, 408.1078288883956, 4.6756296922759963, 7.22919052714056e-21, 1.430476575833492e-60},
		{16, 16, 16, 2, 149, 525.04475999670728, 9.9267330155456026, 1.6273830754630132e-12, 1.3637861204333476e-43},
		{16, 16, 16, 4, 149, 702.78873070077043, 12.348247252365223, 3.5423445935034904e-09, 6.1842878198936232e-37},
		{20, 30, 10, 1, 149, 486.75250384564021, 8.8920404339401546, 5.7941318152648751e-13, 4.8947400340077347e-44},
		{20, 30, 10, 2, 149, 586.69242367700645, 21.567156059434804, 7.5927160782453372e-11, 2.5740216596132833e-39},
		{32, 32, 32, 1, 149, 813.85502394468267, 40.213393100863406, 1.6996764851307752e-09, 3.0115768987919337e-36},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%dx%dx%d on %d", tt.nx, tt.ny, tt.nz, tt.ranks), func(t *testing.T) {
			set := settings{nx: tt.nx, ny: tt.ny, nz: tt.nz, iters: 150}

			// Sums in the same order give the same bits.
			set.how, set.tasks = sequential, 1
			all, _ := solveOn(t, intra.Spec{Ranks: tt.ranks}, set)
			h := all[0][0].history
			require.Len(t, h, tt.passes)
			require.Equal(t, []float64{tt.first, tt.tenth, tt.fiftieth, tt.end},
				[]float64{h[0], h[9], h[49], h[len(h)-1]})

			// Sums in another order agree up to rounding.
			set.how, set.tasks = simd, 16
			all, _ = solveOn(t, intra.Spec{Ranks: tt.ranks}, set)
			h = all[0][0].history
			require.InEpsilon(t, tt.first, h[0], 1e-13)
			requireClose(t, tt.first, tt.tenth, h[9], 1e-12)
			requireClose(t, tt.first, tt.fiftieth, h[49], 1e-6)
			if tt.end > 0 {
				require.Len(t, h, tt.passes)
				requireClose(t, tt.first, tt.end, h[len(h)-1], 1e-6)
			}

			// The format of the matrix makes no difference.
			set.format = csr
			all, _ = solveOn(t, intra.Spec{Ranks: tt.ranks}, set)
			require.Equal(t, h, all[0][0].history)
		})
	}
}

// The residual norms with -fused are those in doc.go. Their sums have another order.
// Sequential sums have the same order as without -fused.
func TestFused(t *testing.T) {
	set := settings{nx: 16, ny: 16, nz: 16, iters: 150, tasks: 1, how: sequential, fused: true}
	for ranks, last := range map[int]float64{1: 1.430476575833492e-60, 2: 1.3637861204333476e-43} {
		all, _ := solveOn(t, intra.Spec{Ranks: ranks}, set)
		h := all[0][0].history
		require.Equal(t, last, h[len(h)-1])
		require.Len(t, h, 149)
	}
	set.how, set.nx, set.ny, set.nz, set.tasks = simd, 32, 32, 32, 4
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	var digits strings.Builder
	for ranks := 1; ranks <= 2; ranks++ {
		for _, form := range []format{sliced, csr} {
			set.format = form
			all, _ := solveOn(t, intra.Spec{Ranks: ranks}, set)
			h := all[0][0].history
			if form == sliced {
				fmt.Fprintf(&digits, "//	%d %v %v %v %v\n", ranks, h[0], h[9], h[49], h[148])
			}
			require.Contains(t, digits.String(), fmt.Sprint(h[148]))
		}
	}
	require.Contains(t, string(doc), digits.String())
}

// requireClose compares residual norms that were summed in different orders. If they are
// far below the rounding errors of the first pass, it compares only the magnitude.
func requireClose(t *testing.T, first, want, got, epsilon float64) {
	t.Helper()
	if want > 1e-9*first {
		require.InEpsilon(t, want, got, epsilon)
		return
	}
	require.InDelta(t, math.Log10(want), math.Log10(got), 3)
}

// The rows are those of a 27-point stencil whose solution is all ones, also across the
// border between two ranks.
func TestGenerate(t *testing.T) {
	for _, f := range []format{sliced, csr} {
		testGenerate(t, f)
	}
}

func testGenerate(t *testing.T, f format) {
	for rank := range 3 {
		b := box{nx: 3, ny: 4, nz: 2, rank: rank, size: 3}
		a, rhs, err := b.generate(f)
		require.NoError(t, err)
		ones, y := make([]float64, b.cols()), make([]float64, b.rows())
		for i := range ones {
			ones[i] = 1
		}
		a.MulRows(0, ones, y)
		require.Equal(t, rhs, y)
		require.Equal(t, b.rows()+b.plane()*map[int]int{0: 1, 1: 2, 2: 1}[rank], b.cols())
	}
	whole, _, err := box{nx: 3, ny: 4, nz: 6, size: 1}.generate(f)
	require.NoError(t, err)
	parts := 0
	for rank := range 3 {
		a, _, err := box{nx: 3, ny: 4, nz: 2, rank: rank, size: 3}.generate(f)
		require.NoError(t, err)
		parts += a.NNZ()
	}
	require.Equal(t, whole.NNZ(), parts)
}
