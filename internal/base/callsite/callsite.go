// Package callsite says for people where in the user's source a call stands.
package callsite

import (
	"runtime"
	"strings"
)

// Site is the place of a call. It is looked up when it is asked for.
type Site struct {
	at  string // if it is known
	pcs [depth]uintptr
}

// depth is how many callers are kept: a launcher that intragen wrote may stand
// between a launch and the user's source.
const depth = 3

// At returns a site that is known: folder/file:line.
func At(pos string) Site { return Site{at: pos} }

// Mark makes s the place from which the function was called that calls Mark,
// or the callers of that that many levels up.
func (s *Site) Mark(skip int) {
	s.at = ""
	runtime.Callers(skip+3, s.pcs[:])
}

// String returns folder/file:line, of the first caller that a user wrote.
func (s *Site) String() string {
	if s.at != "" {
		return s.at
	}
	n := 0
	for n < depth && s.pcs[n] != 0 {
		n++
	}
	return first(s.pcs[:n])
}

// Here returns the place from which the function was called that calls Here,
// through as much generated code as there may be.
func Here() string {
	var pcs [16]uintptr
	return first(pcs[:runtime.Callers(3, pcs[:])])
}

// Outside returns the place from which code was called whose functions have
// names that begin with prefix: that of its first caller with another one.
func Outside(prefix string) string {
	_, at := Into(prefix)
	return at
}

// Into is Outside that also returns the name of the function that was called
// there, without its package: "" if no caller has such a name.
func Into(prefix string) (function, at string) {
	var pcs [24]uintptr
	return Find(pcs[:runtime.Callers(2, pcs[:])], prefix)
}

// Find is Into among these callers, as runtime.Callers returns them.
func Find(pcs []uintptr, prefix string) (function, at string) {
	frames := runtime.CallersFrames(pcs)
	for {
		f, more := frames.Next()
		if strings.HasPrefix(f.Function, prefix) {
			function = f.Function
		} else if source, line := written(f.File, f.Line); function != "" && line > 0 {
			function = strings.ReplaceAll(function, "[...]", "") // stands for types
			return function[strings.LastIndexByte(function, '.')+1:], place(f.Function, source, line)
		}
		if !more {
			return "", "unknown place"
		}
	}
}

// first is the place of the first caller that a user wrote, perhaps as intragen has copied
// it. If a launcher has no such caller it is the source of the kernel.
func first(pcs []uintptr) string {
	pos, launcher := "unknown place", ""
	if len(pcs) == 0 {
		return pos
	}
	frames := runtime.CallersFrames(pcs)
	for {
		f, more := frames.Next()
		source, line := written(f.File, f.Line)
		switch {
		case f.File == "":
		case line == 0:
			if launcher == "" {
				launcher = place(f.Function, source, 0)
			}
		case !library(f.Function) || isTest(f.File):
			return place(f.Function, source, line)
		case pos == "unknown place":
			pos = place(f.Function, source, line)
		}
		if !more {
			if launcher != "" {
				return launcher
			}
			return pos
		}
	}
}

// isTest: the file is a test, perhaps of what is a library to others.
func isTest(file string) bool { return strings.HasSuffix(file, "_test.go") }
