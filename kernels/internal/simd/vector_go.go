package simd

import (
	"math"
	"unsafe"
)

// goPath is the plain Go form of every kernel: the fallback, and the reference for the
// assembly. Explicit conversions round the products, because without them the compiler may
// fuse x*y + z.
var goPath = Path{Name: "go", F64: goOps[float64](), F32: goOps[float32]()}

func goOps[T Float]() Ops[T] {
	return Ops[T]{
		Waxpby: waxpby[T], Xpby: xpby[T],
		WaxpbyNT: waxpby[T], XpbyNT: xpby[T],
		Scale: scale[T], CopyNT: copySlice[T], CopyNTPart: copySlice[T],
		Dot: dot[T], Sum: sum[T],
		WaxpbyDot: func(alpha T, x []T, beta T, y, w []T) T {
			waxpby(alpha, x, beta, y, w)
			return dot(w, w)
		},
		XpbyDot: func(x []T, beta T, y, w []T) T {
			xpby(x, beta, y, w)
			return dot(w, w)
		},
		CSR32: csr[T, int32], CSR64: csr[T, int64], CSRAdd32: csrAdd[T, int32],
		Diag: diag[T], Sell: sell[T], Lower: lower[T], Upper: upper[T],
	}
}

func is64[T Float]() bool { return unsafe.Sizeof(T(0)) == 8 }

// Canonical returns v, or the canonical NaN if v is a NaN. The NaN that an operation
// returns depends on the CPU and on the order of its operands, which compilers may change.
func Canonical[T Float](v T) T {
	if v != v {
		return nan[T]()
	}
	return v
}

func nan[T Float]() T {
	if is64[T]() {
		return T(math.Float64frombits(0xfff8_0000_0000_0000))
	}
	return T(math.Float32frombits(0xffc0_0000))
}

func waxpby[T Float](alpha T, x []T, beta T, y, w []T) {
	x, y = x[:len(w)], y[:len(w)]
	for i := range w {
		w[i] = Canonical(T(alpha*x[i]) + T(beta*y[i]))
	}
}

func xpby[T Float](x []T, beta T, y, w []T) {
	x, y = x[:len(w)], y[:len(w)]
	for i := range w {
		w[i] = Canonical(x[i] + T(beta*y[i]))
	}
}

func scale[T Float](alpha T, x, w []T) {
	x = x[:len(w)]
	for i := range w {
		w[i] = Canonical(T(alpha * x[i]))
	}
}

func dot[T Float](x, y []T) T {
	var lane [64]T
	L := Lanes[T]()
	y = y[:len(x)]
	n := len(x) &^ (L - 1)
	for i := 0; i < n; i += 8 {
		l, a, b := (*[8]T)(lane[i&(L-1):]), (*[8]T)(x[i:]), (*[8]T)(y[i:])
		l[0] += T(a[0] * b[0])
		l[1] += T(a[1] * b[1])
		l[2] += T(a[2] * b[2])
		l[3] += T(a[3] * b[3])
		l[4] += T(a[4] * b[4])
		l[5] += T(a[5] * b[5])
		l[6] += T(a[6] * b[6])
		l[7] += T(a[7] * b[7])
	}
	for i := n; i < len(x); i++ {
		lane[i-n] += T(x[i] * y[i])
	}
	return tree(lane[:L])
}

func sum[T Float](x []T) T {
	var lane [64]T
	L := Lanes[T]()
	n := len(x) &^ (L - 1)
	for i := 0; i < n; i += 8 {
		l, a := (*[8]T)(lane[i&(L-1):]), (*[8]T)(x[i:])
		l[0] += a[0]
		l[1] += a[1]
		l[2] += a[2]
		l[3] += a[3]
		l[4] += a[4]
		l[5] += a[5]
		l[6] += a[6]
		l[7] += a[7]
	}
	for i := n; i < len(x); i++ {
		lane[i-n] += x[i]
	}
	return tree(lane[:L])
}

// tree adds the upper half of the lanes to the lower half until one lane is left.
func tree[T Float](lane []T) T {
	for h := len(lane) / 2; h > 0; h /= 2 {
		for i := range h {
			lane[i] += lane[i+h]
		}
	}
	return Canonical(lane[0])
}

func copySlice[T Float](x, w []T) { copy(w, x) }
