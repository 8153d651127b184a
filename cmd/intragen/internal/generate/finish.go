package generate

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"strings"

	"github.com/dave/dst"
	"github.com/dave/dst/decorator"
)

// finish prints the twin without go:generate lines. It checks that the printed tree is the
// intended one.
func (t *twin) finish(f *dst.File) ([]byte, error) {
	r := decorator.NewRestorer()
	restored, err := r.RestoreFile(f)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := format.Node(&b, r.Fset, restored); err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	printed, err := parser.ParseFile(fset, "", b.Bytes(), parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if dump(restored) != dump(printed) {
		return nil, fmt.Errorf("the printed file differs from the one that was meant; please report this")
	}
	t.commentsKept(printed)
	text := b.Bytes()
	for i := len(printed.Comments) - 1; i >= 0; i-- {
		for j := len(printed.Comments[i].List) - 1; j >= 0; j-- {
			if c := printed.Comments[i].List[j]; strings.HasPrefix(c.Text, "//go:generate ") {
				at, end := fset.Position(c.Pos()).Offset, fset.Position(c.End()).Offset
				text = append(text[:at:at], bytes.TrimPrefix(text[end:], []byte("\n"))...)
			}
		}
	}
	if text, err = format.Source(text); err != nil {
		return nil, err
	}
	table, err := t.lineTable(text)
	return bytes.Replace(text, []byte(linesHere), []byte(table), 1), err
}

// commentsKept rejects a twin that has lost a comment. That happens, for example, to a comment
// in the middle of a call.
func (t *twin) commentsKept(printed *ast.File) {
	count := map[string]int{}
	for _, g := range printed.Comments {
		for _, c := range g.List {
			count[strings.TrimSpace(c.Text)]++
		}
	}
	for _, g := range t.file.Syntax.Comments {
		for _, c := range g.List {
			if strings.HasPrefix(c.Text, "//go:build ") || strings.HasPrefix(c.Text, "// +build ") {
				continue
			}
			text := strings.TrimSpace(c.Text)
			if count[text]--; count[text] < 0 {
				t.fail(c.Pos(), "this comment would be lost in the twin; move it to a line of its own")
			}
		}
	}
}

// roundTrip checks that dst reproduces the source unchanged.
func (t *twin) roundTrip(f *dst.File) error {
	r := decorator.NewRestorer()
	restored, err := r.RestoreFile(dst.Clone(f).(*dst.File))
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := format.Node(&b, r.Fset, restored); err != nil {
		return err
	}
	printed, err := parser.ParseFile(token.NewFileSet(), "", b.Bytes(), parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if dump(t.file.Syntax) != dump(printed) {
		return fmt.Errorf("the syntax tree changes when it is printed; please report this")
	}
	return nil
}

// dump writes the tree without positions and comments.
func dump(f *ast.File) string {
	var b strings.Builder
	for _, d := range f.Decls {
		dumpNode(&b, d)
	}
	return b.String()
}

func parseStmt(text string) (dst.Stmt, error) {
	f, err := decorator.Parse("package p\n\nfunc _() {\n" + text + "\n}\n")
	if err != nil {
		return nil, err
	}
	return f.Decls[0].(*dst.FuncDecl).Body.List[0], nil
}
