// House prints figures about the structure of this module: the sizes of its rooms (groups
// of packages), the imports between them, and its largest types. It also draws comments at
// random for a reader to judge.
//
//	house sizes
//	house comments [SEED]
package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const module = "github.com/intrahpc/intra"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	h, err := read(".")
	if err != nil {
		return err
	}
	switch {
	case len(args) == 1 && args[0] == "sizes":
		h.rooms()
		h.types()
		return nil
	case len(args) > 0 && args[0] == "comments":
		seed := uint64(1)
		if len(args) > 1 {
			if seed, err = strconv.ParseUint(args[1], 10, 64); err != nil {
				return fmt.Errorf("seed %q: want a number", args[1])
			}
		}
		h.comments(seed)
		return nil
	}
	return errors.New("want `sizes` or `comments [SEED]`")
}

// house is the Go source of the module without tests, examples and generated files.
type house struct {
	set   *token.FileSet
	files map[string]*ast.File // by path
}

func read(root string) (*house, error) {
	h := &house{token.NewFileSet(), make(map[string]*ast.File)}
	return h, filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if base := d.Name(); base == "testdata" || base == "examples" || strings.HasPrefix(base, ".") && base != "." {
				return fs.SkipDir
			}
			return nil
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_intra.go"):
			return nil
		}
		f, err := parser.ParseFile(h.set, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err == nil && !ast.IsGenerated(f) {
			h.files[filepath.ToSlash(name)] = f
		}
		return err
	})
}

// room returns the room of a folder: a folder in internal/, or one at the top.
func room(folder string) string {
	parts := strings.SplitN(folder, "/", 3)
	if parts[0] == "internal" && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

// rooms prints the lines of each room, its share, and the rooms that it imports.
func (h *house) rooms() {
	lines, imports, all := make(map[string]int), make(map[string]map[string]bool), 0
	for name, f := range h.files {
		r := room(path.Dir(name))
		n := h.set.File(f.FileStart).LineCount()
		lines[r] += n
		all += n
		if imports[r] == nil {
			imports[r] = make(map[string]bool)
		}
		for _, i := range f.Imports {
			p := strings.Trim(i.Path.Value, `"`)
			if below, ours := strings.CutPrefix(p, module); ours {
				if to := room(cmp.Or(strings.TrimPrefix(below, "/"), ".")); to != r {
					imports[r][to] = true
				}
			}
		}
	}
	bySize := slices.SortedFunc(maps.Keys(lines), func(a, b string) int { return lines[b] - lines[a] })
	for _, r := range bySize {
		fmt.Printf("%6d lines %4.1f %%  %-18s imports %s\n", lines[r], 100*float64(lines[r])/float64(all), r, strings.Join(slices.Sorted(maps.Keys(imports[r])), " "))
		for to := range imports[r] {
			if imports[to][r] && r < to {
				fmt.Printf("       %s and %s import each other\n", r, to)
			}
		}
	}
}

// sizes returns the number of methods and fields of each type.
func (h *house) sizes() (methods, fields map[string]int) {
	methods, fields = make(map[string]int), make(map[string]int)
	for name, f := range h.files {
		dir := path.Dir(name)
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					methods[dir+"."+receiver(d.Recv.List[0].Type)]++
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if t, ok := s.(*ast.TypeSpec); ok {
						if st, ok := t.Type.(*ast.StructType); ok {
							fields[dir+"."+t.Name.Name] = st.Fields.NumFields()
						}
					}
				}
			}
		}
	}
	return methods, fields
}

// types prints the types with the most methods and fields of their own.
func (h *house) types() {
	methods, fields := h.sizes()
	for what, of := range map[string]map[string]int{"methods": methods, "fields": fields} {
		names := slices.SortedFunc(maps.Keys(of), func(a, b string) int { return of[b] - of[a] })
		for _, n := range names[:min(8, len(names))] {
			fmt.Printf("%4d %-8s %s\n", of[n], what, n)
		}
	}
}

func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return "?"
}

// comments prints 200 random comments, each with its place and the line of code that it
// describes.
func (h *house) comments(seed uint64) {
	type comment struct{ at, text string }
	var all []comment
	for _, name := range slices.Sorted(maps.Keys(h.files)) {
		for _, g := range h.files[name].Comments {
			if text := strings.TrimSpace(g.Text()); text != "" {
				all = append(all, comment{h.set.Position(g.Pos()).String(), text})
			}
		}
	}
	random := rand.New(rand.NewPCG(seed, 0))
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for i, c := range all[:min(200, len(all))] {
		fmt.Printf("%d. %s\n   %s\n", i+1, c.at, strings.ReplaceAll(c.text, "\n", "\n   "))
	}
}
