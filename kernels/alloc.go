package kernels

import "github.com/intrahpc/intra/internal/base/hugepage"

// Alloc is make([]E, n) for large arrays: it asks the system for huge pages
// where it knows how to, which saves address translation. The slice is an
// ordinary one.
func Alloc[E int32 | int64 | Float](n int) []E {
	s := make([]E, n)
	hugepage.Advise(s)
	return s
}
