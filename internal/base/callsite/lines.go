package callsite

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"sync"
)

// tables holds the line table of each twin, by the full name of the twin. A twin is the
// copy of a source file that intragen generates. Twins add their tables when the program
// starts.
var tables sync.Map

// AddLines adds the line table of a twin: pairs TWIN:SOURCE of line numbers, separated by
// spaces. After each pair, the lines of both files advance together until the next pair. Lines
// before the first pair have no source.
func AddLines(twin, table string) { tables.Store(twin, table) }

// written returns the place in the user's source for a line of a file. For lines that
// intragen has generated it returns the source file and line 0.
func written(file string, line int) (source string, at int) {
	source, twin := sourceOf(file)
	if !twin {
		return file, line
	}
	table, _ := tables.Load(file)
	pairs, _ := table.(string)
	for pair := range strings.FieldsSeq(pairs) {
		var from, to int
		if _, err := fmt.Sscanf(pair, "%d:%d", &from, &to); err != nil || from > line {
			break
		}
		at = to + line - from
	}
	return source, at
}

// place returns a readable name of a line, including the folder of its package.
func place(function, file string, line int) string {
	name := path.Join(folder(function, file), filepath.Base(file))
	if line == 0 {
		return name
	}
	return fmt.Sprintf("%s:%d", name, line)
}

// folder returns the last element of the import path of a function's package. The name of
// the folder itself may differ, for example in a clone. The import path of a main package
// is unknown here, so for it folder returns the name of the folder.
func folder(function, file string) string {
	pkg, _, _ := strings.Cut(function[strings.LastIndexByte(function, '/')+1:], ".")
	if pkg = strings.ReplaceAll(strings.TrimSuffix(pkg, "_test"), "%2e", "."); pkg == "main" || pkg == "" {
		return path.Base(path.Dir(filepath.ToSlash(file)))
	}
	return pkg
}

// twinEnds are the suffixes of files that intragen generates, each with the suffix of its
// source.
var twinEnds = [][2]string{{"_intra.go", ".go"}, {"_intra_test.go", "_test.go"}}

// sourceOf returns the source from which intragen has generated a file. ok is false if it
// has not.
func sourceOf(file string) (source string, ok bool) {
	for _, end := range twinEnds {
		if name, ok := strings.CutSuffix(file, end[0]); ok {
			return name + end[1], true
		}
	}
	return file, false
}
