package verify

import (
	"encoding/binary"
	"math"

	"github.com/zeebo/xxh3"
)

// Sampler chooses the tasks that are verified, the same on all replicas.
type Sampler struct {
	Share float64 // of all tasks; 1: all of them
	Seed  uint64
}

// Sample appends those of n tasks of a section that are chosen.
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
	for t := range n {
		binary.LittleEndian.PutUint64(key[8:], uint64(t))
		if s.Share >= 1 || xxh3.HashSeed(key[:], s.Seed) < limit {
			to = append(to, t)
		}
	}
	return to
}
