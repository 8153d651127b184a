package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The rows of the factors' product are those of the matrix, swapped.
func TestFactors(t *testing.T) {
	for _, n := range []int{1, 2, 7, 50} {
		f := newFactors(nil, settings{n: n, tasks: 3})
		f.fill()
		want := append([]float64(nil), f.a...)
		require.NoError(t, f.factor())
		for k, with := range f.swapped {
			for j := range n {
				want[k*n+j], want[with*n+j] = want[with*n+j], want[k*n+j]
			}
		}
		for i := range n {
			for j := range n {
				sum := 0.0
				for k := range min(i, j+1) {
					sum += f.row(i)[k] * f.row(k)[j]
				}
				if i <= j {
					sum += f.row(i)[j]
				}
				require.InDelta(t, want[i*n+j], sum, 1e-12, "%d, %d of %d", i, j, n)
			}
		}
		_, most := f.deviation()
		require.Less(t, most, 1e-10)
	}
}

func TestPivot(t *testing.T) {
	a := []float64{1, 0, -4, 0, 4, 0, 2, 0}
	require.Equal(t, pivot{1, 4}, search(a, 2, 0, 0, 4), "the first of equal magnitude")
	require.Equal(t, pivot{}, search(a, 2, 1, 0, 4), "zeros are no pivots")
}

func TestSingular(t *testing.T) {
	f := newFactors(nil, settings{n: 3, tasks: 2})
	copy(f.a, []float64{1, 2, 3, 2, 4, 6, 1, 0, 1})
	f.column = 0
	require.EqualError(t, f.factor(), "the matrix is singular: column 2 has no pivot")
}
