package runtime

import (
	"math"
	"reflect"

	"github.com/intrahpc/intra/internal/replica/reduce"
)

// Op is an operator of reductions of slices: how a part is folded into what it
// is a part of, and the neutral element that a part begins with.
type Op[T any] struct {
	fold    func(v, part []T)
	neutral T
	acts    reduce.Operations // of numbers that round
}

// Number is what can be added and multiplied.
type Number interface {
	Integer | ~float32 | ~float64 | ~complex64 | ~complex128
}

// Integer is what has bits to combine.
type Integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

// Ordered is what has a smallest and a largest value.
type Ordered interface {
	Integer | ~float32 | ~float64
}

// OpAdd adds.
func OpAdd[T Number]() Op[T] {
	return Op[T]{func(v, part []T) {
		for i, x := range part {
			v[i] += x
		}
	}, negativeZero[T](), rounds[T](reduce.Adds)}
}

// OpMul multiplies.
func OpMul[T Number]() Op[T] {
	return Op[T]{func(v, part []T) {
		for i, x := range part {
			v[i] *= x
		}
	}, 1, rounds[T](reduce.Multiplies)}
}

// OpMin takes the smaller one.
func OpMin[T Ordered]() Op[T] {
	return Op[T]{func(v, part []T) {
		for i, x := range part {
			v[i] = min(v[i], x)
		}
	}, extreme[T](1), 0}
}

// OpMax takes the larger one.
func OpMax[T Ordered]() Op[T] {
	return Op[T]{func(v, part []T) {
		for i, x := range part {
			v[i] = max(v[i], x)
		}
	}, extreme[T](-1), 0}
}

// OpAnd is the logical and.
func OpAnd[T ~bool]() Op[T] {
	return Op[T]{func(v, part []T) {
		for i, x := range part {
			v[i] = v[i] && x
		}
	}, true, 0}
}

// OpOr is the logical or.
func OpOr[T ~bool]() Op[T] {
	return Op[T]{func(v, part []T) {
		for i, x := range part {
			v[i] = v[i] || x
		}
	}, false, 0}
}

// OpBitAnd is the and of bits.
func OpBitAnd[T Integer]() Op[T] {
	return Op[T]{func(v, part []T) {
		for i, x := range part {
			v[i] &= x
		}
	}, ^T(0), 0}
}

// OpBitOr is the or of bits.
func OpBitOr[T Integer]() Op[T] {
	return Op[T]{func(v, part []T) {
		for i, x := range part {
			v[i] |= x
		}
	}, 0, 0}
}

// OpBitXor is the exclusive or of bits.
func OpBitXor[T Integer]() Op[T] {
	return Op[T]{func(v, part []T) {
		for i, x := range part {
			v[i] ^= x
		}
	}, 0, 0}
}

// OpFunc folds with f, whose neutral element is the zero value of T.
func OpFunc[T any](f func(a, b T) T) Op[T] {
	return Op[T]{fold: func(v, part []T) {
		for i, x := range part {
			v[i] = f(v[i], x)
		}
	}}
}

// negativeZero is what can be added to any number without a change of a bit:
// of floating-point numbers, 0 makes 0 of -0.
func negativeZero[T Number]() (zero T) {
	switch v := reflect.ValueOf(&zero).Elem(); v.Kind() {
	case reflect.Float32, reflect.Float64:
		v.SetFloat(math.Copysign(0, -1))
	case reflect.Complex64, reflect.Complex128:
		v.SetComplex(complex(math.Copysign(0, -1), math.Copysign(0, -1)))
	}
	return zero
}

// rounds returns what acts on numbers of which sums and products depend on their order,
// and else 0.
func rounds[T Number](acts reduce.Operations) reduce.Operations {
	switch reflect.TypeFor[T]().Kind() {
	case reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return acts
	}
	return 0
}

// extreme is the largest value of T, infinity if it has one, or with sign -1
// the smallest.
func extreme[T Ordered](sign int) (x T) {
	v := reflect.ValueOf(&x).Elem()
	switch {
	case v.CanFloat():
		v.SetFloat(math.Inf(sign))
	case v.CanUint() && sign > 0:
		v.SetUint(1<<(8*v.Type().Size()-1)<<1 - 1)
	case v.CanInt():
		largest := int64(1)<<(8*v.Type().Size()-1) - 1
		if v.SetInt(largest); sign < 0 {
			v.SetInt(-largest - 1)
		}
	}
	return x
}
