package checkpoint

import (
	"fmt"

	"github.com/zeebo/xxh3"
)

// Assembly puts an image together from chunks that arrive in any order, and
// more than once: the last content of each counts.
type Assembly struct {
	chunks map[Key][]byte
	bytes  int
}

// NewAssembly returns an assembly that begins with the chunks of base, which
// is not changed; nil for none.
func NewAssembly(base *Image) *Assembly {
	a := &Assembly{chunks: make(map[Key][]byte)}
	if base != nil {
		for k, c := range base.Chunks() {
			a.chunks[k] = c
			a.bytes += len(c)
		}
	}
	return a
}

// Put takes in one chunk. Its memory belongs to the assembly from now on.
func (a *Assembly) Put(k Key, b []byte) error {
	if len(b) == 0 || len(b) > ChunkBytes {
		return fmt.Errorf("%w: a chunk of %d bytes, want 1 to %d", ErrCorrupt, len(b), ChunkBytes)
	}
	a.bytes += len(b) - len(a.chunks[k])
	a.chunks[k] = b
	return nil
}

// Bytes is the size of what has arrived.
func (a *Assembly) Bytes() int { return a.bytes }

// Finish returns the image that m describes, made of the chunks that have
// arrived. A chunk that is missing or has other contents is an error.
func (a *Assembly) Finish(m *Manifest) (*Image, error) {
	im := &Image{vars: make([]savedVar, len(m.vars))}
	for i := range m.vars {
		d := &m.vars[i]
		v := savedVar{name: d.name, kind: d.kind, typ: d.typ, elem: d.elem, chunks: make([][]byte, len(d.hashes))}
		for j, h := range d.hashes {
			c := a.chunks[Key{uint32(i), uint32(j)}]
			if len(c) != chunkSize(d.bytes, j) || xxh3.Hash(c) != h {
				return nil, fmt.Errorf("%w: chunk %d of %q is missing or has other contents", ErrCorrupt, j, d.name)
			}
			v.chunks[j] = c
		}
		im.vars[i] = v
	}
	return im, nil
}
