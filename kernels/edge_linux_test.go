package kernels_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/intrahpc/intra/kernels"
	"github.com/intrahpc/intra/kernels/internal/simd"
)

// fenced returns slices of n elements in memory between two inaccessible pages: one at the
// beginning of the memory, and one at its end.
func fenced[T kernels.Float](t *testing.T, n int) (atStart, atEnd []T) {
	page := os.Getpagesize()
	var e T
	size := (n*int(unsafe.Sizeof(e)) + page - 1) / page * page
	m, err := unix.Mmap(-1, 0, size+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(m)) })
	require.NoError(t, unix.Mprotect(m[:page], unix.PROT_NONE))
	require.NoError(t, unix.Mprotect(m[page+size:], unix.PROT_NONE))
	all := unsafe.Slice((*T)(unsafe.Pointer(&m[page])), size/int(unsafe.Sizeof(e)))
	return all[:n:n], all[len(all)-n:]
}

// TestVectorEdges: no kernel touches memory outside its slices.
func TestVectorEdges(t *testing.T) {
	testVectorEdges[float64](t)
	testVectorEdges[float32](t)
}

func testVectorEdges[T kernels.Float](t *testing.T) {
	for _, n := range []int{1, 3, 7, 8, 13, 31, 33, 63, 65, 127, 130, 500} {
		x0, x1 := fenced[T](t, n)
		y0, y1 := fenced[T](t, n)
		w0, w1 := fenced[T](t, n)
		for _, p := range simd.Paths() {
			k := simd.Of[T](p)
			for _, s := range [][3][]T{{x0, y0, w0}, {x1, y1, w1}} {
				x, y, w := s[0], s[1], s[2]
				k.Waxpby(2, x, 3, y, w)
				k.WaxpbyNT(2, x, 3, y, w)
				k.Xpby(x, 3, y, w)
				k.XpbyNT(x, 3, y, w)
				k.Scale(2, x, w)
				k.CopyNT(x, w)
				require.Zero(t, k.Dot(x, y)+k.Sum(x)+k.WaxpbyDot(2, x, 3, y, w)+k.XpbyDot(x, 3, y, w))
			}
		}
	}
}

// TestProductEdges: no product touches x outside its columns, or y outside
// its rows.
func TestProductEdges(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, c := range cases {
		x0, x1 := fenced[float64](t, c.cols)
		y0, y1 := fenced[float64](t, len(c.rows))
		matrices := []kernels.Matrix[float64]{
			newCSR[float64, int32](t, c.cols, c.rows), newCSR[float64, int64](t, c.cols, c.rows), newSliced[float64](t, c.cols, c.rows),
		}
		for _, v := range [][2][]float64{{x0, y0}, {x1, y1}} { // these slices overlap
			x, y := v[0], v[1]
			for i := range x {
				x[i] = r.NormFloat64()
			}
			want := bits(oracleMul(c.rows, x))
			for _, m := range matrices {
				for _, p := range simd.Paths() {
					clear(y)
					kernels.MulRowsOn(p, m, 0, x, y)
					require.True(t, slices.Equal(want, bits(y)), "%s, %s, %s", c.name, p.Name, m.Format())
				}
			}
		}
	}
}

// TestSweepEdges: no sweep reads or writes anything outside of its block.
func TestSweepEdges(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, c := range cases {
		rows := withDiagonal(c.cols, c.rows)
		n := len(rows)
		bounds := []int{0, n / 3, n / 16 * 8, n}
		slices.Sort(bounds)
		g, err := kernels.NewGaussSeidel(newSliced[float64](t, c.cols, rows), bounds...)
		require.NoError(t, err)
		for b := range bounds[1:] {
			lo, hi := bounds[b], bounds[b+1]
			x0, x1 := fenced[float64](t, hi-lo)
			for _, x := range [][]float64{x0, x1} {
				for _, p := range simd.Paths() {
					for i := range x {
						x[i] = r.NormFloat64()
					}
					want := slices.Clone(x)
					oracleSolve(rows, lo, hi, want)
					kernels.SolveOn(p, g, lo, x)
					require.True(t, slices.Equal(bits(want), bits(x)), "%s, %s", c.name, p.Name)
				}
			}
		}
	}
}
