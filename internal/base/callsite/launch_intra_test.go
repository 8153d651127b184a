package callsite_test

import "github.com/intrahpc/intra/internal/base/callsite"

// launcher is in a file with a name like those that intragen writes.
//
//go:noinline
func launcher() callsite.Site { return launch(0) }

// fromTwin sends its own place.
func fromTwin(to chan<- string) {
	s := launch(0)
	to <- s.String()
}
