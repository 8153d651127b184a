package file

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Views select the bytes that a loop over all of them selects, and overlap if these have one in
// common.
func TestBlocksOfRandomViews(t *testing.T) {
	random := rand.New(rand.NewPCG(51, 1))
	draw := func() (View, int64, int64) {
		v := View{Offset: random.Int64N(20), Block: random.Int64N(4)}
		v.Stride = v.Block + random.Int64N(6)
		return v, random.Int64N(12), random.Int64N(12)
	}
	selected := func(v View, n, off int64) map[int64]bool {
		all := make(map[int64]bool)
		for i := off; i < off+n; i++ {
			at := v.Offset + i
			if v.Block > 0 {
				at = v.Offset + i/v.Block*v.Stride + i%v.Block
			}
			all[at] = true
		}
		return all
	}
	both := 0
	for range 20_000 {
		v, n, off := draw()
		w, m, other := draw()
		want := selected(v, n, off)
		got := make(map[int64]bool)
		for _, p := range (Part{v: v}).pieces(make([]byte, n), off) {
			for i := range p.Data {
				got[p.Offset+int64(i)] = true
			}
		}
		require.Equal(t, want, got, "%+v: %d bytes at %d", v, n, off)
		common := false
		for at := range selected(w, m, other) {
			common = common || want[at]
		}
		a, b := v.blocks(n, off), w.blocks(m, other)
		require.Equal(t, common, overlap(&a, &b), "%+v: %d bytes at %d, and %+v: %d bytes at %d", v, n, off, w, m, other)
		if common {
			both++
		}
	}
	require.Greater(t, both, 1000)
	require.Greater(t, 19_000, both)
}
