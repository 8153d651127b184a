package kernels

import "github.com/intrahpc/intra/internal/base/hugepage"

// Alloc is like make([]E, n), for large arrays. On systems that support it, Alloc requests
// huge pages, which make address translation faster. The slice is an ordinary one.
func Alloc[E int32 | int64 | Float](n int) []E {
	s := make([]E, n)
	hugepage.Advise(s)
	return s
}
