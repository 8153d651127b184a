package callsite

import (
	"slices"
	"strings"
)

// libraries begin the names of functions that no user wrote: of Go itself, and
// of what calls the program and its tasks.
var libraries = []string{
	"runtime.", "runtime/", "panic(", "testing.", "created by ",
	"github.com/intrahpc/intra.", "github.com/intrahpc/intra/runtime.", "github.com/intrahpc/intra/intratest.",
	"github.com/intrahpc/intra/internal/replica/checked.", "github.com/intrahpc/intra/internal/replica/engine.",
	"github.com/intrahpc/intra/internal/launch/localjob.",
}

// UserStack returns those frames of a stack, as debug.Stack writes it, that a
// user wrote, without the values of arguments, which differ from process to
// process. A stack without such frames stays as it is.
func UserStack(stack []byte) string {
	lines := strings.Split(strings.TrimSpace(string(stack)), "\n")
	var b strings.Builder
	for i := 1; i+1 < len(lines); i += 2 {
		call, place := lines[i], lines[i+1]
		if library(call) {
			continue
		}
		if at := strings.LastIndexByte(call, '('); at > 0 {
			call = call[:at]
		}
		place, _, _ = strings.Cut(place, " +0x")
		b.WriteString(call + "\n" + writtenPlace(place) + "\n")
	}
	if b.Len() == 0 {
		return string(stack)
	}
	return b.String()
}

// library reports whether no user wrote a function.
func library(function string) bool {
	return slices.ContainsFunc(libraries, func(l string) bool { return strings.HasPrefix(function, l) })
}

// writtenPlace is the place of a frame, FILE:LINE, by the source that the user wrote.
func writtenPlace(at string) string {
	file, line, ok := strings.Cut(at, ".go:")
	source, twin := sourceOf(file + ".go")
	if !ok || !twin {
		return at
	}
	return source + " (line " + line + " of its generated twin)"
}
