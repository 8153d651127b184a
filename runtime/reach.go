package runtime

import (
	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/update"
)

// Reach gives checked mode an argument in in that contains pointers, or a pointer to it.
// Checked mode then finds bodies that change memory to which the argument leads. This
// memory is neither sent nor compared. Without checks Reach does nothing.
func Reach(name string, v any) intra.Region { return update.Reaches(name, v) }
