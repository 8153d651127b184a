package main

import (
	"go/ast"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// partRow matches a row of the list of parts in doc.go: the type, its files, and a
// description.
var partRow = regexp.MustCompile(`(?m)^\t(\w+) +((?:\w+\.go )*\w+\.go): `)

// TestParts reads the lists of parts in the doc.go of large packages. The methods of a
// part must be in its files. A part may hold only parts above it in the list, so its
// methods call only downwards.
func TestParts(t *testing.T) {
	t.Chdir("../../..")
	h, err := read(".")
	require.NoError(t, err)
	for _, folder := range []string{"transport/sdr", "internal/recovery", "internal/head"} {
		t.Run(folder, func(t *testing.T) {
			files, floor := make(map[string]string), make(map[string]int) // by file: the part; by part: its row in the list
			for _, row := range partRow.FindAllStringSubmatch(h.files[folder+"/doc.go"].Doc.Text(), -1) {
				floor[row[1]] = len(floor)
				for _, f := range strings.Fields(row[2]) {
					require.Contains(t, h.files, folder+"/"+f)
					files[folder+"/"+f] = row[1]
				}
			}
			require.Greater(t, len(floor), 3)
			held := make(map[string][]string) // by part: the parts that it holds
			for name, f := range h.files {
				if path.Dir(name) != folder {
					continue
				}
				for _, d := range f.Decls {
					if m, ok := d.(*ast.FuncDecl); ok && m.Recv != nil {
						part := receiver(m.Recv.List[0].Type)
						if _, is := floor[part]; is {
							require.Equal(t, part, files[name], "%s has the method %s of %s", name, m.Name.Name, part)
						}
					}
				}
				ast.Inspect(f, func(n ast.Node) bool {
					if s, ok := n.(*ast.TypeSpec); ok {
						if st, ok := s.Type.(*ast.StructType); ok {
							for _, field := range st.Fields.List {
								held[s.Name.Name] = append(held[s.Name.Name], receiver(field.Type))
							}
						}
					}
					return true
				})
			}
			for part, at := range floor {
				for _, other := range held[part] {
					if below, is := floor[other]; is {
						require.Less(t, below, at, "%s holds %s", part, other)
					}
				}
			}
		})
	}
}

// TestTypesAreSmall limits the number of methods and fields of a type. A larger type has more
// than one job.
func TestTypesAreSmall(t *testing.T) {
	const mostMethods, mostFields = 80, 30
	t.Chdir("../../..")
	h, err := read(".")
	require.NoError(t, err)
	methods, fields := h.sizes()
	require.Greater(t, len(methods), 100)
	for name, n := range methods {
		require.LessOrEqual(t, n, mostMethods, "methods of %s", name)
	}
	for name, n := range fields {
		require.LessOrEqual(t, n, mostFields, "fields of %s", name)
	}
}
