package engine

// buffer holds an update until it is applied.
type buffer struct {
	mem      []byte
	borrowed bool // mem belongs to a link and must not be kept
}

// buffers keeps a few buffers for the next updates, which are usually as long as the
// last ones.
type buffers struct {
	free  []*buffer
	bytes int       // total capacity of free
	empty []*buffer // buffers without memory
}

// Updates of a peer that is many small sections ahead are all kept. So the number of free buffers
// and their bytes are bounded. Only a single buffer may have any size.
const (
	keep      = 1024
	keepBytes = 32 << 20
)

// get returns a buffer of n bytes with undefined contents.
func (b *buffers) get(n int) *buffer {
	for i := len(b.free) - 1; i >= 0; i-- {
		if f := b.free[i]; cap(f.mem) >= n {
			last := len(b.free) - 1
			b.free[i] = b.free[last]
			b.free = b.free[:last]
			b.bytes -= cap(f.mem)
			f.mem = f.mem[:n]
			return f
		}
	}
	return &buffer{mem: make([]byte, n)}
}

// lend returns a buffer that refers to memory of a link.
func (b *buffers) lend(mem []byte) *buffer {
	n := len(b.empty)
	if n == 0 {
		return &buffer{mem: mem, borrowed: true}
	}
	f := b.empty[n-1]
	b.empty = b.empty[:n-1]
	f.mem, f.borrowed = mem, true
	return f
}

// own replaces the borrowed memory of a buffer by a copy, so that the buffer can be kept.
func (b *buffers) own(f *buffer) {
	g := b.get(len(f.mem))
	copy(g.mem, f.mem)
	*f, *g = *g, *f
	b.put(g)
}

// put returns a buffer for reuse.
func (b *buffers) put(f *buffer) {
	switch {
	case f.borrowed && len(b.empty) < keep:
		f.mem, f.borrowed = nil, false
		b.empty = append(b.empty, f)
	case !f.borrowed && len(b.free) < keep && (len(b.free) == 0 || b.bytes+cap(f.mem) <= keepBytes):
		b.free = append(b.free, f)
		b.bytes += cap(f.mem)
	}
}
