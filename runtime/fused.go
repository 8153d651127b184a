package runtime

import (
	"unsafe"

	"github.com/intrahpc/intra"
)

// OutFused is [intra.Out] for the only output of a task that can store its result
// twice in one pass, to s and to another place, such as the memory that the
// update is sent from: that saves reading it again. The runtime may call body
// instead of the task's own. body does what that one does and besides stores
// all of s to second, as long as s, which it does not read.
//
//	s.Launch(task, func() { kernels.Waxpby(alpha, x, beta, y, w) },
//		intra.In("x", x), intra.In("y", y),
//		runtime.OutFused("w", w, func(second []float64) {
//			kernels.WaxpbyTo(alpha, x, beta, y, w, second)
//		}))
func OutFused[T any](name string, s []T, body func(second []T)) intra.Region {
	r := intra.Out(name, s)
	if r.Err == nil && len(r.Mem) > 0 && unsafe.Alignof(*new(T)) <= reserveAlign {
		r.Fused = func(mem []byte) { body(unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(mem))), len(s))) }
	}
	return r
}

// reserveAlign divides the addresses that a transport.Reserver lends.
const reserveAlign = 64
