package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// api is the set of exports of a package: top-level names, and members of types (methods,
// fields) as Type.Name.
type api map[string]bool

// exported reads the sources of a package of this module.
func exported(t *testing.T, folder string) api {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	require.NoError(t, err)
	all := make(api)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range f.Decls {
			all.declared(d)
		}
	}
	require.NotEmpty(t, all, folder)
	return all
}

func (a api) declared(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			a[d.Name.Name] = true
		} else {
			a[typeName(d.Recv.List[0].Type)+"."+d.Name.Name] = true
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, n := range s.Names {
					a[n.Name] = true
				}
			case *ast.TypeSpec:
				a[s.Name.Name] = true
				if fields, ok := s.Type.(*ast.StructType); ok {
					for _, f := range fields.Fields.List {
						for _, n := range f.Names {
							a[s.Name.Name+"."+n.Name] = true
						}
					}
				}
			}
		}
	}
}

// typeName returns the name of a receiver's type.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.IndexListExpr:
		return typeName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

var qualified = regexp.MustCompile(`\b([a-z]\w*)\.([A-Z]\w*)`)

// Each name of a package that a document mentions must exist, and so must each method of
// the process p. On the page about MPI, c is a communicator, r a request and g a group.
func TestNames(t *testing.T) {
	packages := map[string]api{
		"intra": exported(t, "."), "comm": exported(t, "comm"), "kernels": exported(t, "kernels"),
		"matrix": exported(t, "kernels/matrix"), "intratest": exported(t, "intratest"),
		"sched": exported(t, "sched"), "update": exported(t, "update"), "transport": exported(t, "transport"),
		"annotations": exported(t, "annotations"),
	}
	receivers := map[string]string{"c": "Comm", "r": "Request", "g": "Group"}
	checked := 0
	for _, d := range documents(t) {
		for _, code := range d.code() {
			for _, m := range qualified.FindAllStringSubmatch(code, -1) {
				switch p := packages[m[1]]; {
				case p != nil:
					require.Contains(t, p, m[2], "%s names %s", d.name, code)
				case m[1] == "p":
					require.Contains(t, packages["intra"], "Process."+m[2], "%s names %s", d.name, code)
				case d.name == "docs/from-mpi.md" && receivers[m[1]] != "":
					require.Contains(t, packages["comm"], receivers[m[1]]+"."+m[2], "%s names %s", d.name, code)
				default:
					continue
				}
				checked++
			}
		}
	}
	require.Greater(t, checked, 100)
}

// The page about MPI names every call of package comm.
func TestAllCallsOfCommAreListed(t *testing.T) {
	d := find(t, "docs/from-mpi.md")
	text := strings.Join(d.code(), "\n")
	receivers := map[string]string{"Comm": "c", "Request": "r", "Group": "g"}
	// World is for code that connects ranks by itself. Number is a constraint.
	elsewhere := map[string]bool{"World": true, "Number": true, "Comm": true}
	checked := 0
	for name := range exported(t, "comm") {
		call := "comm." + name
		if typ, method, ok := strings.Cut(name, "."); ok {
			if receivers[typ] == "" || !ast.IsExported(method) {
				continue
			}
			call = receivers[typ] + "." + method
		} else if !ast.IsExported(name) || elsewhere[name] || strings.HasPrefix(name, "Err") {
			continue
		}
		checked++
		require.Regexp(t, `\b`+regexp.QuoteMeta(call)+`\b`, text, "%s is not listed", call)
	}
	require.Greater(t, checked, 70)
}

// The API overview contains every package that other modules can import. Its arguments for
// go doc are valid.
func TestApiOverview(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Name}} {{.ImportPath}}", "./...")
	cmd.Dir, cmd.Stderr = root, t.Output()
	out, err := cmd.Output()
	require.NoError(t, err)
	d := find(t, "docs/api.md")
	named := make(map[string]bool)
	for _, code := range d.code() {
		named[code] = true
		args, ok := strings.CutPrefix(code, "go doc ")
		switch name, isFolder := strings.CutPrefix(args, "./"); {
		case !ok || args == ".":
		case isFolder && !strings.Contains(name, " "): // the list has all packages: go doc takes longer
			require.Contains(t, string(out), " "+module+name+"\n", code)
		default:
			cmd := exec.CommandContext(t.Context(), "go", append([]string{"doc"}, strings.Fields(args)...)...)
			cmd.Dir = root
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s\n%s", code, out)
		}
	}
	checked := 0
	for line := range strings.Lines(string(out)) {
		name, path, _ := strings.Cut(strings.TrimSpace(line), " ")
		path = strings.TrimPrefix(path, module)
		if name == "main" || strings.Contains("/"+path+"/", "/internal/") || strings.HasPrefix(path, "examples/") {
			continue
		}
		if path+"/" == module {
			path = name
		}
		checked++
		require.Contains(t, named, path, "not in the overview")
	}
	require.Greater(t, checked, 15)
}
