package simd

import "math"

// The oracles compute the results of the kernels in the simplest way.

func oracleWaxpby[T Float](alpha T, x []T, beta T, y []T) []T {
	w := make([]T, len(x))
	for i := range x {
		a := T(alpha * x[i])
		b := T(beta * y[i])
		w[i] = oracleNaN(T(a + b))
	}
	return w
}

func oracleDot[T Float](x, y []T) T {
	terms := make([]T, len(x))
	for i := range x {
		terms[i] = T(x[i] * y[i])
	}
	return oracleSum(terms)
}

func oracleSum[T Float](x []T) T {
	lanes := 32
	if _, ok := any(x).([]float32); ok {
		lanes = 64
	}
	partial := make([]T, lanes)
	for i := range x {
		partial[i%lanes] = T(partial[i%lanes] + x[i])
	}
	for len(partial) > 1 {
		half := len(partial) / 2
		for i := range half {
			partial[i] = T(partial[i] + partial[half+i])
		}
		partial = partial[:half]
	}
	return oracleNaN(partial[0])
}

func oracleNaN[T Float](v T) T {
	if !math.IsNaN(float64(v)) {
		return v
	}
	switch p := any(&v).(type) {
	case *float64:
		*p = math.Float64frombits(0xfff8000000000000)
	case *float32:
		*p = math.Float32frombits(0xffc00000)
	}
	return v
}

// bits returns the bits of all values, so that NaNs can be compared.
func bits[T Float](s []T) []uint64 {
	b := make([]uint64, len(s))
	for i, v := range s {
		switch v := any(v).(type) {
		case float64:
			b[i] = math.Float64bits(v)
		case float32:
			b[i] = uint64(math.Float32bits(v))
		}
	}
	return b
}
