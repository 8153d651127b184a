package engine

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/replica/kept"
)

// TestPins adds random parts of an array, in any order, and requires that the memory of each
// part is found again, and that pieces are disjoint.
func TestPins(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		mem := make([]byte, 1+rng.IntN(60))
		for i := range mem {
			mem[i] = byte(i)
		}
		var p pins
		for range 6 {
			lo := rng.IntN(len(mem) + 1)
			part := mem[lo : lo+rng.IntN(len(mem)-lo+1)]
			p.add(part)
			var found []byte
			p.in(spanOf(part), func(piece []byte) { found = append(found, piece...) })
			require.Equal(t, string(part), string(found))
		}
		for i := 1; i < len(p); i++ {
			require.LessOrEqual(t, p[i-1].Hi, p[i].Lo)
		}
		p.prune(func(s kept.Span) bool { return s.Lo > spanOf(mem).Lo })
		require.LessOrEqual(t, len(p), 1)
	}
}
