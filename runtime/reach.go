package runtime

import (
	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/update"
)

// Reach gives checked mode an argument in in that holds pointers, or a pointer to it: it
// finds bodies that change what the argument leads to. Nothing of it is sent or compared,
// and without checks it does nothing.
func Reach(name string, v any) intra.Region { return update.Reaches(name, v) }
