package intra

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/replica/slots"
	"github.com/intrahpc/intra/update"
)

// Arguments of a type of task are dropped when a later section launches fewer tasks of that type,
// or when several sections have launched none.
func TestArgumentsAreDropped(t *testing.T) {
	rare, often := Register("test.rare"), Register("test.often")
	var l launches
	x := make([]float64, 3)
	launch := func(task *Task) *slots.Slot[[]float64] {
		slot := slots.Next[[]float64](l.of(task))
		if slot.Regions == nil {
			slot.Regions = []Region{In("x", x)}
		}
		slot.Arguments = x
		update.Set(&slot.Regions[0], x)
		return slot
	}
	holds := func(s *slots.Slot[[]float64]) bool {
		require.Equal(t, s.Arguments != nil, s.Regions[0].Mem != nil)
		return s.Arguments != nil
	}
	first, second := launch(rare), launch(rare)
	l.release()
	require.True(t, holds(first) && holds(second))
	require.Same(t, first, launch(rare))
	l.release()
	require.True(t, holds(first))
	require.False(t, holds(second), "one task of two in the section before")
	var other *slots.Slot[[]float64]
	for range sectionsHeld - 1 {
		other = launch(often)
		l.release()
		require.True(t, holds(first))
	}
	l.release()
	require.False(t, holds(first))
	require.True(t, holds(other))
	for range sectionsHeld {
		l.release()
	}
	require.False(t, holds(other))
	require.Empty(t, l.held)
	require.Same(t, first, launch(rare), "the memory is used again")
}
