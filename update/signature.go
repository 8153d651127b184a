package update

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

// smallIn is the size in bytes up to which the value of an in region is part of the
// signature. This includes scalars, but no arrays.
const smallIn = 64

// Signature accumulates the properties of a section on which replicas must agree. Its zero
// value is an empty section.
type Signature struct {
	sum uint64
}

// TypeSum returns the part of a task's signature that depends on its type.
func TypeSum(task string) uint64 { return xxh3.HashString(task) }

// Add adds one task: the TypeSum of its type, the shape of its regions, and the values of
// its small in arguments. The modes must be those of the clauses. So Add must be called
// before Aliased, which depends on addresses. Add also returns the Traffic of the task.
func (s *Signature) Add(task uint64, regions []Region) (read, written int) {
	sum := task + uint64(len(regions)) // of one task alone, so that a processor can overlap the hashes of two tasks
	for i := range regions {
		r := &regions[i]
		n := len(r.Mem)
		sum = mix(sum, uint64(n)*shapes+uint64(r.Mode)+uint64(r.size)<<8)
		switch r.Mode {
		case In:
			if read += n; n <= smallIn {
				sum = mixBytes(sum, r.Mem)
			}
		case InOut:
			read, written = read+n, written+n
		case Out, Reduce:
			written += n
		}
	}
	s.sum = mix(s.sum, sum)
	return read, written
}

// AddShape is Add for a section whose inputs may lie on one replica only. It adds the value of a
// small argument only if values is not nil and returns true.
func (s *Signature) AddShape(task uint64, regions []Region, values func(mem []byte) bool) {
	sum := mix(s.sum, task+uint64(len(regions)))
	for i := range regions {
		r := &regions[i]
		sum = mix(sum, uint64(len(r.Mem))*shapes+uint64(r.Mode)+uint64(r.size)<<8)
		if r.Mode == In && len(r.Mem) <= smallIn && values != nil && values(r.Mem) {
			sum = mixBytes(sum, r.Mem)
		}
	}
	s.sum = sum
}

// shapes separates the length of a region from its mode and type.
const shapes = 0xd6e8feb86659fd93

// mix adds a word to a hash. It is a bijection in each of its arguments. It has to be fast,
// because every section hashes a few words for each region.
func mix(sum, word uint64) uint64 {
	sum = (sum ^ word) * 0x9e3779b97f4a7c15
	return sum ^ sum>>29
}

func mixBytes(sum uint64, b []byte) uint64 {
	for ; len(b) >= 8; b = b[8:] {
		sum = mix(sum, binary.LittleEndian.Uint64(b))
	}
	if len(b) > 0 {
		var last [8]byte
		copy(last[:], b)
		sum = mix(sum, binary.LittleEndian.Uint64(last[:]))
	}
	return sum
}

// Sum returns the signature of the tasks added so far.
func (s *Signature) Sum() uint64 { return s.sum }
