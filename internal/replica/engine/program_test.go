package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/checkpoint"
)

// saved returns the image of a program at safe point 4 of a loop that computes a sum.
func saved(t *testing.T) *checkpoint.Image {
	p := NewProgram()
	x, i := []float64{1, 2, 3}, 3
	require.NoError(t, p.Protect("x", &x))
	require.NoError(t, p.Protect("i", &i))
	require.NoError(t, p.SafePoint(nil))
	im, err := p.Image()
	require.NoError(t, err)
	return im.Clone(nil)
}

func TestRestoredProgram(t *testing.T) {
	im := saved(t)
	for _, late := range []bool{false, true} {
		p := NewProgram()
		p.restore(im, 4)
		require.True(t, p.Restored())
		x := []float64{9}
		var i int
		protect := func() {
			require.NoError(t, p.Protect("x", &x))
			require.NoError(t, p.Protect("i", &i))
		}
		if !late {
			protect()
		}
		if !p.Restored() {
			x, i = nil, 100
		}
		if late {
			protect()
		}
		require.Equal(t, []float64{1, 2, 3}, x)
		require.Equal(t, 3, i)

		require.True(t, p.Resuming())
		resumed := 0
		p.resumed = func() error { resumed++; return nil }
		stopped, checks := uint64(0), 0
		check := func(uint64) error { checks++; return nil }
		p.stop = func(point uint64) error { stopped = point; return nil }
		p.due.Store(true)
		require.NoError(t, p.SafePoint(check))
		require.False(t, p.Resuming())
		require.Equal(t, 1, resumed)
		require.Zero(t, checks)
		require.Zero(t, stopped, "the state was taken at this safe point")
		require.Equal(t, uint64(4), p.points.Load())
		require.NoError(t, p.SafePoint(check))
		require.Equal(t, uint64(5), stopped)
		require.Equal(t, 1, resumed)
	}
}

func TestRestoredProgramRegistersSomethingElse(t *testing.T) {
	im := saved(t)
	p := NewProgram()
	p.restore(im, 1)
	var x []float64
	require.NoError(t, p.Protect("x", &x))
	err := p.SafePoint(nil)
	require.ErrorIs(t, err, checkpoint.ErrMismatch)
	require.ErrorContains(t, err, `saved but not registered: "i"; register it before the first SafePoint`)
	require.Equal(t, errLate, p.Protect("y", &x))

	p = NewProgram()
	p.restore(im, 1)
	var wrong []int32
	err = p.Protect("x", &wrong)
	require.ErrorContains(t, err, "the saved state does not fit the program: slice []float64")
	p.Fail(err)
	p.Fail(errLate)
	require.Equal(t, err, p.SafePoint(nil), "the first error counts")
}

func TestSafePointStops(t *testing.T) {
	p := NewProgram()
	var at []uint64
	p.stop = func(point uint64) error {
		at = append(at, point)
		if point == 3 {
			return ErrRollback
		}
		return nil
	}
	require.NoError(t, p.SafePoint(nil))
	p.due.Store(true)
	require.NoError(t, p.SafePoint(nil))
	require.ErrorIs(t, p.SafePoint(nil), ErrRollback)
	p.due.Store(false)
	require.NoError(t, p.SafePoint(nil))
	require.Equal(t, []uint64{2, 3}, at)
}
