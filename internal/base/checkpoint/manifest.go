package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/zeebo/xxh3"
)

// ErrCorrupt marks bytes that differ from the state that was written or sent.
var ErrCorrupt = errors.New("corrupt state")

// Manifest describes an image without its contents.
type Manifest struct {
	vars []described
}

type described struct {
	name   string
	kind   Kind
	typ    string
	elem   int
	bytes  uint64
	hashes []uint64 // one for each chunk
}

// Bytes returns the size of the contents.
func (m *Manifest) Bytes() uint64 {
	n := uint64(0)
	for i := range m.vars {
		n += m.vars[i].bytes
	}
	return n
}

// Sum returns a hash of the whole manifest, and so of the image.
func (m *Manifest) Sum() uint64 { return xxh3.Hash(m.Append(nil)) }

// Append appends the encoded manifest to b.
func (m *Manifest) Append(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, uint32(len(m.vars)))
	for i := range m.vars {
		v := &m.vars[i]
		b = append(b, byte(v.kind))
		b = append(le.AppendUint16(b, uint16(len(v.name))), v.name...)
		b = append(le.AppendUint16(b, uint16(len(v.typ))), v.typ...)
		b = le.AppendUint32(b, uint32(v.elem))
		b = le.AppendUint64(b, v.bytes)
		for _, h := range v.hashes {
			b = le.AppendUint64(b, h)
		}
	}
	return b
}

// ParseManifest parses the result of Append. It rejects any other bytes.
func ParseManifest(b []byte) (*Manifest, error) {
	r := reader{rest: b}
	const leastVar = 1 + 2 + 1 + 2 + 1 + 4 + 8 // least number of bytes that describe a variable
	n := r.uint32()
	if uint64(n)*leastVar > uint64(len(r.rest)) {
		return nil, fmt.Errorf("%w: a manifest of %d variables in %d bytes", ErrCorrupt, n, len(b))
	}
	m := &Manifest{vars: make([]described, n)}
	seen := make(map[string]bool, n)
	for i := range m.vars {
		v := &m.vars[i]
		v.kind = Kind(r.uint8())
		v.name, v.typ = r.text(), r.text()
		v.elem, v.bytes = int(r.uint32()), r.uint64()
		switch {
		case r.short:
		case v.kind < Value || v.kind > Binary || v.elem == 0 || v.bytes%uint64(v.elem) != 0,
			v.kind == Value && v.bytes != uint64(v.elem), v.kind == Binary && v.elem != 1:
			return nil, fmt.Errorf("%w: variable %d of the manifest is a %s with %d bytes in elements of %d", ErrCorrupt, i, v.kind, v.bytes, v.elem)
		case v.name == "" || len(v.name) > maxName || len(v.typ) > maxName || seen[v.name]:
			return nil, fmt.Errorf("%w: name %.40q of variable %d of the manifest", ErrCorrupt, v.name, i)
		case chunksOf(v.bytes) > uint64(len(r.rest))/8:
			r.short = true
		}
		if r.short {
			break
		}
		seen[v.name] = true
		v.hashes = make([]uint64, chunksOf(v.bytes))
		for j := range v.hashes {
			v.hashes[j] = r.uint64()
		}
	}
	if r.short || len(r.rest) > 0 {
		return nil, fmt.Errorf("%w: a manifest of %d bytes has another length", ErrCorrupt, len(b))
	}
	return m, nil
}

// chunksOf returns the number of chunks of that many bytes.
func chunksOf(bytes uint64) uint64 {
	n := bytes / ChunkBytes
	if bytes%ChunkBytes > 0 {
		n++
	}
	return n
}

// chunkSize returns the size of chunk j of a variable of that many bytes.
func chunkSize(bytes uint64, j int) int {
	return int(min(ChunkBytes, bytes-uint64(j)*ChunkBytes))
}

// reader reads values from the front of a buffer. After the first short read it
// sets short and returns zeros.
type reader struct {
	rest  []byte
	short bool
}

func (r *reader) take(n int) []byte {
	if n > len(r.rest) {
		r.short, r.rest = true, nil
		return make([]byte, n)
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) uint8() uint8   { return r.take(1)[0] }
func (r *reader) uint16() uint16 { return binary.LittleEndian.Uint16(r.take(2)) }
func (r *reader) uint32() uint32 { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *reader) uint64() uint64 { return binary.LittleEndian.Uint64(r.take(8)) }
func (r *reader) text() string   { return string(r.take(int(r.uint16()))) }
