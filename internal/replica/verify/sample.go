package verify

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/intrahpc/intra/sched"
)

// Sampler chooses the tasks that are verified. It chooses the same tasks on all replicas.
type Sampler struct {
	Share    float64 // share of all tasks; 1: all of them
	Seed     uint64
	Replicas int // number of replicas of the rank, including dead ones
}

// Sample appends the chosen tasks of the n tasks of a section, in ascending order. It
// chooses the tasks at the same index of every replica's block together. A sampled task
// runs on all replicas. If single tasks were chosen, some replicas would run one task more
// than others, and the section would take as long as if all replicas did.
func (s Sampler) Sample(to []int, section uint64, n int) []int {
	if s.Share <= 0 {
		return to
	}
	limit := uint64(math.MaxUint64)
	if s.Share < 1 {
		limit = uint64(s.Share * (1 << 63) * 2)
	}
	var key [16]byte
	binary.LittleEndian.PutUint64(key[:], section)
	first := len(to)
	for at := range (n + s.Replicas - 1) / s.Replicas {
		binary.LittleEndian.PutUint64(key[8:], uint64(at))
		if s.Share < 1 && xxh3.HashSeed(key[:], s.Seed) >= limit {
			continue
		}
		for r := range s.Replicas {
			if lo, hi := sched.Block(n, s.Replicas, r); lo+at < hi {
				to = append(to, lo+at)
			}
		}
	}
	slices.Sort(to[first:])
	return to
}
