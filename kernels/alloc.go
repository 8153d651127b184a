package kernels

import "github.com/intrahpc/intra/internal/base/hugepage"

// Alloc is make([]E, n) for large arrays: on systems that support it, it requests huge
// pages, which saves address translation. The slice is an ordinary one.
func Alloc[E int32 | int64 | Float](n int) []E {
	s := make([]E, n)
	hugepage.Advise(s)
	return s
}
