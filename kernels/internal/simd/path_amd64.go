//go:build amd64 && !purego

package simd

import "github.com/klauspost/cpuid/v2"

// native returns the assembly paths that this CPU and its operating system support, fastest
// first.
func native() []*Path {
	var paths []*Path
	if cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512DQ, cpuid.AVX512VL, cpuid.AVX2, cpuid.BMI2) {
		paths = append(paths, &avx512Path)
	}
	if cpuid.CPU.Supports(cpuid.AVX2, cpuid.BMI2) {
		paths = append(paths, &avx2Path)
	}
	return paths
}

// matrixAhead and vectorAhead are the distances in bytes at which the kernels prefetch a
// matrix and vectors. The results do not depend on them.
var matrixAhead, vectorAhead = distances(cpuid.CPU.VendorID)

// distances returns matrixAhead and vectorAhead for CPUs of a vendor. Prefetching makes
// Intel CPUs faster by up to a third on large arrays. AMD CPUs detect the pattern by
// themselves, and prefetching makes them slower by as much: for them the distance is 0.
func distances(vendor cpuid.Vendor) (matrix, vector int) {
	if vendor == cpuid.AMD || vendor == cpuid.Hygon {
		return 0, 0
	}
	return 8192, 2048
}

var avx512Path = Path{
	Name: "avx512",
	F64: Ops[float64]{
		Waxpby: waxpby64AVX512, Xpby: xpby64AVX512,
		WaxpbyNT: waxpbyNT64AVX512, XpbyNT: xpbyNT64AVX512,
		Scale: scale64AVX512, CopyNT: copyNT64AVX512, CopyNTPart: copyNTPart64AVX512,
		Dot: dot64AVX512, Sum: sum64AVX512,
		WaxpbyDot: waxpbyDot64AVX512, XpbyDot: xpbyDot64AVX512,
		CSR32: csrInt32Float64AVX2, CSR64: csrInt64Float64AVX2, CSRAdd32: csrAddInt32Float64AVX2,
		Diag: diag64AVX2, Sell: sell64AVX2, Lower: lower64AVX2, Upper: upper64AVX2,
	},
	F32: Ops[float32]{
		Waxpby: waxpby32AVX512, Xpby: xpby32AVX512,
		WaxpbyNT: waxpbyNT32AVX512, XpbyNT: xpbyNT32AVX512,
		Scale: scale32AVX512, CopyNT: copyNT32AVX512, CopyNTPart: copyNTPart32AVX512,
		Dot: dot32AVX512, Sum: sum32AVX512,
		WaxpbyDot: waxpbyDot32AVX512, XpbyDot: xpbyDot32AVX512,
		CSR32: csrInt32Float32AVX2, CSR64: csrInt64Float32AVX2, CSRAdd32: csrAddInt32Float32AVX2,
		Diag: diag32AVX2, Sell: sell32AVX2, Lower: lower32AVX2, Upper: upper32AVX2,
	},
}

var avx2Path = Path{
	Name: "avx2",
	F64: Ops[float64]{
		Waxpby: waxpby64AVX2, Xpby: xpby64AVX2,
		WaxpbyNT: waxpbyNT64AVX2, XpbyNT: xpbyNT64AVX2,
		Scale: scale64AVX2, CopyNT: copyNT64AVX2, CopyNTPart: copyNTPart64AVX2,
		Dot: dot64AVX2, Sum: sum64AVX2,
		WaxpbyDot: waxpbyDot64AVX2, XpbyDot: xpbyDot64AVX2,
		CSR32: csrInt32Float64AVX2, CSR64: csrInt64Float64AVX2, CSRAdd32: csrAddInt32Float64AVX2,
		Diag: diag64AVX2, Sell: sell64AVX2, Lower: lower64AVX2, Upper: upper64AVX2,
	},
	F32: Ops[float32]{
		Waxpby: waxpby32AVX2, Xpby: xpby32AVX2,
		WaxpbyNT: waxpbyNT32AVX2, XpbyNT: xpbyNT32AVX2,
		Scale: scale32AVX2, CopyNT: copyNT32AVX2, CopyNTPart: copyNTPart32AVX2,
		Dot: dot32AVX2, Sum: sum32AVX2,
		WaxpbyDot: waxpbyDot32AVX2, XpbyDot: xpbyDot32AVX2,
		CSR32: csrInt32Float32AVX2, CSR64: csrInt64Float32AVX2, CSRAdd32: csrAddInt32Float32AVX2,
		Diag: diag32AVX2, Sell: sell32AVX2, Lower: lower32AVX2, Upper: upper32AVX2,
	},
}
