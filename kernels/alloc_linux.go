package kernels

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const hugePage = 2 << 20

// adviseHuge asks for huge pages for the whole ones within the memory. It is
// advice: a kernel that has none to give changes nothing, so its answer does
// not matter.
func adviseHuge(p unsafe.Pointer, size uintptr) {
	head := -uintptr(p) % hugePage
	if size < head+hugePage {
		return
	}
	whole := (size - head) &^ (hugePage - 1)
	_ = unix.Madvise(unsafe.Slice((*byte)(unsafe.Add(p, head)), whole), unix.MADV_HUGEPAGE)
}
