package runtime

import (
	"fmt"

	"github.com/intrahpc/intra"
)

// Elementwise declares that element i of a task's results depends on no other element of
// the results, so that the task may run for some elements at a time. The runtime may call
// body instead of the task's own body, once for each part of the elements, from the first
// to the last. r is one of the regions that the task writes; all of them must have the same
// number of elements.
//
//	s.Launch(task, func() { kernels.Waxpby(alpha, x, beta, y, w) },
//		intra.In("x", x), intra.In("y", y),
//		runtime.Elementwise(intra.Out("w", w), func(lo, hi int) {
//			kernels.Waxpby(alpha, x[lo:hi], beta, y[lo:hi], w[lo:hi])
//		}))
//
// Replicas that store their results in each other's arrays can then do so while they
// compute.
func Elementwise(r intra.Region, body func(lo, hi int)) intra.Region {
	switch {
	case r.Err() != nil:
	case r.IsBlock() || !r.Mode.Written():
		r.Fail(fmt.Errorf("%s(%s): what Elementwise is about has to be a slice that the task writes", r.Mode, r.Name))
	case r.Len() > 0:
		r.SetElementwise(body)
	}
	return r
}
