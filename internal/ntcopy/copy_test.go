package ntcopy

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCopy(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	from := make([]byte, 1<<12)
	for i := range from {
		from[i] = byte(rng.Uint32()) // signalling NaNs among them
	}
	for _, n := range []int{0, 1, 7, 8, 9, 63, 64, 65, 1000, 4000} {
		for _, at := range [][2]int{{0, 0}, {8, 16}, {1, 0}, {0, 3}, {5, 5}} {
			to := make([]byte, 1<<12)
			Copy(to[at[0]:at[0]+n], from[at[1]:at[1]+n])
			require.Equal(t, from[at[1]:at[1]+n], to[at[0]:at[0]+n])
			for i, b := range to {
				require.True(t, b == 0 || i >= at[0] && i < at[0]+n, "written outside")
			}
		}
	}
}
