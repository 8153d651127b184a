package sdr

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/transport"
)

// TestNumbers compares the set with a map, also after an acknowledgement has carried the
// set.
func TestNumbers(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 0))
		var s, copied numbers
		want := make(map[uint64]bool)
		next := uint64(0)
		for range 200 {
			n := next
			if random.IntN(3) == 0 {
				n = uint64(random.IntN(400))
			} else {
				next++
			}
			s.add(n)
			want[n] = true
			if random.IntN(20) == 0 {
				var h transport.Header
				payload := encodeAck(&h, &s)
				decodeAck(&h, payload, &copied)
				for k := range uint64(420) {
					require.Equal(t, want[k], copied.has(k), "seed %d, number %d, copied", seed, k)
				}
			}
		}
		low := uint64(0)
		for want[low] {
			low++
		}
		require.Equal(t, low, s.low)
		for k := range uint64(420) {
			require.Equal(t, want[k], s.has(k), "seed %d, number %d", seed, k)
		}
	}
}
