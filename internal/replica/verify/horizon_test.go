package verify

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHorizon requires that a safe point is sure once enough tasks were compared after it.
// After a rollback the comparisons of the part that is repeated do not count.
func TestHorizon(t *testing.T) {
	var h Horizon
	require.Zero(t, h.Sure())
	h.Compared(5 * Enough)
	require.Zero(t, h.Sure(), "there was no safe point yet")

	h.At(3)
	h.At(4) // nothing was compared since the last safe point
	h.Compared(Enough - 1)
	require.Zero(t, h.Sure())
	h.At(7)
	h.Compared(1)
	require.Equal(t, uint64(4), h.Sure())
	h.Compared(Enough - 2)
	require.Equal(t, uint64(4), h.Sure())
	h.At(9)
	h.Compared(1)
	require.Equal(t, uint64(7), h.Sure())

	h.Back(5)
	require.Equal(t, uint64(5), h.Sure())
	h.Compared(Enough)
	require.Equal(t, uint64(5), h.Sure(), "safe point 9 from before the rollback is void")
	h.At(6)
	h.Compared(Enough)
	require.Equal(t, uint64(6), h.Sure())
}

// TestHorizonIsShort requires that of several safe points without comparisons in between only the
// last one is kept.
func TestHorizonIsShort(t *testing.T) {
	var h Horizon
	for point := range uint64(100_000) {
		h.At(point)
		h.Compared(int(point % 2))
	}
	require.LessOrEqual(t, len(h.marks), Enough+1)
}
