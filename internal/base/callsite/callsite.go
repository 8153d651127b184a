// Package callsite finds the place of a call in the user's source.
package callsite

import (
	"runtime"
	"strings"
)

// Site is the place of a call. It is resolved on demand.
type Site struct {
	at  string // the place, once known
	pcs [depth]uintptr
}

// unknown is the text for an unknown place.
const unknown = "unknown place"

// depth is the number of callers kept. One may not suffice, because a launcher generated
// by intragen may be between a launch and the user's source.
const depth = 3

// At returns a site with a known place, as folder/file:line.
func At(pos string) Site { return Site{at: pos} }

// Mark sets s to the call of the function that calls Mark. With skip, it sets s to the
// call of a caller that many levels up.
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

// Here returns the place of the call of the function that calls Here. It skips any
// generated code in between.
func Here() string {
	var pcs [16]uintptr
	return first(pcs[:runtime.Callers(3, pcs[:])])
}

// Outside returns the place from which functions whose names begin with prefix were
// called: the first caller with another name. Code that is an io.Writer may be called through
// fmt, io or bufio. The place is then that of the call of such a package.
func Outside(prefix string) string {
	_, at := Into(prefix)
	return at
}

// Into is Outside, and also returns the name of the called function, without its package.
// The name is "" if no caller's name begins with prefix.
func Into(prefix string) (function, at string) {
	var pcs [24]uintptr
	return Find(pcs[:runtime.Callers(2, pcs[:])], prefix)
}

// Find is Into for the callers in pcs, as returned by runtime.Callers.
func Find(pcs []uintptr, prefix string) (function, at string) {
	frames := runtime.CallersFrames(pcs)
	for {
		f, more := frames.Next()
		if strings.HasPrefix(f.Function, prefix) {
			function = f.Function
		} else if source, line := written(f.File, f.Line); function != "" && line > 0 && !writes(f.Function) {
			function = strings.ReplaceAll(function, "[...]", "") // "[...]" stands for type arguments
			return function[strings.LastIndexByte(function, '.')+1:], place(f.Function, source, line)
		}
		if !more {
			return "", unknown
		}
	}
}

// writes reports whether a function is one of those that write to an io.Writer.
func writes(function string) bool {
	return strings.HasPrefix(function, "fmt.") || strings.HasPrefix(function, "io.") || strings.HasPrefix(function, "bufio.")
}

// first returns the place of the first caller in the user's source, or in a copy of it by
// intragen. If a launcher has no such caller, first returns the source file of its kernel.
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

// isTest reports whether a file is a test. A test counts as the user's source even in a
// package that otherwise counts as a library.
func isTest(file string) bool { return strings.HasSuffix(file, "_test.go") }
