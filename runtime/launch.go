package runtime

import (
	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/internal/replica/slots"
	"github.com/intrahpc/intra/update"
)

// Slot returns the memory of the next launch of t in s: its arguments, the closures that call
// the kernel with them, and its regions. The launcher makes the closures and the regions if
// Body is nil. After that the memory is used again, by later sections: the launcher then only
// sets the regions of memory that is not in the arguments.
func Slot[A any](s *intra.Section, t *intra.Task) *slots.Slot[A] {
	return slots.Next[A](s.Slots(t).(*slots.List))
}

// Set makes r, a region of a slice, one of the elements of v.
func Set[T any](r *intra.Region, v []T) { update.Set(r, v) }
