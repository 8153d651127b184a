package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A wrong report of its progress does not make a program fail.
func TestSteps(t *testing.T) {
	for _, c := range []struct {
		done, total         int
		wantDone, wantTotal int64
	}{{3, 10, 3, 10}, {11, 10, 10, 10}, {-1, 10, 0, 10}, {7, 0, 7, 0}, {7, -2, 7, 0}} {
		var s steps
		s.set(c.done, c.total)
		done, total := s.get()
		require.Equal(t, c.wantDone, done)
		require.Equal(t, c.wantTotal, total)
	}
}

func TestArriving(t *testing.T) {
	var a arriving
	require.Zero(t, a.share())
	a.begin(200)
	require.Zero(t, a.share())
	a.has(50)
	require.InDelta(t, 0.25, a.share(), 1e-9)
	a.has(250)
	require.InDelta(t, 1, a.share(), 1e-9, "the state has grown meanwhile")
	a.begin(100) // another donor begins
	require.Zero(t, a.share())
}
