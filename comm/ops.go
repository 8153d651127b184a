package comm

import "cmp"

// Number is the constraint of Sum and Prod.
type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 |
		~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr |
		~float32 | ~float64 | ~complex64 | ~complex128
}

// Sum returns a+b.
func Sum[T Number](a, b T) T { return a + b }

// Prod returns a*b.
func Prod[T Number](a, b T) T { return a * b }

// Min returns the smaller of a and b, or NaN if one of them is NaN.
func Min[T cmp.Ordered](a, b T) T { return min(a, b) }

// Max returns the larger of a and b, or NaN if one of them is NaN.
func Max[T cmp.Ordered](a, b T) T { return max(a, b) }

// combiner applies an operator to elements: into[i] = op(low[i], high[i]), where low comes
// from lower ranks than high. into may be low or high.
type combiner interface {
	combine(into, low, high []byte)
}

// operator is a combiner for elements of type T. As a func, it can be stored in a combiner
// without an allocation.
type operator[T any] func(a, b T) T

func (op operator[T]) combine(into, low, high []byte) {
	r, a, b := elementsOf[T](into), elementsOf[T](low), elementsOf[T](high)
	if len(r) >= leastLoop {
		if loop := loopOf(op); loop != nil {
			loop(r, a, b)
			return
		}
	}
	for i := range r {
		r[i] = op(a[i], b[i])
	}
}
