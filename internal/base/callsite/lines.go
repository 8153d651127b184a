package callsite

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"sync"
)

// tables hold the table of lines of each twin, by its full name. Twins add theirs when the
// program starts.
var tables sync.Map

// AddLines adds the table of a twin: pairs TWIN:SOURCE with spaces between them, each the
// line of the twin from which on the lines of both go on in step. Lines before the first
// pair are nobody's.
func AddLines(twin, table string) { tables.Store(twin, table) }

// written returns the place in the user's source of a line in a file. A line that intragen
// has made itself has none: of such a file only the source is known, with line 0.
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

// place names a line for people, with the folder of its package.
func place(function, file string, line int) string {
	name := path.Join(folder(function, file), filepath.Base(file))
	if line == 0 {
		return name
	}
	return fmt.Sprintf("%s:%d", name, line)
}

// folder is the last part of the path by which the package of a function is imported, so that
// the folder of a clone may have any name. A program has no such path, but a folder.
func folder(function, file string) string {
	pkg, _, _ := strings.Cut(function[strings.LastIndexByte(function, '/')+1:], ".")
	if pkg = strings.ReplaceAll(strings.TrimSuffix(pkg, "_test"), "%2e", "."); pkg == "main" || pkg == "" {
		return path.Base(path.Dir(filepath.ToSlash(file)))
	}
	return pkg
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
	return file, false
}
