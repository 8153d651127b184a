package reduce

import "unsafe"

// Pool is memory for the partial results of a section. The next section reuses it. All
// replicas take the same pieces in the same order, so the pool can lie in memory into
// which replicas store directly.
type Pool struct {
	alloc  func(words int) []uint64
	chunks [][]byte
	chunk  int // first chunk with free memory
	used   int // bytes used in that chunk
}

// NewPool returns a pool whose memory comes from alloc.
func NewPool(alloc func(words int) []uint64) Pool { return Pool{alloc: alloc} }

// These are the sizes of a chunk, and of the unit into which a chunk is divided, in bytes.
const (
	chunkSize = 64 << 10
	unit      = 64
)

func (p *Pool) take(size int) []byte {
	size = (size + unit - 1) &^ (unit - 1)
	for p.chunk < len(p.chunks) && size > len(p.chunks[p.chunk])-p.used {
		p.chunk, p.used = p.chunk+1, 0
	}
	if p.chunk == len(p.chunks) {
		words := p.alloc(max(size, chunkSize) / 8)
		p.chunks = append(p.chunks, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words)))
	}
	mem := p.chunks[p.chunk][p.used:][:size:size]
	p.used += size
	return mem
}

// Reset makes all memory of the pool available to the next section.
func (p *Pool) Reset() { p.chunk, p.used = 0, 0 }

// Drop makes the pool forget its memory, because updates may still arrive for the tasks
// that use it.
func (p *Pool) Drop() { *p = Pool{alloc: p.alloc} }
