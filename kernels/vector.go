package kernels

import (
	"fmt"
	"math"

	"github.com/intrahpc/intra/kernels/internal/simd"
)

// Float are the element types of the kernels.
type Float interface{ float32 | float64 }

// Path returns the name of the path in use: "avx512", "avx2" or "go".
func Path() string { return simd.Active().Name }

func active[T Float]() *simd.Ops[T] { return simd.Of[T](simd.Active()) }

// same panics unless all lengths are equal to n.
func same(n int, others ...int) {
	for _, m := range others {
		if m != n {
			panic(fmt.Sprintf("kernels: slices of %d and %d elements", n, m))
		}
	}
}

// Waxpby sets w = alpha*x + beta*y. If w does not fit into the caches, Waxpby bypasses them
// with non-temporal stores, unless w is x or y.
func Waxpby[T Float](alpha T, x []T, beta T, y, w []T) {
	same(len(w), len(x), len(y))
	k := active[T]()
	waxpby, xpby := k.Waxpby, k.Xpby
	if bytesOf(w) >= simd.StreamBytes && &w[0] != &x[0] && &w[0] != &y[0] {
		waxpby, xpby = k.WaxpbyNT, k.XpbyNT
	}
	switch {
	case alpha == 1:
		xpby(x, beta, y, w)
	case beta == 1:
		xpby(y, alpha, x, w)
	default:
		waxpby(alpha, x, beta, y, w)
	}
}

// WaxpbyDot sets w = alpha*x + beta*y and returns Dot(w, w), in one pass.
func WaxpbyDot[T Float](alpha T, x []T, beta T, y, w []T) T {
	same(len(w), len(x), len(y))
	switch k := active[T](); {
	case alpha == 1:
		return k.XpbyDot(x, beta, y, w)
	case beta == 1:
		return k.XpbyDot(y, alpha, x, w)
	default:
		return k.WaxpbyDot(alpha, x, beta, y, w)
	}
}

// Axpy adds alpha*x to y.
func Axpy[T Float](alpha T, x, y []T) {
	same(len(y), len(x))
	active[T]().Xpby(y, alpha, x, y)
}

// Scale sets w = alpha*x.
func Scale[T Float](alpha T, x, w []T) {
	same(len(w), len(x))
	active[T]().Scale(alpha, x, w)
}

// CopyNT sets w = x with non-temporal stores, for copies that are not read again soon.
// The slices must not overlap.
func CopyNT[T Float](x, w []T) {
	same(len(w), len(x))
	active[T]().CopyNT(x, w)
}

// CopyNTPart is like CopyNT, for a part of a copy. It does not wait until the stores reach
// memory, so other threads may not see the part yet. The last part must be copied by
// CopyNT, which makes all parts visible.
func CopyNTPart[T Float](x, w []T) {
	same(len(w), len(x))
	active[T]().CopyNTPart(x, w)
}

// Dot returns the sum of x[i]*y[i].
func Dot[T Float](x, y []T) T {
	same(len(y), len(x))
	return active[T]().Dot(x, y)
}

// Sum returns the sum of x.
func Sum[T Float](x []T) T { return active[T]().Sum(x) }

// Norm2 returns the square root of Dot(x, x). It does not scale: squares that
// overflow give +Inf.
func Norm2[T Float](x []T) T {
	// The root of a float32, computed as float64 and then rounded, is correctly rounded.
	return T(math.Sqrt(float64(active[T]().Dot(x, x))))
}
