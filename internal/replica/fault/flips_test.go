package fault

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/update"
)

func TestFlips(t *testing.T) {
	x, y, z := make([]byte, 3), make([]byte, 2), make([]byte, 4)
	regions := []update.Region{update.Slice(update.Out, "x", x), update.Slice(update.In, "y", y), update.Slice(update.InOut, "z", z)}
	f := NewFlips([]job.Flip{{Point: job.FlipTask, Count: 1, Bit: 25}, {Point: job.FlipTask, Count: 2, Bit: job.AnyBit}, {Point: job.FlipTask, Count: 4, Bit: 56}})
	ran := func(want bool) {
		flipped, err := f.Ran(regions)
		require.NoError(t, err)
		require.Equal(t, want, flipped)
	}
	ran(false)
	ran(true)
	require.Equal(t, []byte{2, 0, 0, 0}, z, "the bits of in regions are not counted")
	ran(true)
	require.Len(t, f.Fired(), 2)
	ran(false)
	_, err := f.Ran(regions)
	require.ErrorContains(t, err, "@task:4:56: what that task writes has 56 bits")
	require.Equal(t, make([]byte, 2), y)
	require.Nil(t, NewFlips(nil))
}

// Bits of the state are counted across all of its variables.
func TestFlipsOfState(t *testing.T) {
	x, y := make([]byte, 3), make([]byte, 2)
	f := NewFlips([]job.Flip{{Point: job.FlipState, Count: 1, Bit: 25}, {Point: job.FlipState, Count: 1, Bit: 3}, {Point: job.FlipState, Count: 2, Bit: 40}, {Point: job.FlipState, Count: 3, Bit: job.AnyBit}})
	passed := func(want bool) {
		flipped, err := f.Passed([][]byte{x, y})
		require.NoError(t, err)
		require.Equal(t, want, flipped)
	}
	passed(false)
	passed(true)
	require.Equal(t, []byte{8, 0, 0}, x)
	require.Equal(t, []byte{2, 0}, y)
	_, err := f.Passed([][]byte{x, y})
	require.ErrorContains(t, err, "@state:2:40: the registered state has 40 bits")
	passed(true)
	require.Len(t, f.Fired(), 3)
	_, err = NewFlips([]job.Flip{{Point: job.FlipState, Bit: job.AnyBit}}).Passed(nil)
	require.ErrorContains(t, err, "the registered state has 0 bits")
}

// A received update is changed in place if its memory belongs to the process, otherwise in
// a copy.
func TestFlipsOfUpdates(t *testing.T) {
	f := NewFlips([]job.Flip{{Point: job.FlipUpdate, Count: 1, Bit: 9}, {Point: job.FlipUpdate, Count: 2, Bit: 0}, {Point: job.FlipMessage, Bit: 0}, {Point: job.FlipUpdate, Count: 3, Bit: 16}})
	came := func(own, want bool) (before, after []byte) {
		before = make([]byte, 2)
		after, flipped, err := f.Came(before, own)
		require.NoError(t, err)
		require.Equal(t, want, flipped)
		return before, after
	}
	_, after := came(true, false)
	require.Equal(t, []byte{0, 0}, after)
	before, after := came(true, true)
	require.Equal(t, []byte{0, 2}, before)
	require.Equal(t, []byte{0, 2}, after)
	before, after = came(false, true)
	require.Equal(t, []byte{0, 0}, before)
	require.Equal(t, []byte{1, 0}, after)
	_, _, err := f.Came(before, true)
	require.ErrorContains(t, err, "@update:3:16: that update has 16 bits")
	require.Len(t, f.Fired(), 2)
}

func TestDefect(t *testing.T) {
	x := make([]byte, 8)
	f := NewFlips([]job.Flip{{Point: job.FlipTask, Bit: job.AnyBit, Rate: 0.1}})
	n := 0
	for range 10_000 {
		clear(x)
		flipped, err := f.Ran([]update.Region{update.Slice(update.Out, "x", x)})
		require.NoError(t, err)
		ones := 0
		for _, b := range x {
			ones += bits.OnesCount8(b)
		}
		if flipped {
			n++
		}
		require.Equal(t, flipped, ones == 1)
	}
	require.InDelta(t, 1000, n, 150)
}
