package kept

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCombine(t *testing.T) {
	slow, fast := Proposal{Types: []uint64{1, 2, 5}, Speed: 100, Points: 4}, Proposal{Types: []uint64{2, 3, 5}, Speed: 300, Points: 9}
	require.Equal(t, Plan{Types: []uint64{2, 5}, Share: 1 << 14, Next: 14}, combine(10, [2]Proposal{slow, fast}))
	require.Equal(t, Plan{Types: []uint64{2, 5}, Share: 3 << 14, Next: 14}, combine(10, [2]Proposal{fast, slow}))
	require.Equal(t, Plan{Share: 1 << 15, Next: 11}, combine(10, [2]Proposal{{}, fast}), "the speed of one replica is unknown")
	huge := Proposal{Speed: math.MaxUint64}
	require.EqualValues(t, 1<<15, combine(0, [2]Proposal{huge, huge}).Share)
	require.EqualValues(t, math.MaxUint16, combine(0, [2]Proposal{huge, {Speed: 1}}).Share)
}

// TestOwners requires that each replica owns one block, and that the sizes of the blocks
// follow the speeds.
func TestOwners(t *testing.T) {
	for _, c := range []struct {
		share uint16
		tasks int
		want  string
	}{
		{1 << 15, 4, "0011"}, {1 << 15, 5, "00011"}, {1 << 14, 4, "0111"}, {0, 3, "111"}, {math.MaxUint16, 3, "000"}, {1 << 15, 1, "0"},
	} {
		p, got := Plan{Share: c.share}, ""
		for t := range c.tasks {
			got += string(rune('0' + p.owner(t, c.tasks)))
		}
		require.Equal(t, c.want, got)
	}
}
