package vary

import (
	"math"
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/update"
)

func memory[T any](s []T) []byte { return update.Slice(update.Out, "", s).Mem }

func differ[T any](x0, x []T) Difference {
	return compare(reflect.TypeFor[T](), memory(x0), memory(x))
}

// TestDigits compares values with known differences in known places.
func TestDigits(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	all := 53 * math.Log10(2)
	for name, c := range map[string]struct {
		d            Difference
		digits, mean float64
	}{
		"same":                   {differ([]float64{1, 2}, []float64{1, 2}), all, all},
		"same zeros":             {differ([]float64{0, 0}, []float64{0, math.Copysign(0, -1)}), all, all},
		"one of 1000":            {differ([]float64{1000, 1}, []float64{1000, 2}), 3, 3},
		"all by 1e-5":            {differ([]float64{1, -1, 1, 1}, []float64{1 + 1e-5, -1 + 1e-5, 1 - 1e-5, 1 + 1e-5}), 5, 5},
		"one by 1e-4 of 100":     {differ(ones(100), append(ones(99), 1+1e-4)), 4, 5},
		"the last bit":           {differ([]float64{1}, []float64{math.Nextafter(1, 2)}), 52 * math.Log10(2), 52 * math.Log10(2)},
		"more than itself":       {differ([]float64{1}, []float64{-5}), 0, 0},
		"from zero":              {differ([]float64{0}, []float64{1e-300}), 0, 0},
		"largest":                {differ([]float64{math.MaxFloat64}, []float64{-math.MaxFloat64}), 0, 0},
		"squares that overflow":  {differ([]float64{1e300, 1e300}, []float64{1e300 * (1 + 1e-6), 1e300 * (1 - 1e-6)}), 6, 6},
		"squares that underflow": {differ([]float64{1e-300, 1e-300}, []float64{1e-300 * (1 + 1e-6), 1e-300 * (1 - 1e-6)}), 6, 6},
		"float32":                {differ([]float32{1, 1}, []float32{1, 1}), 24 * math.Log10(2), 24 * math.Log10(2)},
		"float32 by 1e-3":        {differ([]float32{1, 1}, []float32{1.001, 0.999}), 3, 3},
		"complex":                {differ([]complex128{3 + 4i}, []complex128{3 + 4.0004i}), 4, 4.097},
		"both no numbers":        {differ([]float64{nan, inf, -inf, 1}, []float64{nan, inf, -inf, 1}), all, all},
		"no number":              {differ([]float64{1, 2}, []float64{nan, 2}), 0, 0},
		"infinite":               {differ([]float64{inf, 2}, []float64{5, 2}), 0, 0},
		"infinite elsewhere":     {differ([]float64{inf}, []float64{-inf}), 0, 0},
		"other size":             {differ([]float64{1, 2}, []float64{1}), 0, 0},
		"array":                  {differ([][2]float64{{1, 2}}, [][2]float64{{1, 2.002}}), 3, 3.0485},
	} {
		require.InDelta(t, c.digits, c.d.Digits(), 1e-3, name)
		require.InDelta(t, c.mean, c.d.MeanDigits(), 1e-3, name)
	}
	require.Equal(t, int64(2), ptr(differ([]float64{1, nan, 3}, []float64{nan, nan, inf})).Unlike)
	require.True(t, ptr(differ([]float64{nan}, []float64{nan})).Same())
	require.False(t, ptr(differ([]float64{1}, []float64{1.5})).Same())
}

func ptr[T any](x T) *T { return &x }

func ones(n int) []float64 {
	s := make([]float64, n)
	for i := range s {
		s[i] = 1
	}
	return s
}

// TestStructs compares values of different kinds next to each other, and no padding.
func TestStructs(t *testing.T) {
	type cell struct {
		Kind   uint8 // the compiler adds padding after it
		Weight float64
		At     [2]float32
		Count  int32
		_      int32
	}
	a := []cell{{1, 10, [2]float32{1, 2}, 5, 0}, {1, 20, [2]float32{3, 4}, 6, 0}}
	b := []cell{{1, 10, [2]float32{1, 2}, 7, 0}, {2, 20.02, [2]float32{3, 4}, 6, 0}}
	*(*byte)(unsafe.Add(unsafe.Pointer(&b[0]), 3)) = 99
	d := differ(a, b)
	require.Equal(t, int64(6), d.Numbers)
	require.Equal(t, int64(2), d.Others)
	require.False(t, d.Single)
	require.InDelta(t, 3, d.Digits(), 1e-3)

	d = differ([]int{1, 2, 3}, []int{1, 5, 6})
	require.Equal(t, int64(2), d.Others)
	require.Zero(t, d.Numbers)
	d = compare(nil, []byte("what was"), []byte("what is."))
	require.Equal(t, int64(3), d.Others, "as and s.")
}

// TestParts adds the differences of the parts of two ranks. The sum equals the difference
// of one rank with the whole variable.
func TestParts(t *testing.T) {
	x0 := []float64{1, 2, 3, 1e6, 5, 0, 0, -8}
	x := []float64{1, 2.5, 3, 1e6 + 1, 5, 0, 1e-9, -8}
	whole := differ(x0, x)
	for at := range len(x0) + 1 {
		var sum Difference
		sum.Add(differ(x0[:at], x[:at]))
		sum.Add(differ(x0[at:], x[at:]))
		require.Equal(t, whole.Digits(), sum.Digits(), at)
		require.InDelta(t, whole.MeanDigits(), sum.MeanDigits(), 1e-9, at)
		require.Equal(t, whole.Numbers, sum.Numbers)
	}
	single := differ([]float32{1}, []float32{1})
	single.Add(differ([]float64{1}, []float64{1}))
	require.False(t, single.Single, "some have the digits of a float64")
}
