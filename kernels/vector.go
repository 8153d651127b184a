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

// same panics unless all lengths are n.
func same(n int, others ...int) {
	for _, m := range others {
		if m != n {
			panic(fmt.Sprintf("kernels: slices of %d and %d elements", n, m))
		}
	}
}

// Waxpby sets w = alpha*x + beta*y. A result that no cache can hold is stored
// as WaxpbyNT does; the caller knows better when a long vector is cut in pieces.
func Waxpby[T Float](alpha T, x []T, beta T, y, w []T) {
	same(len(w), len(x), len(y))
	if bytesOf(w) >= simd.StreamBytes && &w[0] != &x[0] && &w[0] != &y[0] {
		WaxpbyNT(alpha, x, beta, y, w)
		return
	}
	switch k := active[T](); {
	case alpha == 1:
		k.Xpby(x, beta, y, w)
	case beta == 1:
		k.Xpby(y, alpha, x, w)
	default:
		k.Waxpby(alpha, x, beta, y, w)
	}
}

// WaxpbyNT is Waxpby with non-temporal stores: w goes to memory past the
// caches. It is faster when w is not read again before it would leave the
// caches anyway and is neither x nor y, and slower otherwise.
func WaxpbyNT[T Float](alpha T, x []T, beta T, y, w []T) {
	same(len(w), len(x), len(y))
	switch k := active[T](); {
	case alpha == 1:
		k.XpbyNT(x, beta, y, w)
	case beta == 1:
		k.XpbyNT(y, alpha, x, w)
	default:
		k.WaxpbyNT(alpha, x, beta, y, w)
	}
}

// WaxpbyTo is Waxpby that writes its result to w and to second, such as a
// message buffer, in one pass.
func WaxpbyTo[T Float](alpha T, x []T, beta T, y, w, second []T) {
	same(len(w), len(x), len(y), len(second))
	switch k := active[T](); {
	case alpha == 1:
		k.XpbyTo(x, beta, y, w, second)
	case beta == 1:
		k.XpbyTo(y, alpha, x, w, second)
	default:
		k.WaxpbyTo(alpha, x, beta, y, w, second)
	}
}

// WaxpbyToNT is WaxpbyTo with non-temporal stores to w and ordinary ones to
// second.
func WaxpbyToNT[T Float](alpha T, x []T, beta T, y, w, second []T) {
	same(len(w), len(x), len(y), len(second))
	switch k := active[T](); {
	case alpha == 1:
		k.XpbyToNT(x, beta, y, w, second)
	case beta == 1:
		k.XpbyToNT(y, alpha, x, w, second)
	default:
		k.WaxpbyToNT(alpha, x, beta, y, w, second)
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

// Copy sets w = x. The slices may overlap in any way.
func Copy[T Float](x, w []T) {
	same(len(w), len(x))
	copy(w, x)
}

// CopyNT is Copy with non-temporal stores, for copies that are not read
// again soon. The slices must not overlap.
func CopyNT[T Float](x, w []T) {
	same(len(w), len(x))
	active[T]().CopyNT(x, w)
}

// CopyNTPart is CopyNT for a part of a copy, the last part of which CopyNT makes.
// Until then other threads may not see it, which saves waiting for memory.
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
	// A float32's root, taken as float64 and rounded, is rounded correctly.
	return T(math.Sqrt(float64(active[T]().Dot(x, x))))
}

// AbsMax returns the largest |x[i]|, 0 for an empty x and NaN if there is one.
func AbsMax[T Float](x []T) T { return active[T]().AbsMax(x) }
