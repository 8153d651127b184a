package arena

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// No memory is given out twice, and freed ranges are joined again.
func TestExtents(t *testing.T) {
	const all = 64 << 20
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		free := extents{{0, all}}
		used := make(map[int]int)
		for range 300 {
			if rng.IntN(3) > 0 {
				size, skew := (1+rng.IntN(1<<rng.IntN(11)))<<12, rng.IntN(512)<<12
				at, ok := free.take(size, skew)
				if !ok {
					continue
				}
				require.LessOrEqual(t, at+size, all)
				if size >= pageSize {
					require.Equal(t, skew, at%pageSize)
				}
				for other, n := range used {
					require.True(t, at+size <= other || other+n <= at, "%d bytes at %d and %d at %d", size, at, n, other)
				}
				used[at] = size
				continue
			}
			for at, size := range used {
				free.put(at, size)
				delete(used, at)
				break
			}
		}
		for at, size := range used {
			free.put(at, size)
		}
		require.Equal(t, extents{{0, all}}, free)
	}
}
