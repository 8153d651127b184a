package intra

// buffer holds an update until it is applied.
type buffer struct {
	mem      []byte
	borrowed bool // the memory is a link's
}

// buffers keeps a few buffers for the next updates, which are mostly as long
// as the last ones.
type buffers struct {
	free []*buffer
}

// keep bounds the number of free buffers.
const keep = 32

// get returns a buffer of n bytes. Its contents mean nothing.
func (b *buffers) get(n int) *buffer {
	for i := len(b.free) - 1; i >= 0; i-- {
		if f := b.free[i]; cap(f.mem) >= n {
			last := len(b.free) - 1
			b.free[i] = b.free[last]
			b.free = b.free[:last]
			f.mem = f.mem[:n]
			return f
		}
	}
	return &buffer{mem: make([]byte, n)}
}

// put takes a buffer back.
func (b *buffers) put(f *buffer) {
	if len(b.free) < keep && !f.borrowed {
		b.free = append(b.free, f)
	}
}
