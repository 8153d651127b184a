package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/klauspost/cpuid/v2"

	"github.com/intrahpc/intra/kernels"
	"github.com/intrahpc/intra/kernels/internal/simd"
)

// Options of a measurement. Empty lists mean all.
type Options struct {
	Rounds  int
	Kernels []string
	Paths   []string
	Sizes   []string
	Elems   []string
	// Before is called before each round, with the name of the measurement and the number
	// of the round from 0. It may be nil.
	Before func(what string, round int)
}

func chosen(list []string, name string) bool {
	return len(list) == 0 || slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, name) })
}

// Sizes lists the names of the sizes.
func Sizes() []string { return []string{"L1", "L2", "L3", "DRAM"} }

// vectorBytes returns a size for vectors such that four of them fit into the given cache, but not
// into the next smaller one.
func vectorBytes(size string) int {
	l1, l2, l3 := cpuid.CPU.Cache.L1D, cpuid.CPU.Cache.L2, cpuid.CPU.Cache.L3
	if l1 <= 0 {
		l1 = 32 << 10
	}
	if l2 <= 0 {
		l2 = 1 << 20
	}
	if l3 <= 0 {
		l3 = 32 << 20
	}
	switch size {
	case "L1":
		return l1 / 6
	case "L2":
		return l2 / 6
	case "L3":
		return min(max(l3/12, l2), 8<<20)
	default:
		return max(2*l3, 64<<20)
	}
}

// Vectors measures the vector kernels.
func Vectors(ctx context.Context, o Options) ([]Result, error) {
	var all []Result
	for _, size := range Sizes() {
		if !chosen(o.Sizes, size) {
			continue
		}
		for _, f := range []func(context.Context, Options, string) ([]Result, error){vectors[float64], vectors[float32]} {
			r, err := f(ctx, o, size)
			if err != nil {
				return nil, fmt.Errorf("measuring %s: %w", size, err)
			}
			all = append(all, r...)
		}
	}
	return all, nil
}

// vectorSet holds the operands of the kernels.
type vectorSet[T kernels.Float] struct {
	alpha, beta, sink T
	x, y, w           []T
}

// vectorKernel is a kernel: the number of vectors that it reads and writes, how it runs,
// and the plain Go loop that a program would otherwise contain.
type vectorKernel[T kernels.Float] struct {
	name          string
	reads, writes int
	run           func(k *simd.Ops[T], v *vectorSet[T])
	plain         func(v *vectorSet[T])
}

func vectorKernels[T kernels.Float]() []vectorKernel[T] {
	type ops = *simd.Ops[T]
	type set = *vectorSet[T]
	return []vectorKernel[T]{
		{"Waxpby", 2, 1, func(k ops, v set) { k.Waxpby(v.alpha, v.x, v.beta, v.y, v.w) }, plainWaxpby[T]},
		{"WaxpbyNT", 2, 1, func(k ops, v set) { k.WaxpbyNT(v.alpha, v.x, v.beta, v.y, v.w) }, nil},
		{"Xpby", 2, 1, func(k ops, v set) { k.Xpby(v.x, v.beta, v.y, v.w) }, plainXpby[T]},
		{"XpbyNT", 2, 1, func(k ops, v set) { k.XpbyNT(v.x, v.beta, v.y, v.w) }, nil},
		{"Axpy", 2, 1, func(k ops, v set) { k.Xpby(v.w, v.alpha, v.x, v.w) }, plainAxpy[T]},
		{"WaxpbyDot", 2, 1, func(k ops, v set) { v.sink += k.WaxpbyDot(v.alpha, v.x, v.beta, v.y, v.w) }, plainWaxpbyDot[T]},
		{"Scale", 1, 1, func(k ops, v set) { k.Scale(v.alpha, v.x, v.w) }, plainScale[T]},
		{"Copy", 1, 1, func(_ ops, v set) { copy(v.w, v.x) }, plainCopy[T]},
		{"CopyNT", 1, 1, func(k ops, v set) { k.CopyNT(v.x, v.w) }, nil},
		{"Dot", 2, 0, func(k ops, v set) { v.sink += k.Dot(v.x, v.y) }, plainDot[T]},
		{"Sum", 1, 0, func(k ops, v set) { v.sink += k.Sum(v.x) }, plainSum[T]},
	}
}

func vectors[T kernels.Float](ctx context.Context, o Options, size string) ([]Result, error) {
	var zero T
	elem := fmt.Sprintf("%T", zero)
	if !chosen(o.Elems, elem) {
		return nil, nil
	}
	n := vectorBytes(size) / (256 / simd.Lanes[T]())
	v := newVectorSet[T](n)
	var variants []Variant
	add := func(k vectorKernel[T], path string, run func()) {
		bytes := int64(n) * int64(256/simd.Lanes[T]())
		variants = append(variants, Variant{
			Kernel: k.name, Elem: elem, Path: path, Size: size, N: n, Bytes: int64(k.reads+k.writes) * bytes,
			// Writing a vector costs as much as a copy: the copy includes one read.
			limit: func(ref reference) float64 {
				return float64(bytes) * (float64(max(k.reads-k.writes, 0))*ref.read + float64(k.writes)*2*ref.copy)
			},
			run: run,
		})
	}
	for _, k := range vectorKernels[T]() {
		if !chosen(o.Kernels, k.name) {
			continue
		}
		if k.plain != nil {
			add(k, Plain, func() { k.plain(v) })
		}
		for _, p := range simd.Paths() {
			if ops := simd.Of[T](p); chosen(o.Paths, p.Name) {
				add(k, p.Name, func() { k.run(ops, v) })
			}
		}
	}
	// The bandwidth of the memory is measured in the same rounds.
	chosenOnes := len(variants)
	best := simd.Of[T](simd.Paths()[0])
	bytes := int64(n) * int64(256/simd.Lanes[T]())
	variants = append(variants,
		Variant{Kernel: "read", Bytes: bytes, run: func() { v.sink += best.Sum(v.x) }},
		Variant{Kernel: "copy", Bytes: 2 * bytes, run: func() { copy(v.w, v.x) }},
		Variant{Kernel: "copy", Bytes: 2 * bytes, run: func() { best.CopyNT(v.x, v.w) }})
	results, err := measure(ctx, variants, o, elem+", "+size)
	if err != nil {
		return nil, err
	}
	refs := results[chosenOnes:]
	compare(results[:chosenOnes], func(round int) reference {
		return reference{
			read: refs[0].Seconds[round] / float64(bytes),
			copy: min(refs[1].Seconds[round], refs[2].Seconds[round]) / float64(2*bytes),
		}
	})
	return results[:chosenOnes], nil
}

func newVectorSet[T kernels.Float](n int) *vectorSet[T] {
	v := &vectorSet[T]{alpha: 0.9, beta: -0.3}
	for _, s := range []*[]T{&v.x, &v.y, &v.w} {
		*s = kernels.Alloc[T](n)
		for i := range *s {
			(*s)[i] = T(i%31) / 7
		}
	}
	return v
}
