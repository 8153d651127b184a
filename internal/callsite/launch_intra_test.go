package callsite_test

import "github.com/intrahpc/intra/internal/callsite"

// launcher is in a file with a name like those that intragen writes.
//
//go:noinline
func launcher() callsite.Site { return launch(0) }
