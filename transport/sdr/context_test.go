package sdr

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestKept: a stream keeps its messages in the order in which they were posted, no matter
// which ones are removed in between. A loop over the messages may remove some of them. Each
// message is found by its number.
func TestKept(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	s := &outStream{}
	var want []*Message
	next := uint64(0)
	ascends := 0
	for range 20_000 {
		if random.IntN(2) == 0 {
			m := &Message{number: next}
			if next += uint64(random.IntN(3)) + 1; len(want) > 3 && random.IntN(200) == 0 {
				m.number = next + 1000 // a number that is not ascending: the next ones are lower
				require.Nil(t, s.find(m.number))
			}
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
		if !s.mixed {
			ascends++
		}
		low := next - min(uint64(random.IntN(40)), next)
		high := low + uint64(random.IntN(20))
		from, to := s.span(low, high)
		for i, m := range s.kept {
			if m == nil {
				continue
			}
			require.Same(t, m, s.find(m.number))
			if low <= m.number && m.number < high {
				require.True(t, from <= i && i < to, "%d of %d to %d is not in %d to %d", m.number, low, high, from, to)
			} else if !s.mixed {
				require.False(t, from <= i && i < to)
			}
		}
		require.LessOrEqual(t, s.gaps, len(s.kept))
		require.Equal(t, len(want), len(s.kept)-s.gaps)
		require.True(t, len(want) > 0 || len(s.kept) == 0, "a freed context is closed when nothing is kept")
	}
	require.InDelta(t, 10_000, ascends, 8_000)
}
