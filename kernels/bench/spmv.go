package bench

import (
	"context"
	"fmt"
	"slices"

	"github.com/intrahpc/intra/kernels"
	"github.com/intrahpc/intra/kernels/internal/bridge"
	"github.com/intrahpc/intra/kernels/internal/simd"
	"github.com/intrahpc/intra/kernels/matrix"
)

// SpMV measures the product of a matrix in every format, on every path. It also measures
// SpMVDot, the product together with the inner product of both vectors. If every row has an
// entry on the diagonal, it measures the two triangular solves of symmetric Gauss-Seidel as
// well.
func SpMV(ctx context.Context, name string, a *matrix.CSR, o Options) ([]Result, error) {
	rows, cols := a.Dims()
	ptr, col, val := a.Arrays()
	sliced, err := kernels.Slice(a)
	if err != nil {
		return nil, fmt.Errorf("slicing %s: %w", name, err)
	}
	x, y := kernels.Alloc[float64](cols), kernels.Alloc[float64](rows)
	for i := range x {
		x[i] = float64(i%31) / 7
	}
	big := kernels.Alloc[float64](int(min(a.Bytes(), 512<<20) / 8)) // memory that is read for comparison
	for i := range big {
		big[i] = 1
	}
	var variants []Variant
	var sink float64
	add := func(kernel, path string, m kernels.Matrix[float64], run func()) {
		bytes := m.Bytes() + 8*int64(rows+cols)
		variants = append(variants, Variant{
			Kernel: kernel, Elem: "float64", Path: path, Size: name, N: rows, Bytes: bytes,
			Format: fmt.Sprintf("%s, %.1f MB", m.Format(), float64(m.Bytes())/1e6),
			limit:  func(ref reference) float64 { return float64(bytes) * ref.read },
			run:    run,
		})
	}
	add("SpMV", Plain, a, func() { plainCSR(ptr, col, val, x, y) })
	for _, p := range simd.Paths() {
		if !chosen(o.Paths, p.Name) {
			continue
		}
		k := &p.F64
		add("SpMV/CSR", p.Name, a, func() { k.CSR32(ptr, col, val, x, y) })
		add("SpMV/Sliced", p.Name, sliced, func() { bridge.MulRows(p, sliced, x, y) })
		if cols >= rows {
			add("SpMVDot/Sliced", p.Name, sliced, func() { sink += bridge.MulRowsDot(p, sliced, x, y) })
		}
	}
	if g, err := kernels.NewGaussSeidel(sliced, 0, rows); err == nil && ascending(ptr, col) {
		sweep := func(path string, run func()) {
			bytes := g.Bytes() + 3*2*8*int64(rows)
			variants = append(variants, Variant{
				Kernel: "SymGS", Elem: "float64", Path: path, Size: name, N: rows, Bytes: bytes,
				Format: fmt.Sprintf("%s, %.1f MB", g.Format(), float64(g.Bytes())/1e6),
				limit:  func(ref reference) float64 { return float64(bytes) * ref.read },
				// Without the copy the numbers would become smaller from call to call.
				run: func() { copy(y, x); run() },
			})
		}
		sweep(Plain, func() { plainSymGS(ptr, col, val, y) })
		for _, p := range simd.Paths() {
			if chosen(o.Paths, p.Name) {
				sweep(p.Name, func() { bridge.Solve(p, g, y) })
			}
		}
	}
	best := &simd.Paths()[0].F64
	variants = append(variants, Variant{Kernel: "read", Path: simd.Paths()[0].Name, Elem: "float64", Size: name,
		N: len(big), Bytes: int64(8 * len(big)), run: func() { sink += best.Sum(big) }})
	results, err := measure(ctx, variants, o, name)
	if err != nil {
		return nil, err
	}
	read := results[len(results)-1]
	compare(results, func(round int) reference {
		return reference{read: read.Seconds[round] / float64(read.Bytes)}
	})
	return results, nil
}

// ascending reports whether the columns of all rows ascend.
func ascending(ptr []int64, col []int32) bool {
	for i := range ptr[1:] {
		if !slices.IsSorted(col[ptr[i]:ptr[i+1]]) {
			return false
		}
	}
	return true
}
