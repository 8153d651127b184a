package runreport

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the tables of docs/report.md")

const (
	module = "github.com/intrahpc/intra/"
	root   = "../../../"
)

// TestReferenceIsCurrent checks that the tables in docs/report.md follow from the types.
func TestReferenceIsCurrent(t *testing.T) {
	page := filepath.Join(root, "docs", "report.md")
	b, err := os.ReadFile(page)
	require.NoError(t, err)
	const heading = "## Report\n"
	head, now, found := strings.Cut(string(b), heading)
	require.True(t, found, "%s has no %q", page, heading)
	want := newReference(t).write()
	require.True(t, strings.HasPrefix(want, heading))
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(head+want), 0o644))
		return
	}
	require.True(t, want == heading+now, "docs/report.md is stale: go test ./internal/head/runreport -run Reference -update writes it")
}

// reference generates the tables of the report from the source of its types.
type reference struct {
	t        *testing.T
	packages map[string]*source // by folder from root
	objects  []*object          // in the order of the page
}

// source holds those parts of a package's source that the tables need.
type source struct {
	types   map[string]*ast.TypeSpec
	docs    map[string]string           // the doc comments of types
	values  map[string][]*ast.ValueSpec // constants by the name of their type
	imports map[string]string           // folders of the imported packages, by name
	textual map[string]bool             // types that have MarshalText
}

// object is a struct type that occurs in the report at some paths.
type object struct {
	folder, name string
	paths        []string
	fields       []field
}

type field struct {
	name, kind, meaning string
	optional            bool
	values              [][2]string // values that the field may have, with their meanings
}

func newReference(t *testing.T) *reference {
	r := &reference{t: t, packages: make(map[string]*source)}
	r.add("internal/head/runreport", "Report", ".")
	return r
}

// load reads a package.
func (r *reference) load(folder string) *source {
	if p := r.packages[folder]; p != nil {
		return p
	}
	p := &source{types: make(map[string]*ast.TypeSpec), docs: make(map[string]string), values: make(map[string][]*ast.ValueSpec), imports: make(map[string]string), textual: make(map[string]bool)}
	r.packages[folder] = p
	files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	require.NoError(r.t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		require.NoError(r.t, err)
		for _, i := range f.Imports {
			if path, ours := strings.CutPrefix(unquote(r.t, i.Path), module); ours {
				p.imports[filepath.Base(path)] = path
			}
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil && d.Name.Name == "MarshalText" {
					p.textual[d.Recv.List[0].Type.(*ast.Ident).Name] = true
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						p.types[s.Name.Name] = s
						p.docs[s.Name.Name] = cmp.Or(s.Doc.Text(), d.Doc.Text())
					case *ast.ValueSpec:
						if id, ok := s.Type.(*ast.Ident); ok && d.Tok == token.CONST {
							p.values[id.Name] = append(p.values[id.Name], s)
						}
					}
				}
			}
		}
	}
	return p
}

// add adds a struct at a path, and the structs that it contains.
func (r *reference) add(folder, name, path string) {
	i := slices.IndexFunc(r.objects, func(o *object) bool { return o.folder == folder && o.name == name })
	if i < 0 {
		i = len(r.objects)
		r.objects = append(r.objects, &object{folder: folder, name: name})
	}
	o := r.objects[i]
	o.paths = append(o.paths, path)
	o.fields = r.fields(folder, name, path)
}

// fields returns the fields of a struct, including those of embedded structs.
func (r *reference) fields(folder, name, path string) (all []field) {
	p := r.load(folder)
	spec := p.types[name]
	require.NotNil(r.t, spec, "%s.%s", folder, name)
	for _, f := range spec.Type.(*ast.StructType).Fields.List {
		if f.Names == nil { // embedded
			in, of := r.resolve(folder, f.Type)
			all = append(all, r.fields(in, of, path)...)
			continue
		}
		if f.Tag == nil {
			continue // not exported
		}
		tag, options, _ := strings.Cut(reflect.StructTag(unquote(r.t, f.Tag)).Get("json"), ",")
		if tag == "-" {
			continue
		}
		require.Len(r.t, f.Names, 1, "%s.%s: one field a line", name, tag)
		meaning := comment(f.Doc, f.Comment)
		require.NotEmpty(r.t, meaning, "%s.%s.%s has no comment", folder, name, f.Names[0].Name)
		out := field{name: tag, meaning: meaning, optional: options != ""}
		out.kind, out.values = r.kind(folder, f.Type, strings.TrimPrefix(path+"."+tag, ".."))
		all = append(all, out)
	}
	return all
}

// comment returns the comment of a field or a constant on one line, without its final full
// stop.
func comment(groups ...*ast.CommentGroup) string {
	text := ""
	for _, g := range groups {
		text += " " + g.Text()
	}
	return strings.TrimSuffix(strings.Join(strings.Fields(text), " "), ".")
}

// resolve finds the package and the name of a type.
func (r *reference) resolve(folder string, e ast.Expr) (in, name string) {
	switch e := e.(type) {
	case *ast.Ident:
		return folder, e.Name
	case *ast.SelectorExpr:
		return r.load(folder).imports[e.X.(*ast.Ident).Name], e.Sel.Name
	}
	r.t.Fatalf("%s: a type %T", folder, e)
	return "", ""
}

var basic = map[string]string{"int": "integer", "int64": "integer", "uint32": "integer", "uint64": "integer", "float64": "number", "string": "string", "bool": "boolean"}

// kind describes the JSON type of a field in words. A struct becomes an object of the page.
func (r *reference) kind(folder string, e ast.Expr, path string) (kind string, values [][2]string) {
	switch e := e.(type) {
	case *ast.StarExpr:
		return r.kind(folder, e.X, path)
	case *ast.ArrayType:
		kind, values = r.kind(folder, e.Elt, path+"[]")
		return "array of " + kind, values
	case *ast.MapType:
		kind, values = r.kind(folder, e.Value, path+".*")
		return "object of " + kind, values
	}
	in, name := r.resolve(folder, e)
	if in == "" {
		require.Equal(r.t, "Time", name)
		return "time", nil
	}
	if kind := basic[name]; kind != "" {
		return kind, nil
	}
	p := r.load(in)
	switch p.types[name].Type.(type) {
	case *ast.StructType:
		if p.textual[name] {
			return strings.ToLower(name), nil
		}
		r.add(in, name, path)
		return "object", nil
	}
	for _, v := range p.values[name] {
		meaning := comment(v.Doc, v.Comment)
		require.NotEmpty(r.t, meaning, "%s: %s", in, v.Names[0].Name)
		values = append(values, [2]string{unquote(r.t, v.Values[0].(*ast.BasicLit)), meaning})
	}
	require.NotEmpty(r.t, values, "%s.%s", in, name)
	return "string", values
}

var (
	documentInText = regexp.MustCompile(`docs/(([a-z]+)\.md(#[a-z-]+)?)`)
	codeInText     = regexp.MustCompile(`(^|[ (])(-[a-z]+(?: (?:flip|defect|weibull|sample|mpi))?|[a-z]+(?:_[a-z]+)+)\b`)
	bytesInText    = regexp.MustCompile(`in (bytes per second)`)
)

// markdown marks flags and fields in a comment as code, and documents as links.
func markdown(text string) string {
	text = codeInText.ReplaceAllString(text, "$1`$2`")
	return documentInText.ReplaceAllString(text, "[$2]($1)")
}

// unit derives the unit of a field from its name and its comment.
func (f *field) unit() string {
	switch m := bytesInText.FindStringSubmatch(f.meaning); {
	case m != nil:
		return m[1]
	case f.name == "seconds" && f.kind == "number" || strings.HasSuffix(f.name, "_seconds"):
		return "s"
	case f.name == "bytes" || strings.HasSuffix(f.name, "_bytes"):
		return "bytes"
	}
	return ""
}

// write writes the page.
func (r *reference) write() string {
	var b strings.Builder
	for i, o := range r.objects {
		if i == 0 {
			fmt.Fprintf(&b, "## Report\n\nThe fields of version %d.\n", Version)
		} else {
			fmt.Fprintf(&b, "\n## `%s`\n", strings.Join(o.paths, "`, `"))
			doc := strings.Join(strings.Fields(r.load(o.folder).docs[o.name]), " ")
			for _, verb := range []string{" is ", " are ", " holds ", " describes "} {
				if rest, ok := strings.CutPrefix(doc, o.name+verb); ok {
					doc = strings.ToUpper(rest[:1]) + rest[1:]
				}
			}
			require.False(r.t, strings.HasPrefix(doc, o.name+" "), "the comment of a type begins with %s is", o.name)
			fmt.Fprintf(&b, "\n%s\n", markdown(doc))
		}
		b.WriteString("\n| field | type | unit | meaning |\n| --- | --- | --- | --- |\n")
		for _, f := range o.fields {
			name := "`" + f.name + "`"
			if f.optional {
				name = "*" + name + "*"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, f.kind, f.unit(), markdown(f.meaning))
		}
		for _, f := range o.fields {
			if f.values == nil {
				continue
			}
			fmt.Fprintf(&b, "\n| %s | meaning |\n| --- | --- |\n", f.name)
			for _, v := range f.values {
				fmt.Fprintf(&b, "| %s | %s |\n", v[0], markdown(v[1]))
			}
		}
	}
	return b.String()
}
