package sdr

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/transport"
)

// TestNumbers compares the set with a map, also after a journey through an
// acknowledgement.
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

// TestQueue checks order under pushes, insertions and removals.
func TestQueue(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var q queue[int]
	var want []int
	for i := range 5000 {
		switch {
		case len(want) > 0 && random.IntN(2) == 0:
			at := random.IntN(len(want)) * random.IntN(2)
			q.remove(at)
			want = append(want[:at:at], want[at+1:]...)
		case len(want) > 1 && random.IntN(4) == 0:
			q.insert(1, i)
			want = append(want[:1:1], append([]int{i}, want[1:]...)...)
		default:
			q.push(i)
			want = append(want, i)
		}
		require.Equal(t, len(want), len(q.all()))
		for k := range want {
			require.Equal(t, want[k], q.all()[k])
		}
	}
}
