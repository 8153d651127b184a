package vary

import (
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/update"
)

// TestTurnBits requires that turnBits flips only last bits of the given share of the
// numbers, and the same bits each time.
func TestTurnBits(t *testing.T) {
	type pair struct {
		N int64
		X float32
	}
	for _, share := range []float64{1e-3, 0.1, 0.5, 1} {
		disturb := func(seed uint64) ([]float64, []pair, int64) {
			in, out, pairs := ones(10000), ones(10000), make([]pair, 10000)
			for i := range pairs {
				pairs[i] = pair{7, 3}
			}
			n := turnBits([]update.Region{update.Slice(update.In, "in", in), update.Slice(update.Out, "out", out), update.Slice(update.InOut, "pairs", pairs)}, share, chance(seed, 1))
			require.Equal(t, ones(10000), in, "it is not written")
			return out, pairs, n
		}
		out, pairs, n := disturb(1)
		doubles, singles := 0, 0
		for i := range out {
			if out[i] != 1 {
				require.Equal(t, math.Float64bits(1)^1, math.Float64bits(out[i]))
				doubles++
			}
			if pairs[i].X != 3 {
				require.Equal(t, math.Float32bits(3)^1, math.Float32bits(pairs[i].X))
				singles++
			}
			require.Equal(t, int64(7), pairs[i].N)
		}
		require.Equal(t, int64(doubles+singles), n)
		for _, count := range []int{doubles, singles} { // within six standard deviations
			require.InDelta(t, 10000*share, count, 6*math.Sqrt(10000*share*(1-share)), share)
		}
		again, _, _ := disturb(1)
		require.Equal(t, out, again)
		if other, _, _ := disturb(2); share < 1 {
			require.NotEqual(t, out, other)
		}
	}
	special := []float64{0, math.Inf(1), math.NaN(), math.Inf(-1)}
	require.Zero(t, turnBits([]update.Region{update.Slice(update.Out, "", special)}, 1, chance(1)))
	require.Zero(t, special[0])
	require.Zero(t, turnBits([]update.Region{update.Slice(update.Out, "", []int{1, 2})}, 1, chance(1)))
	require.Zero(t, turnBits(nil, 1, chance(1)))
}

// TestShake requires that shake changes numbers up and down by the given relative amount.
func TestShake(t *testing.T) {
	x := append(ones(1000), 0, math.Inf(1))
	require.Equal(t, int64(1000), shake(reflect.TypeFor[float64](), memory(x), 1e-6, chance(3)))
	up := 0
	for _, v := range x[:1000] {
		require.InDelta(t, 1e-6, math.Abs(v-1), 1e-15)
		if v > 1 {
			up++
		}
	}
	require.InDelta(t, 500, up, 100)
	require.Equal(t, []float64{0, math.Inf(1)}, x[1000:])
	small := []float32{1}
	require.Zero(t, shake(reflect.TypeFor[float32](), memory(small), 1e-12, chance(3)), "that is less than its last bit")
}
