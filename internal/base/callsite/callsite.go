// Package callsite finds where a call is in the user's source.
package callsite

import (
	"runtime"
	"strings"
)

// Site is the place of a call. It is resolved on demand.
type Site struct {
	at  string // the place, if it is known
	pcs [depth]uintptr
}

// unknown stands for a place that is not known.
const unknown = "unknown place"

// depth is the number of callers kept: a launcher that intragen has generated may
// be between a launch and the user's source.
const depth = 3

// At returns a site with a known place, as folder/file:line.
func At(pos string) Site { return Site{at: pos} }

// Mark sets s to the call of the function that calls Mark, or, with skip, of a
// caller that many levels up.
func (s *Site) Mark(skip int) {
	s.at = ""
	runtime.Callers(skip+3, s.pcs[:])
}

// String returns folder/file:line of the first caller in the user's source.
func (s *Site) String() string {
	if s == nil {
		return unknown
	}
	if s.at != "" {
		return s.at
	}
	n := 0
	for n < depth && s.pcs[n] != 0 {
		n++
	}
	return first(s.pcs[:n])
}

// Here returns the place of the call of the function that calls Here, however
// much generated code is in between.
func Here() string {
	var pcs [16]uintptr
	return first(pcs[:runtime.Callers(3, pcs[:])])
}

// Outside returns the place from which code was called whose functions have names
// with that prefix: the first caller with another name.
func Outside(prefix string) string {
	_, at := Into(prefix)
	return at
}

// Into is Outside, and also returns the name of the function that was called
// there, without its package; "" if no caller has such a name.
func Into(prefix string) (function, at string) {
	var pcs [24]uintptr
	return Find(pcs[:runtime.Callers(2, pcs[:])], prefix)
}

// Find is Into for callers as runtime.Callers returns them.
func Find(pcs []uintptr, prefix string) (function, at string) {
	frames := runtime.CallersFrames(pcs)
	for {
		f, more := frames.Next()
		if strings.HasPrefix(f.Function, prefix) {
			function = f.Function
		} else if source, line := written(f.File, f.Line); function != "" && line > 0 {
			function = strings.ReplaceAll(function, "[...]", "") // "[...]" stands for type arguments
			return function[strings.LastIndexByte(function, '.')+1:], place(f.Function, source, line)
		}
		if !more {
			return "", unknown
		}
	}
}

// first returns the place of the first caller in the user's source, or in a copy
// of it by intragen. If a launcher has no such caller, first returns the source
// file of its kernel.
func first(pcs []uintptr) string {
	pos, launcher := unknown, ""
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
		case pos == unknown:
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

// isTest reports whether a file is a test, perhaps of a package that is otherwise
// a library.
func isTest(file string) bool { return strings.HasSuffix(file, "_test.go") }
