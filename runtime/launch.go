package runtime

import (
	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/internal/replica/slots"
	"github.com/intrahpc/intra/update"
)

// Slot returns the memory of the next launch of t in s: its arguments, the closures that call
// the kernel with them, and its regions. If Body is nil, the launcher has to make the closures
// and the regions. Later sections use the memory again: the launcher then sets only the regions
// of memory outside the arguments.
func Slot[A any](s *intra.Section, t *intra.Task) *slots.Slot[A] {
	return slots.Next[A](s.Slots(t).(*slots.List))
}

// Set makes r, a region of a slice, a region of the elements of v.
func Set[T any](r *intra.Region, v []T) { update.Set(r, v) }
