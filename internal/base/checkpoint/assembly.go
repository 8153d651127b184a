package checkpoint

import (
	"fmt"

	"github.com/zeebo/xxh3"
)

// Assembly assembles an image from chunks. They may arrive in any order and repeatedly;
// the last content of each chunk counts.
type Assembly struct {
	chunks map[Key][]byte
	bytes  int
}

// NewAssembly returns an assembly that begins with the chunks of base, which it does not
// change. base may be nil.
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

// Put adds a chunk. The assembly owns its memory from then on.
func (a *Assembly) Put(k Key, b []byte) error {
	if len(b) == 0 || len(b) > ChunkBytes {
		return fmt.Errorf("%w: a chunk of %d bytes, want 1 to %d", ErrCorrupt, len(b), ChunkBytes)
	}
	a.bytes += len(b) - len(a.chunks[k])
	a.chunks[k] = b
	return nil
}

// Bytes returns the total size of the chunks so far.
func (a *Assembly) Bytes() int { return a.bytes }

// Finish returns the image that m describes, made of the chunks that have arrived. It
// fails if a chunk is missing or its content differs.
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
