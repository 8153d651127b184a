package ntcopy

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/kernels"
)

func TestCopy(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	from := make([]byte, 1<<12)
	for i := range from {
		from[i] = byte(rng.Uint32()) // random bits include signalling NaNs
	}
	for _, n := range []int{0, 1, 7, 8, 9, 63, 64, 65, 1000, 4000} {
		for _, at := range [][2]int{{0, 0}, {8, 16}, {1, 0}, {0, 3}, {5, 5}} {
			to := make([]byte, 1<<12)
			half := n / 2 &^ 7
			Part(to[at[0]:at[0]+half], from[at[1]:at[1]+half])
			Copy(to[at[0]+half:at[0]+n], from[at[1]+half:at[1]+n])
			require.Equal(t, from[at[1]:at[1]+n], to[at[0]:at[0]+n])
			for i, b := range to {
				require.True(t, b == 0 || i >= at[0] && i < at[0]+n, "written outside")
			}
		}
	}
}

// BenchmarkAlong measures a body that updates a vector in place and copies it past the
// caches. No cache holds the vector. It is processed in parts of the given size, each
// copied right after it was computed, like a task with the clause elementwise.
func BenchmarkAlong(b *testing.B) {
	const n = 16 << 20
	x, w, to := kernels.Alloc[float64](n), kernels.Alloc[float64](n), kernels.Alloc[float64](n)
	bytes := func(s []float64) []byte {
		return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), 8*len(s))
	}
	for _, v := range [][]float64{x, w, to} {
		for i := range v {
			v[i] = 1
		}
	}
	for _, part := range []int{0, 1 << 10, 2 << 10, 4 << 10, 16 << 10, 256 << 10, 2 << 20} {
		name, step := fmt.Sprintf("part=%d", part), part/8
		if part == 0 {
			name, step = "without a copy", 2<<10
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(8 * n)
			for range b.N {
				for lo := 0; lo < n; lo += step {
					hi := lo + step
					kernels.Waxpby(1, x[lo:hi], 0.5, w[lo:hi], w[lo:hi])
					if part > 0 {
						Part(bytes(to[lo:hi]), bytes(w[lo:hi]))
					}
				}
			}
		})
	}
}
