package intra_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
)

func TestAlloc(t *testing.T) {
	type cell struct {
		_    [3]float64
		kind uint8
	}
	big := intra.Alloc[cell](1 << 18) // spans whole huge pages
	require.Len(t, big, 1<<18)
	for i := range big {
		require.Zero(t, big[i])
		big[i].kind = uint8(i)
	}
	require.Equal(t, uint8(200), big[200].kind)
	require.Empty(t, intra.Alloc[struct{}](3)[:0])
	require.Empty(t, intra.Alloc[int8](0))
	require.PanicsWithValue(t, "intra.Alloc: type string holds pointers: string is a string", func() { intra.Alloc[string](1) })
	require.Panics(t, func() { intra.Alloc[int8](-1) })
}
