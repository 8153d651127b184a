//go:build amd64 && !purego

package simd

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/klauspost/cpuid/v2"
	"github.com/stretchr/testify/require"
)

// The prefetches of the kernels depend only on the CPU's vendor.
func TestDistances(t *testing.T) {
	for _, c := range []struct {
		vendor         cpuid.Vendor
		matrix, vector int
	}{
		{cpuid.Intel, 8192, 2048},
		{cpuid.AMD, 0, 0},
		{cpuid.Hygon, 0, 0},
		{cpuid.VendorUnknown, 8192, 2048},
	} {
		m, v := distances(c.vendor)
		require.Equal(t, []int{c.matrix, c.vector}, []int{m, v}, c.vendor.String())
	}
}

// Prefetching memory beyond the arrays causes no fault and changes no bit. The results are
// the same with the distances of every vendor.
func TestAnyDistance(t *testing.T) {
	matrix, vector := matrixAhead, vectorAhead
	defer func() { matrixAhead, vectorAhead = matrix, vector }()
	const rows = 64
	r := rand.New(rand.NewPCG(1, 2))
	var (
		x, val   = fill[float64](r, 0, rows+64), fill[float64](r, 0, rows*27)
		pat, ptr = slices.Repeat([]int32{^0}, rows/8), []int32{0, 27}
		off      = make([]int32, 27)
		mask     = slices.Repeat([]uint8{0xff}, 27)
		width    = slices.Repeat([]int32{27}, rows/8)
		rowPtr   = make([]int64, rows+1)
		col      = make([]int32, rows*27)
		col64    = make([]int64, rows*27)
	)
	for d := range off {
		off[d] = int32(d)
	}
	for i := range col {
		col[i], col64[i] = int32(i*7%len(x)), int64(i*7%len(x))
	}
	for i := range rowPtr {
		rowPtr[i] = int64(27 * i)
	}
	for _, p := range Paths() {
		k := &p.F64
		results := func() [][]uint64 {
			var all [][]uint64
			keep := func(run func(y []float64)) {
				y := make([]float64, rows)
				run(y)
				all = append(all, bits(y))
			}
			keep(func(y []float64) { k.Diag(pat, ptr, off, mask, val, x, 0, y) })
			keep(func(y []float64) { k.Sell(width, col, val, x, y) })
			keep(func(y []float64) { k.CSR32(rowPtr, col, val, x, y) })
			keep(func(y []float64) { k.CSR64(rowPtr, col64, val, x, y) })
			keep(func(y []float64) { k.CSRAdd32(rowPtr, col, val, x, y) })
			keep(func(y []float64) { k.Waxpby(2, x[:rows], 3, val[:rows], y) })
			keep(func(y []float64) { y[0] = k.Dot(x, val[:len(x)]) })
			keep(func(y []float64) { y[0] = k.WaxpbyDot(2, x[:rows], 3, val[:rows], y) })
			return all
		}
		matrixAhead, vectorAhead = 0, 0
		want := results()
		for _, ahead := range []int{64, 2048, 8192, 1 << 40} {
			matrixAhead, vectorAhead = ahead, ahead
			require.Equal(t, want, results(), "%s, %d bytes ahead", p.Name, ahead)
		}
	}
}
