// Package callsite says for people where in the user's source a call stands.
package callsite

import (
	"fmt"
	"path/filepath"
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

// At returns a site that is known: file:line.
func At(pos string) Site { return Site{at: pos} }

// Mark makes s the place from which the function was called that calls Mark,
// or the callers of that that many levels up.
func (s *Site) Mark(skip int) {
	s.at = ""
	runtime.Callers(skip+3, s.pcs[:])
}

// String returns file:line, of the first caller that a user wrote.
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
		} else if function != "" {
			function = strings.ReplaceAll(function, "[...]", "") // stands for types
			return function[strings.LastIndexByte(function, '.')+1:], place(f.File, f.Line)
		}
		if !more {
			return "", "unknown place"
		}
	}
}

// first is the place of the first caller that a user wrote: as it was written, or else as
// intragen has copied it into a twin.
func first(pcs []uintptr) string {
	pos, twin := "unknown place", ""
	if len(pcs) == 0 {
		return pos
	}
	frames := runtime.CallersFrames(pcs)
	for {
		f, more := frames.Next()
		switch {
		case f.File == "":
		case generated(f.File):
			if twin == "" {
				twin = place(f.File, f.Line)
			}
		case !library(f.Function) || isTest(f.File):
			return place(f.File, f.Line)
		case pos == "unknown place":
			pos = place(f.File, f.Line)
		}
		if !more {
			if twin != "" {
				return twin
			}
			return pos
		}
	}
}

// place names a line for people. Of a twin it names the source, which the user has written.
func place(file string, line int) string {
	if source, ok := sourceOf(filepath.Base(file)); ok {
		return fmt.Sprintf("%s (line %d of its generated twin)", source, line)
	}
	return fmt.Sprintf("%s:%d", filepath.Base(file), line)
}

// twinEnds end the names of files that intragen has written, and of their sources.
var twinEnds = [][2]string{{"_intra.go", ".go"}, {"_intra_test.go", "_test.go"}}

// sourceOf returns from what intragen has written a file, if it has.
func sourceOf(file string) (source string, ok bool) {
	for _, end := range twinEnds {
		if name, ok := strings.CutSuffix(file, end[0]); ok {
			return name + end[1], true
		}
	}
	return "", false
}

// generated: the file was written by intragen.
func generated(file string) bool {
	_, ok := sourceOf(file)
	return ok
}

// isTest: the file is a test, perhaps of what is a library to others.
func isTest(file string) bool { return strings.HasSuffix(file, "_test.go") }
