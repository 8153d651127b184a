package runreport

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// documented is the content of docs/report.md: the fields of each object, and the values in
// its other tables, by the heading of each table.
type documented struct {
	fields map[string]bool // by path, like failures[].cause; true: the field is optional
	values map[string][]string
}

var (
	codeSpan = regexp.MustCompile("`([^`]+)`")
	firstRow = regexp.MustCompile(`^\| (\S+) \|`)
)

func readReportDoc(t *testing.T) documented {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "report.md"))
	require.NoError(t, err)
	d := documented{make(map[string]bool), make(map[string][]string)}
	objects, table := []string{"."}, ""
	for line := range strings.Lines(string(text)) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			objects, table = nil, ""
			for _, m := range codeSpan.FindAllStringSubmatch(heading, -1) {
				objects = append(objects, m[1])
			}
			if objects == nil {
				objects = []string{"."}
			}
			continue
		}
		m := firstRow.FindStringSubmatch(line)
		switch {
		case m == nil:
			table = ""
		case table == "":
			table = m[1]
		case strings.HasPrefix(m[1], "---"):
		case table == "field":
			name := strings.Trim(m[1], "*`")
			for _, o := range objects {
				path := strings.TrimPrefix(o+"."+name, "..")
				require.NotContains(t, d.fields, path, "twice")
				d.fields[path] = strings.HasPrefix(m[1], "*")
			}
		default:
			d.values[table] = append(d.values[table], m[1])
		}
	}
	return d
}

// fieldsOf adds the fields of a type as JSON, under a path.
func fieldsOf(path string, t reflect.Type, all map[string]bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, tagged := f.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case f.Anonymous && !tagged:
			fieldsOf(path, f.Type, all)
			continue
		case !f.IsExported() || name == "-":
			continue
		}
		at := strings.TrimPrefix(path+"."+name, ".")
		all[at] = options != ""
		inside := f.Type
		for done := false; !done; {
			switch inside.Kind() {
			case reflect.Pointer:
				inside = inside.Elem()
			case reflect.Slice:
				at, inside = at+"[]", inside.Elem()
			case reflect.Map:
				at, inside = at+".*", inside.Elem()
			default:
				done = true
			}
		}
		text := reflect.PointerTo(inside).Implements(reflect.TypeFor[interface{ MarshalText() ([]byte, error) }]())
		if inside.Kind() == reflect.Struct && !text && inside != reflect.TypeFor[time.Time]() {
			fieldsOf(at, inside, all)
		}
	}
}

// TestReportIsDocumented checks that docs/report.md lists exactly the fields of the report.
func TestReportIsDocumented(t *testing.T) {
	doc, code := readReportDoc(t), make(map[string]bool)
	fieldsOf("", reflect.TypeFor[Report](), code)
	require.Equal(t, slices.Sorted(maps.Keys(code)), slices.Sorted(maps.Keys(doc.fields)))
	require.Equal(t, code, doc.fields, "which fields may be left out")
	require.Greater(t, len(code), 70)
}

// TestValuesOfTheReportAreDocumented checks that docs/report.md lists exactly the causes and
// ends that the code has.
func TestValuesOfTheReportAreDocumented(t *testing.T) {
	doc := readReportDoc(t)
	require.ElementsMatch(t, constants(t, "../../job/verdict.go", "Cause"), doc.values["cause"])

	var ends []string
	files, err := filepath.Glob("../*.go")
	require.NoError(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			if by, ok := n.(*ast.FuncDecl); ok && (by.Name.Name == "endBy" || by.Name.Name == "endOf") {
				ast.Inspect(by, func(n ast.Node) bool {
					if r, ok := n.(*ast.ReturnStmt); ok {
						ends = append(ends, unquote(t, r.Results[0].(*ast.BasicLit)))
					}
					return true
				})
			}
			a, ok := n.(*ast.AssignStmt)
			if !ok || len(a.Lhs) != len(a.Rhs) {
				return true
			}
			for i, l := range a.Lhs {
				s, isField := l.(*ast.SelectorExpr)
				v, isText := a.Rhs[i].(*ast.BasicLit)
				if isField && isText && s.Sel.Name == "end" && v.Kind == token.STRING {
					ends = append(ends, unquote(t, v))
				}
			}
			return true
		})
	}
	slices.Sort(ends)
	require.ElementsMatch(t, slices.Compact(ends), doc.values["end"])
}

// constants returns the values of the constants of a string type in a file.
func constants(t *testing.T, file, typ string) (values []string) {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.ValueSpec); ok {
			if id, ok := s.Type.(*ast.Ident); ok && id.Name == typ {
				for _, v := range s.Values {
					values = append(values, unquote(t, v.(*ast.BasicLit)))
				}
			}
		}
		return true
	})
	require.NotEmpty(t, values)
	return values
}

func unquote(t *testing.T, l *ast.BasicLit) string {
	s, err := strconv.Unquote(l.Value)
	require.NoError(t, err)
	return s
}
