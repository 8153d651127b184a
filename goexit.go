package intra

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/intrahpc/intra/internal/base/callsite"
)

// goexit describes a goroutine of the program that has ended by runtime.Goexit. Goexit
// cannot be recovered, so a deferred function reports it to the goroutine that waits for
// the program.
type goexit struct {
	where string // function that has not returned
	at    string // file:line of the call
	stack []byte
}

func (e *goexit) Error() string {
	return fmt.Sprintf("%s called runtime.Goexit (%s), so it never returns: return an error instead\n\n%s", e.where, e.at, callsite.UserStack(e.stack))
}

// ownCalls is the prefix of the functions of this module that end the goroutine of a
// program on purpose: at a kill point, or at the end of a trial of checked mode.
const ownCalls = "github.com/intrahpc/intra/internal/"

// endedHere is called in a deferred function. If the program called runtime.Goexit,
// endedHere returns a description of that; otherwise it returns nil.
func endedHere(where string) *goexit {
	var pcs [24]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for found, more := false, true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		switch {
		case f.Function == "runtime.Goexit":
			found = true
		case found && strings.HasPrefix(f.Function, ownCalls):
			return nil
		case found:
			_, at := callsite.Into("runtime.Goexit")
			return &goexit{where, at, debug.Stack()}
		}
	}
	return nil
}
