package intra

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/checkpoint"
)

// saved returns a process at safe point 4 of a loop that adds up.
func saved(t *testing.T) *checkpoint.Image {
	p := &Process{degrees: []int{1}, ctx: context.Background()}
	x, i := []float64{1, 2, 3}, 3
	Protect(p, "x", &x)
	Protect(p, "i", &i)
	require.NoError(t, p.SafePoint())
	im, err := p.image()
	require.NoError(t, err)
	return im.Clone(nil)
}

func TestRestoredProcess(t *testing.T) {
	im := saved(t)
	for _, late := range []bool{false, true} {
		p := &Process{degrees: []int{1}, engine: &engine{}}
		p.restore(im, 4)
		require.True(t, p.Restored())
		x := []float64{9}
		var i int
		protect := func() {
			Protect(p, "x", &x)
			Protect(p, "i", &i)
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

		// Recomputing what was not saved may use sections, but nothing that
		// needs the others.
		ran := 0
		s := p.Section()
		s.Launch(&Task{name: "matrix"}, func() { ran++ })
		require.NoError(t, s.End())
		require.Equal(t, 1, ran)
		_, err := Once(p, func() (int, error) { return 1, nil })
		require.ErrorContains(t, err, "intra.Once before the first SafePoint of a restored process")

		resumed := 0
		p.safe.resumed = func() error { resumed++; return nil }
		stopped := uint64(0)
		p.safe.stop = func(point uint64) error { stopped = point; return nil }
		p.safe.due.Store(true)
		require.NoError(t, p.SafePoint())
		require.Equal(t, 1, resumed)
		require.Zero(t, stopped, "the state was taken at this safe point")
		require.Equal(t, uint64(4), p.safe.points.Load())
		require.NoError(t, p.SafePoint())
		require.Equal(t, uint64(5), stopped)
		require.Equal(t, 1, resumed)
	}
}

func TestRestoredProcessRegistersSomethingElse(t *testing.T) {
	im := saved(t)
	p := &Process{}
	p.restore(im, 1)
	var x []float64
	Protect(p, "x", &x)
	err := p.SafePoint()
	require.ErrorIs(t, err, checkpoint.ErrMismatch)
	require.ErrorContains(t, err, `saved but not registered: "i"; register it before the first SafePoint`)

	p = &Process{}
	p.restore(im, 1)
	var wrong []int32
	Protect(p, "x", &wrong)
	require.ErrorContains(t, p.SafePoint(), `safepoint_internal_test.go:87: intra.Protect("x"): the saved state does not fit the program: slice []float64`)
}

func TestSafePointStops(t *testing.T) {
	p := &Process{}
	var at []uint64
	p.safe.stop = func(point uint64) error {
		at = append(at, point)
		if point == 3 {
			return ErrRollback
		}
		return nil
	}
	require.NoError(t, p.SafePoint())
	p.safe.due.Store(true)
	require.NoError(t, p.SafePoint())
	err := p.SafePoint()
	require.True(t, errors.Is(err, ErrRollback))
	p.safe.due.Store(false)
	require.NoError(t, p.SafePoint())
	require.Equal(t, []uint64{2, 3}, at)
}
