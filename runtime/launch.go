package runtime

import (
	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/internal/replica/slots"
)

// Slot returns the memory of the next launch of t in s: its arguments, and the closures
// that call the kernel with them. If Body is nil, the launcher has to make the closures.
// Later sections use the memory again.
func Slot[A any](s *intra.Section, t *intra.Task) *slots.Slot[A] {
	return slots.Next[A](s.Slots(t).(*slots.List))
}
