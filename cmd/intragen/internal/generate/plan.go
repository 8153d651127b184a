package generate

import (
	"bytes"
	"cmp"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"

	"github.com/intrahpc/intra/annotations"
)

// state compares an output on disk with its intended text.
type state string

const (
	current state = "current"
	stale   state = "stale"
	missing state = "missing"
	orphan  state = "orphan"
)

// output is one file to write, or to remove.
type output struct {
	path   string
	source string // name of the source, with its folder
	old    []byte
	text   []byte // nil: the output has to be removed
	state  state
}

// plan computes every output of the packages, sorted by path.
func (c *checked) plan() ([]output, []Diagnostic, error) {
	var outputs []output
	var diags []Diagnostic
	planned := map[string]bool{}
	for _, pkg := range c.roots {
		ap := c.packages[pkg]
		if ap == nil {
			continue
		}
		for _, f := range ap.Files {
			path := filepath.Join(filepath.Dir(f.Name), annotations.OutputName(filepath.Base(f.Name)))
			if planned[path] {
				continue // the file is listed again in the test variant of the package
			}
			planned[path] = true
			o := output{path: path, source: f.Name}
			text, err := os.ReadFile(f.Name)
			if err != nil {
				return nil, nil, err
			}
			if len(f.Sections) > 0 {
				var more []Diagnostic
				o.text, more, err = c.twinFile(pkg, f, text)
				diags = append(diags, more...)
			} else {
				o.text, err = launcherFile(pkg.Types, f, filepath.Base(f.Name), string(text))
			}
			if err != nil {
				return nil, nil, err
			}
			d, err := o.compare()
			if err != nil {
				return nil, nil, err
			}
			diags = append(diags, d...)
			outputs = append(outputs, o)
		}
	}
	orphans, err := c.orphans(planned)
	if err != nil {
		return nil, nil, err
	}
	outputs = append(outputs, orphans...)
	slices.SortFunc(outputs, func(a, b output) int { return cmp.Compare(a.path, b.path) })
	return outputs, diags, nil
}

// compare determines the state of an output on disk. If intragen did not write the file there,
// that is an error.
func (o *output) compare() ([]Diagnostic, error) {
	old, err := os.ReadFile(o.path)
	switch {
	case os.IsNotExist(err):
		o.state = missing
		return nil, nil
	case err != nil:
		return nil, err
	case !isOurs(old):
		return []Diagnostic{{token.Position{Filename: o.path, Line: 1, Column: 1},
			fmt.Sprintf("this file was not written by intragen, which needs its name for what it makes of %s; rename one", filepath.Base(o.source))}}, nil
	}
	o.old, o.state = old, current
	if !bytes.Equal(old, o.text) {
		o.state = stale
	}
	return nil, nil
}

// orphans returns generated files whose source does not exist any more or has no directives. A
// source that this platform excludes keeps its output.
func (c *checked) orphans(planned map[string]bool) ([]output, error) {
	var found []output
	for _, dir := range c.dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if !annotations.IsOutputName(e.Name()) || planned[path] || e.IsDir() {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			source, ok := annotations.GeneratedFrom(text[:min(len(text), 1024)])
			if !ok || hasDirectives(filepath.Join(dir, source)) {
				continue
			}
			found = append(found, output{path: path, source: filepath.Join(dir, source), old: text, state: orphan})
		}
	}
	return found, nil
}

func hasDirectives(path string) bool {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if os.IsNotExist(err) {
		return false
	}
	if f == nil || err != nil {
		return true // the file cannot be read: do not report it
	}
	return annotations.FindDirectives(fset, f).Any()
}
