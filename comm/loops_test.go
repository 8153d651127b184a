package comm

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// The operators of this package have loops for the usual types. A function that wraps an
// operator has no loop. Operators of other types have none either.
func TestLoops(t *testing.T) {
	require.NotNil(t, loopOf(Sum[float64]))
	require.NotNil(t, loopOf(Prod[float32]))
	require.NotNil(t, loopOf(Min[int]))
	require.NotNil(t, loopOf(Max[uint64]))
	require.Nil(t, loopOf(func(a, b float64) float64 { return Sum(a, b) }))
	require.Nil(t, loopOf(Sum[complex128]))
	type own float64
	require.Nil(t, loopOf(Sum[own]))
}

// A loop computes the same bits as its operator, even if the result overwrites an argument.
func TestLoopsHaveTheBitsOfTheirOperators(t *testing.T) {
	odd := []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64, math.SmallestNonzeroFloat64, 1.0 / 3}
	for name, op := range map[string]func(a, b float64) float64{"sum": Sum[float64], "prod": Prod[float64], "min": Min[float64], "max": Max[float64]} {
		t.Run(name, func(t *testing.T) {
			loop := loopOf(op)
			require.NotNil(t, loop)
			for shift := range odd {
				low, high := make([]float64, len(odd)), make([]float64, len(odd))
				want := make([]uint64, len(odd))
				for i := range odd {
					low[i], high[i] = odd[i], odd[(i+shift)%len(odd)]
					want[i] = math.Float64bits(op(low[i], high[i]))
				}
				into := low
				if shift%2 == 1 {
					into = high
				}
				loop(into, low, high)
				for i := range into {
					require.Equal(t, want[i], math.Float64bits(into[i]), "%v and %v", odd[i], odd[(i+shift)%len(odd)])
				}
			}
		})
	}
}
