package checkpoint

import (
	"fmt"

	"github.com/zeebo/xxh3"
)

// Assembly assembles an image from chunks. They may arrive in any order and repeatedly;
// the last content of each chunk counts.
type Assembly struct {
	chunks map[Key]chunk
	bytes  int
}

// chunk is a chunk of an assembly. A chunk is hashed when it arrives, so that Finish need not read
// all of a large state while the job waits for it.
type chunk struct {
	mem    []byte
	hash   uint64
	hashed bool
}

// NewAssembly returns an assembly that begins with the chunks of base, which it does not
// change. base may be nil.
func NewAssembly(base *Image) *Assembly {
	a := &Assembly{chunks: make(map[Key]chunk)}
	if base != nil {
		for k, c := range base.Chunks() {
			a.chunks[k] = chunk{mem: c}
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
	a.bytes += len(b) - len(a.chunks[k].mem)
	a.chunks[k] = chunk{b, xxh3.Hash(b), true}
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
			if !c.hashed {
				c.hash = xxh3.Hash(c.mem)
			}
			if len(c.mem) != chunkSize(d.bytes, j) || c.hash != h {
				return nil, fmt.Errorf("%w: chunk %d of %q is missing or has other contents", ErrCorrupt, j, d.name)
			}
			v.chunks[j] = c.mem
		}
		im.vars[i] = v
	}
	return im, nil
}
