package runtime

import (
	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/internal/replica/slots"
)

// Slot returns the memory of the next launch of t in s: its arguments, and the closures that
// call the kernel with them. The launcher makes the closures if Body is nil. After that the
// memory is used again, by later sections.
func Slot[A any](s *intra.Section, t *intra.Task) *slots.Slot[A] {
	return slots.Next[A](s.Slots(t).(*slots.List))
}
