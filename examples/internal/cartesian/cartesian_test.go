package cartesian_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/examples/internal/cartesian"
)

func TestShape(t *testing.T) {
	for size, want := range map[int][3]int{1: {1, 1, 1}, 2: {2, 1, 1}, 4: {2, 2, 1}, 6: {3, 2, 1}, 7: {7, 1, 1}, 8: {2, 2, 2}, 12: {3, 2, 2}, 16: {4, 2, 2}, 27: {3, 3, 3}, 64: {4, 4, 4}} {
		require.Equal(t, want, cartesian.Shape(size), size)
	}
}

func TestFlat(t *testing.T) {
	for size, want := range map[int][3]int{1: {1, 1, 1}, 2: {2, 1, 1}, 6: {3, 2, 1}, 7: {7, 1, 1}, 16: {4, 4, 1}, 24: {6, 4, 1}} {
		require.Equal(t, want, cartesian.Flat(size), size)
	}
}

func TestSplitAndJoin(t *testing.T) {
	n := [3]int{3, 4, 5}
	require.Equal(t, [3]int{1, 0, 0}, cartesian.Split(n, 1))
	require.Equal(t, [3]int{2, 3, 4}, cartesian.Split(n, 59))
	for i := range 60 {
		require.Equal(t, i, cartesian.Join(n, cartesian.Split(n, i)))
	}
}
