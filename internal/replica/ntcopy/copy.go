package ntcopy

import (
	"unsafe"

	"github.com/intrahpc/intra/kernels"
)

// From is the least number of bytes for which a copy past the caches pays off, if another core
// may have the target in its caches. Many processors take that core's copy away line by line,
// which takes much longer than copying the bytes. The fixed cost of a copy past the caches is
// that of a few lines.
const From = 1 << 10

// Copy copies min(len(to), len(from)) bytes, which must not overlap. A process that sees a
// later write of the caller also sees the copied bytes.
func Copy(to, from []byte) { by(kernels.CopyNT[float64], to, from) }

// Part is Copy, but other processes are sure to see the bytes only after the next Copy.
func Part(to, from []byte) { by(kernels.CopyNTPart[float64], to, from) }

func by(copyWords func(from, to []float64), to, from []byte) {
	const word = 8
	t, f := unsafe.Pointer(unsafe.SliceData(to)), unsafe.Pointer(unsafe.SliceData(from))
	if (uintptr(t)|uintptr(f))%word != 0 {
		copy(to, from)
		return
	}
	n := min(len(to), len(from)) / word
	copyWords(unsafe.Slice((*float64)(f), n), unsafe.Slice((*float64)(t), n))
	copy(to[n*word:], from[n*word:])
}
