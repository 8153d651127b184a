package update

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

// smallIn is the size up to which the value of an in region is part of the
// signature: scalars, not arrays.
const smallIn = 64

// Signature accumulates what replicas must agree on when they launch the same
// section. Its zero value is an empty section.
type Signature struct {
	sum uint64
	buf []byte
}

// Add takes in one task: its type, the shape of its regions and the values of
// its small in arguments. Modes are those of the clauses, so call it before
// Aliased, which depends on addresses.
func (s *Signature) Add(task string, regions []Region) {
	b := binary.LittleEndian.AppendUint64(s.buf[:0], s.sum)
	b = append(b, task...)
	for i := range regions {
		r := &regions[i]
		b = append(b, 0, byte(r.Mode))
		b = binary.LittleEndian.AppendUint32(b, uint32(r.Type.Size()))
		b = binary.LittleEndian.AppendUint64(b, uint64(len(r.Mem)))
		if r.Mode == In && len(r.Mem) <= smallIn {
			b = append(b, r.Mem...)
		}
	}
	s.buf, s.sum = b, xxh3.Hash(b)
}

// Sum returns the signature of the tasks added so far.
func (s *Signature) Sum() uint64 { return s.sum }

// Reset makes s empty again.
func (s *Signature) Reset() { s.sum = 0 }
