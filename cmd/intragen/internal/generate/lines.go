package generate

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"strings"
)

// linesHere stands for the table of lines in a twin until the table is known.
const linesHere = "intragen: lines"

// folder returns the name of the source's folder. For the root of a module it is the last
// element of the module path, since a clone may be in a folder of any name.
func (t *twin) folder() string {
	dir := filepath.Dir(t.file.Name)
	if m := t.pkg.Module; m != nil && m.Dir == dir {
		return path.Base(m.Path)
	}
	return filepath.Base(dir)
}

func (t *twin) line(pos token.Pos) int { return t.c.fset.Position(pos).Line }

// lineTable returns the line of the source for each line of the twin's text, in the form that
// callsite.AddLines reads. The declarations of the source are the last declarations of the
// twin.
func (t *twin) lineTable(text []byte) (string, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", text, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	sources, twins := declared(t.file.Syntax), declared(f)
	twins = twins[len(twins)-len(sources):]
	sourceLines, twinLines := trimmed(t.text), trimmed(text)
	var table []string
	sections := t.file.Sections
	for i, d := range twins {
		first, last := fset.Position(d.Pos()).Line, fset.Position(d.End()).Line
		from, to := t.line(sources[i].Pos()), t.line(sources[i].End())
		pairs := t.pair(sourceLines[from-1:to], twinLines[first-1:last])
		shift := 0
		for k, p := range pairs {
			line := from + p
			if strings.HasPrefix(twinLines[first-1+k], t.section+" := ") {
				line, sections = t.line(sections[0].Stmt.Pos()), sections[1:]
			}
			if at := first + k; k == 0 || line-at != shift {
				table = append(table, fmt.Sprintf("%d:%d", at, line))
				shift = line - at
			}
		}
	}
	return strings.Join(table, " "), nil
}

// declared returns all declarations of a file except its imports.
func declared(f *ast.File) (all []ast.Decl) {
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); !ok || g.Tok != token.IMPORT {
			all = append(all, d)
		}
	}
	return all
}

func trimmed(text []byte) []string {
	all := lines(text)
	for i, l := range all {
		all[i] = strings.TrimSpace(l)
	}
	return all
}

// pair returns the source line, counted from 0, for each line of a twin's declaration. A
// rewritten line corresponds to the line that it replaces. An added line corresponds to the
// line before it.
func (t *twin) pair(source, twin []string) []int {
	pairs := make([]int, len(twin))
	edits := compareLines(source, twin)
	for i := 0; i < len(edits); {
		if edits[i].op == ' ' {
			pairs[edits[i].b] = edits[i].a
			i++
			continue
		}
		first, gone := edits[i].a, 0
		var made []int
		for ; i < len(edits) && edits[i].op != ' '; i++ {
			switch e := edits[i]; {
			case e.op == '-':
				gone++
			case strings.HasPrefix(e.text, t.section+" := "), e.text == t.section+".MustEnd()":
				pairs[e.b] = max(first-1+gone, 0)
			default:
				made = append(made, e.b)
			}
		}
		for k, b := range made {
			pairs[b] = max(first+min(k, gone-1), 0)
		}
	}
	return pairs
}
