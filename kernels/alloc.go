package kernels

import "unsafe"

// Alloc is make([]E, n) for large arrays: it asks the system for huge pages
// where it knows how to, which saves address translation. The slice is an
// ordinary one.
func Alloc[E int32 | int64 | Float](n int) []E {
	s := make([]E, n)
	if n > 0 {
		var e E
		adviseHuge(unsafe.Pointer(unsafe.SliceData(s)), uintptr(n)*unsafe.Sizeof(e))
	}
	return s
}
