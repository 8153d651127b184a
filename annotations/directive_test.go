package annotations

import (
	"fmt"
	"go/parser"
	"go/token"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNearMisses checks comments that look almost like directives.
func TestNearMisses(t *testing.T) {
	for comment, want := range map[string]string{
		"// intra:task in(x)":   `3:1: "// intra:task" is not a directive and has no effect; write //intra:task, in lower case and without blanks before the name`,
		"//intra:Task in(x)":    `3:1: "//intra:Task" is not a directive`,
		"//intra: task in(x)":   `3:1: "//intra: task" is not a directive`,
		"//Intra:task in(x)":    `3:1: "//Intra:task" is not a directive`,
		"//+intra:task in(x)":   `3:1: "//+intra:task" is not a directive`,
		"//intra.task in(x)":    `3:1: "//intra.task" is not a directive`,
		"//intragen:task in(x)": `3:1: "//intragen:task" is not a directive`,
		"/*intra:task in(x)*/":  `3:1: "/*intra:task" is not a directive`,
		"//intra:tasks in(x)":   `3:1: unknown directive //intra:tasks (did you mean task?) (want //intra:task, //intra:section or //intra:state)`,
		"//intra:":              `3:1: unknown directive //intra: (want //intra:task, //intra:section or //intra:state)`,
		"//intra:kernel":        `3:1: unknown directive //intra:kernel (want //intra:task, //intra:section or //intra:state)`,
		"//intra:task(in x)":    `3:1: want a blank between //intra:task and (in`,
		"// intra: the runtime": "",
		"// Package intra: why": "",
		"//other:task in(x)":    "",
		"//intra:task in(x)":    "",
	} {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "f.go", "package p\n\n"+comment+"\nfunc f(x []int) {}\n", parser.ParseComments)
		require.NoError(t, err)
		d := FindDirectives(fset, f)
		if want == "" {
			require.Empty(t, d.Errors, comment)
			continue
		}
		require.Len(t, d.Errors, 1, comment)
		p := fset.Position(d.Errors[0].Pos)
		require.Contains(t, fmt.Sprintf("%d:%d: %s", p.Line, p.Column, d.Errors[0].Msg), want)
	}
}

// FuzzFindDirectives requires that FindDirectives finds every directive of a Go file, or
// reports an error at the directive.
func FuzzFindDirectives(f *testing.F) {
	for _, text := range []string{
		"package p\n\n//intra:task in(x)\nfunc f(x int) {}\n",
		"package p\n\nfunc f() {\n\t//intra:section on(p)\n\tfor {\n\t}\n}\n",
		"package p\n\nfunc f() { //intra:section\n\t{\n\t}\n}\n//intra:section",
		"package p\n//intra:task\ntype t int\n//intra:\n",
		"package p\n\n//intra:state skip(x)\ntype t struct{ x int }\n\ntype (\n\t//intra:state\n\tu struct{}\n)\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "f.go", text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return
		}
		d := FindDirectives(fset, file)
		require.Len(t, d.Sections, len(d.Order))
		comments := map[token.Pos]bool{}
		found := 0
		for _, g := range file.Comments {
			for _, c := range g.List {
				comments[c.Pos()] = true
				if dir, err := parseDirective(c); err != nil || dir.Name != "" {
					found++
				}
			}
		}
		tasks := 0 // functions and types with directives
		for _, dirs := range d.Tasks {
			tasks += len(dirs)
		}
		for _, dirs := range d.States {
			tasks += len(dirs)
		}
		require.Equal(t, found, tasks+len(d.Sections)+len(d.Errors))
		for _, e := range d.Errors {
			require.True(t, comments[e.Pos])
		}
	})
}
