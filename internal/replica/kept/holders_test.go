package kept

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHoldersAgainstTable compares the map with a table that has one entry per byte.
func TestHoldersAgainstTable(t *testing.T) {
	const size = 40
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 1))
		h := holders{live: both}
		table := make([]set, size)
		for i := range table {
			table[i] = both
		}
		some := func() Span {
			lo := uint64(rng.IntN(size))
			return Span{lo, lo + uint64(rng.IntN(size-int(lo)+1))}
		}
		for step := range 40 {
			if step == 30 {
				dead := rng.IntN(2)
				h.dies(dead)
				for i := range table {
					table[i] &^= 1 << dead
				}
			}
			s, by := some(), set(rng.IntN(4))
			h.put(s, by)
			for i := s.Lo; i < s.Hi; i++ {
				table[i] = by & h.live
			}
			for i, r := range h.runs {
				require.Less(t, r.Lo, r.Hi)
				require.NotEqual(t, h.live, r.by)
				if i > 0 {
					last := h.runs[i-1]
					require.True(t, last.Hi < r.Lo || last.Hi == r.Lo && last.by != r.by, "seed %d: %v", seed, h.runs)
				}
			}
			s = some()
			got := make([]set, size)
			for i := range got {
				got[i] = h.live
			}
			for _, r := range h.within(s) {
				require.True(t, r.in(s))
				for i := r.Lo; i < r.Hi; i++ {
					got[i] = r.by
				}
			}
			except, total := []Span{some()}, uint64(0)
			for i := range table {
				at := Span{uint64(i), uint64(i) + 1}
				if at.in(s) {
					require.Equal(t, table[i], got[i], "seed %d, byte %d", seed, i)
				}
				if table[i] != h.live && !at.in(except[0]) {
					total++
				}
			}
			require.Equal(t, total, h.bytes(except), "seed %d", seed)
		}
	}
}
