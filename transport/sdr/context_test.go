package sdr

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestKept: a stream keeps its messages in the order in which they were posted, whichever
// are dropped in between, and some may be dropped by who goes through them.
func TestKept(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	s := &outStream{}
	var want []*Message
	for range 20_000 {
		if random.IntN(2) == 0 {
			m := new(Message)
			s.keep(m)
			want = append(want, m)
		} else if random.IntN(8) == 0 {
			var left, seen []*Message
			for _, m := range s.kept {
				if m == nil {
					continue
				}
				if seen = append(seen, m); random.IntN(3) == 0 {
					left = append(left, m)
				} else {
					s.drop(m)
				}
			}
			require.Equal(t, len(want), len(seen))
			for i := range want {
				require.Same(t, want[i], seen[i])
			}
			want = left
		}
		require.LessOrEqual(t, s.gaps, len(s.kept))
		require.Equal(t, len(want), len(s.kept)-s.gaps)
		require.True(t, len(want) > 0 || len(s.kept) == 0, "a freed context is closed when nothing is kept")
	}
}
