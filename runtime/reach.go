package runtime

import (
	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/update"
)

// Reach passes to checked mode an argument in an in clause that contains pointers, or a
// pointer to the argument. Checked mode then finds bodies that change memory to which the
// argument points. This memory is neither sent nor compared. Outside of checked mode Reach
// does nothing.
func Reach(name string, v any) intra.Region { return update.Reaches(name, v) }
