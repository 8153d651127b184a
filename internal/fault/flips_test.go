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
