package checkpoint

import (
	"iter"
	"math"

	"github.com/zeebo/xxh3"
)

// ChunkBytes is the size of the pieces in which a variable is hashed, sent and
// written; the last piece may be shorter. It is part of the format.
const ChunkBytes = 1 << 20

// Image is the state of a process at one safe point.
type Image struct {
	vars []savedVar
}

// savedVar is one variable of an image.
type savedVar struct {
	name   string
	kind   Kind
	typ    string
	elem   int
	chunks [][]byte
}

func (v *savedVar) size() int {
	n := 0
	for _, c := range v.chunks {
		n += len(c)
	}
	return n
}

// Key identifies a chunk of an image.
type Key struct {
	Var   uint32 // index of the variable, in the order of registration
	Index uint32 // index of the chunk within the variable
}

// split divides the contents of a variable into chunks.
func split(mem []byte) [][]byte {
	chunks := make([][]byte, 0, (len(mem)+ChunkBytes-1)/ChunkBytes)
	for len(mem) > ChunkBytes {
		chunks, mem = append(chunks, mem[:ChunkBytes:ChunkBytes]), mem[ChunkBytes:]
	}
	if len(mem) > 0 {
		chunks = append(chunks, mem)
	}
	return chunks
}

func (im *Image) names() []string {
	names := make([]string, len(im.vars))
	for i := range im.vars {
		names[i] = im.vars[i].name
	}
	return names
}

// Bytes returns the size of the contents.
func (im *Image) Bytes() int {
	n := 0
	for i := range im.vars {
		n += im.vars[i].size()
	}
	return n
}

// Chunks yields every chunk in order.
func (im *Image) Chunks() iter.Seq2[Key, []byte] {
	return func(yield func(Key, []byte) bool) {
		for i := range im.vars {
			for j, c := range im.vars[i].chunks {
				if !yield(Key{uint32(i), uint32(j)}, c) {
					return
				}
			}
		}
	}
}

// Variables yields the chunks of each variable, in the order of registration. The chunks of an
// image that is not a clone are adjacent in memory.
func (im *Image) Variables() iter.Seq2[int, [][]byte] {
	return func(yield func(int, [][]byte) bool) {
		for i := range im.vars {
			if !yield(i, im.vars[i].chunks) {
				return
			}
		}
	}
}

// Part yields the memory of bytes lo to hi of a variable, which are in the image.
func (im *Image) Part(variable int, lo, hi uint64) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, c := range im.vars[variable].chunks {
			n := uint64(len(c))
			if lo < n && hi > 0 && !yield(c[lo:min(hi, n)]) {
				return
			}
			lo, hi = lo-min(lo, n), hi-min(hi, n)
		}
	}
}

// Clone copies the image. The copy uses the memory of reuse as far as it fits. reuse is an
// earlier clone that is not needed any more, or nil.
func (im *Image) Clone(reuse *Image) *Image {
	c := im.Blank(reuse)
	for i := range im.vars {
		c.Copy(im, i, 0, math.MaxUint64)
	}
	return c
}

// Blank returns an image of the same variables and sizes, with undefined contents. reuse is
// that of Clone.
func (im *Image) Blank(reuse *Image) *Image {
	c := &Image{vars: make([]savedVar, len(im.vars))}
	for i, v := range im.vars {
		c.vars[i] = v
		c.vars[i].chunks = make([][]byte, len(v.chunks))
		for j, b := range v.chunks {
			var mem []byte
			if reuse != nil && i < len(reuse.vars) && j < len(reuse.vars[i].chunks) {
				mem = reuse.vars[i].chunks[j]
			}
			if cap(mem) < len(b) {
				mem = make([]byte, len(b))
			}
			c.vars[i].chunks[j] = mem[:len(b)]
		}
	}
	return c
}

// Copy copies bytes lo to hi of a variable of from into im, which has the same variables and
// sizes.
func (im *Image) Copy(from *Image, variable int, lo, hi uint64) {
	to := im.vars[variable].chunks
	for j, c := range from.vars[variable].chunks {
		n := uint64(len(c))
		if lo < n && hi > 0 {
			copy(to[j][lo:], c[lo:min(hi, n)])
		}
		lo, hi = lo-min(lo, n), hi-min(hi, n)
	}
}

// Manifest describes the image: its variables, and the hash of each chunk.
func (im *Image) Manifest() *Manifest {
	return im.manifest(func(_ Key, c []byte) uint64 { return xxh3.Hash(c) })
}

// manifest is Manifest with the hashes that hash returns.
func (im *Image) manifest(hash func(Key, []byte) uint64) *Manifest {
	m := &Manifest{vars: make([]described, len(im.vars))}
	for i := range im.vars {
		v := &im.vars[i]
		d := described{name: v.name, kind: v.kind, typ: v.typ, elem: v.elem, bytes: uint64(v.size()), hashes: make([]uint64, len(v.chunks))}
		for j, c := range v.chunks {
			d.hashes[j] = hash(Key{uint32(i), uint32(j)}, c)
		}
		m.vars[i] = d
	}
	return m
}

// Sent records which content of each chunk was sent to a receiver. The zero value is for a
// receiver to which no chunk was sent.
type Sent struct {
	hashes map[Key]uint64
}

// Changed yields the chunks of im whose content was not sent to the receiver. A
// yielded chunk counts as sent. The loop may be left at any time, when enough was
// sent for now.
func (s *Sent) Changed(im *Image) iter.Seq2[Key, []byte] {
	return func(yield func(Key, []byte) bool) {
		if s.hashes == nil {
			s.hashes = make(map[Key]uint64)
		}
		for k, c := range im.Chunks() {
			h := xxh3.Hash(c)
			if old, ok := s.hashes[k]; ok && old == h {
				continue
			}
			s.hashes[k] = h
			if !yield(k, c) {
				return
			}
		}
	}
}

// Manifest describes im. It is called right after a loop over Changed has passed all chunks of im,
// and does not hash them again.
func (s *Sent) Manifest(im *Image) *Manifest {
	return im.manifest(func(k Key, _ []byte) uint64 { return s.hashes[k] })
}

// Ahead passes chunks of im to send before the receiver needs the whole image. It sends about
// most bytes: first chunks that were never sent, then, if there is room left, chunks that have
// changed since they were sent. In the other order a program that changes more than most bytes
// between two calls would keep some chunks from ever being sent. Ahead reports whether each
// chunk was sent at least once.
func (s *Sent) Ahead(im *Image, most int, send func(Key, []byte)) (all bool) {
	if s.hashes == nil {
		s.hashes = make(map[Key]uint64)
	}
	bytes := 0
	for k, c := range im.Chunks() {
		if _, ok := s.hashes[k]; ok {
			continue
		}
		if bytes >= most {
			return false
		}
		s.hashes[k] = xxh3.Hash(c)
		send(k, c)
		bytes += len(c)
	}
	if bytes >= most {
		return true
	}
	for k, c := range s.Changed(im) {
		send(k, c)
		if bytes += len(c); bytes >= most {
			break
		}
	}
	return true
}
