package hugepage

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const size = 2 << 20

// Advise requests huge pages for the part of a slice that consists of whole huge pages.
// The elements contain no pointers. This is only advice, so an error of the kernel does
// not matter.
func Advise[E any](s []E) {
	var e E
	p, bytes := unsafe.Pointer(unsafe.SliceData(s)), uintptr(len(s))*unsafe.Sizeof(e)
	head := -uintptr(p) % size
	if bytes < head+size {
		return
	}
	whole := (bytes - head) &^ (size - 1)
	_ = unix.Madvise(unsafe.Slice((*byte)(unsafe.Add(p, head)), whole), unix.MADV_HUGEPAGE)
}
