package runtime

import (
	"math"
	"reflect"

	"github.com/intrahpc/intra/internal/replica/reduce"
)

// Op is an operator of reductions of slices. It defines how a part is folded into the
// whole, and the neutral element with which a part begins.
type Op[T any] struct {
	fold    func(v, part []T)
	neutral T
	acts    reduce.Operations // operations of fold on numbers that round; 0 for other types
}

// Number is the constraint of types that can be added and multiplied.
type Number interface {
	Integer | ~float32 | ~float64 | ~complex64 | ~complex128
}

// Integer is the constraint of types whose bits can be combined.
type Integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

// Ordered is the constraint of types with a smallest and a largest value.
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

// OpMin returns the smaller value.
func OpMin[T Ordered]() Op[T] {
	return Op[T]{func(v, part []T) {
		for i, x := range part {
			v[i] = min(v[i], x)
		}
	}, extreme[T](1), 0}
}

// OpMax returns the larger value.
func OpMax[T Ordered]() Op[T] {
	return Op[T]{func(v, part []T) {
		for i, x := range part {
			v[i] = max(v[i], x)
		}
	}, extreme[T](-1), 0}
}

// OpAnd computes the logical and.
func OpAnd[T ~bool]() Op[T] {
	return Op[T]{func(v, part []T) {
		for i, x := range part {
			v[i] = v[i] && x
		}
	}, true, 0}
}

// OpOr computes the logical or.
func OpOr[T ~bool]() Op[T] {
	return Op[T]{func(v, part []T) {
		for i, x := range part {
			v[i] = v[i] || x
		}
	}, false, 0}
}

// OpBitAnd computes the bitwise and.
func OpBitAnd[T Integer]() Op[T] {
	return Op[T]{func(v, part []T) {
		for i, x := range part {
			v[i] &= x
		}
	}, ^T(0), 0}
}

// OpBitOr computes the bitwise or.
func OpBitOr[T Integer]() Op[T] {
	return Op[T]{func(v, part []T) {
		for i, x := range part {
			v[i] |= x
		}
	}, 0, 0}
}

// OpBitXor computes the bitwise exclusive or.
func OpBitXor[T Integer]() Op[T] {
	return Op[T]{func(v, part []T) {
		for i, x := range part {
			v[i] ^= x
		}
	}, 0, 0}
}

// OpFunc folds with f. Its neutral element is the zero value of T.
func OpFunc[T any](f func(a, b T) T) Op[T] {
	return Op[T]{fold: func(v, part []T) {
		for i, x := range part {
			v[i] = f(v[i], x)
		}
	}}
}

// negativeZero returns the value that can be added to any number without changing a bit.
// For floating-point numbers that is -0, because adding 0 turns -0 into 0.
func negativeZero[T Number]() (zero T) {
	switch v := reflect.ValueOf(&zero).Elem(); v.Kind() {
	case reflect.Float32, reflect.Float64:
		v.SetFloat(math.Copysign(0, -1))
	case reflect.Complex64, reflect.Complex128:
		v.SetComplex(complex(math.Copysign(0, -1), math.Copysign(0, -1)))
	}
	return zero
}

// rounds returns acts for types whose sums and products depend on the order of operands,
// and 0 for all others.
func rounds[T Number](acts reduce.Operations) reduce.Operations {
	switch reflect.TypeFor[T]().Kind() {
	case reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return acts
	}
	return 0
}

// extreme returns the largest value of T, which is infinity for floating-point types. If
// sign is -1 it returns the smallest value.
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
