package verify

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/intrahpc/intra/sched"
)

// Sampler chooses the tasks that are verified, the same on all replicas.
type Sampler struct {
	Share    float64 // of all tasks; 1: all of them
	Seed     uint64
	Replicas int // of the rank, dead ones included
}

// Sample appends those of n tasks of a section that are chosen, in their order. It
// chooses tasks in the same place of each replica's block together: a sampled task runs on
// all replicas, so one alone would make some of them run a task more than others, who would
// wait for them as long as if as many were sampled there.
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
