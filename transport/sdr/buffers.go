package sdr

import "math/bits"

const (
	maxClass    = 18      // buffers of up to 256 KiB are kept
	keptInClass = 1 << 20 // bytes kept of each size
)

// buffers keeps the memory of copied messages for reuse.
type buffers struct {
	free [maxClass + 1][][]byte
}

func (b *buffers) get(n int) []byte {
	if n == 0 {
		return nil
	}
	class := bits.Len(uint(n - 1))
	if class > maxClass {
		return make([]byte, n)
	}
	list := b.free[class]
	if len(list) == 0 {
		return make([]byte, n, 1<<class)
	}
	buf := list[len(list)-1]
	b.free[class] = list[:len(list)-1]
	return buf[:n]
}

func (b *buffers) put(buf []byte) {
	n := cap(buf)
	if n == 0 || n&(n-1) != 0 || n > 1<<maxClass {
		return
	}
	class := bits.Len(uint(n - 1))
	if len(b.free[class])<<class < keptInClass {
		b.free[class] = append(b.free[class], buf[:0])
	}
}
