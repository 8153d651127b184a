package generate

import (
	"cmp"
	"fmt"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/intrahpc/intra/annotations"
)

// Diagnostic is one error in the sources.
type Diagnostic struct {
	Pos token.Position
	Msg string
}

// checked is a program with its directives resolved.
type checked struct {
	*program
	packages map[*packages.Package]*annotations.Package
	diags    []Diagnostic
}

func check(p *program) (*checked, error) {
	c := &checked{program: p, packages: map[*packages.Package]*annotations.Package{}}
	// A package without directives is checked only if a package with directives imports it.
	var concerned []*packages.Package
	for _, pkg := range p.roots {
		if slices.ContainsFunc(pkg.Syntax, annotations.Mentions) {
			concerned = append(concerned, pkg)
		}
	}
	// The checks recognise the functions of the runtime by name, so they do not need the
	// imports of the runtime.
	imports := map[*packages.Package]map[string]*packages.Package{}
	packages.Visit(p.roots, nil, func(pkg *packages.Package) {
		if annotations.KnownByName(pkg.PkgPath) && !slices.Contains(concerned, pkg) {
			imports[pkg], pkg.Imports = pkg.Imports, nil
		} else if slices.Contains(concerned, pkg) {
			imports[pkg], pkg.Imports = pkg.Imports, withoutTests(p.fset, pkg)
		}
	})
	graph, err := checker.Analyze([]*analysis.Analyzer{annotations.Analyzer}, concerned, nil)
	for pkg, list := range imports {
		pkg.Imports = list
	}
	if err != nil {
		return nil, fmt.Errorf("analyse packages: %w", err)
	}
	var failed []Diagnostic
	for _, act := range graph.Roots {
		if act.Err != nil {
			failed = append(failed, Diagnostic{Msg: act.Err.Error()})
			continue
		}
		for _, d := range act.Diagnostics {
			c.diags = append(c.diags, Diagnostic{p.fset.Position(d.Pos), d.Message})
		}
		if pkg, ok := act.Result.(*annotations.Package); ok {
			c.packages[act.Package] = pkg
		}
	}
	for _, pkg := range p.roots {
		if slices.Contains(concerned, pkg) || slices.ContainsFunc(pkg.Errors, func(e packages.Error) bool { return e.Kind != packages.TypeError }) {
			c.compileErrors(pkg)
		}
		c.cgo(pkg)
	}
	if len(failed) > 0 { // most likely a dependency does not compile
		packages.Visit(p.roots, nil, func(pkg *packages.Package) {
			if pkg.Module != nil && pkg.Module.Main {
				c.compileErrors(pkg)
			}
		})
		if len(c.diags) == 0 {
			c.diags = failed
		}
	}
	c.sort()
	return c, nil
}

// withoutTests returns the imports of a package. It omits those that only tests without
// directives use, since no kernel calls them.
func withoutTests(fset *token.FileSet, pkg *packages.Package) map[string]*packages.Package {
	kept := map[string]*packages.Package{}
	for _, f := range pkg.Syntax {
		if strings.HasSuffix(fset.File(f.Package).Name(), "_test.go") && !annotations.Mentions(f) {
			continue
		}
		for _, spec := range f.Imports {
			if path, err := strconv.Unquote(spec.Path.Value); err == nil && pkg.Imports[path] != nil {
				kept[path] = pkg.Imports[path]
			}
		}
	}
	return kept
}

// undefined matches the compiler's error for a name that only an output declares.
var undefined = regexp.MustCompile(`^undefined: (?:(\w+)\.)?((?:[lL]aunch|task)\w+)$`)

// compileErrors reports compile errors. It ignores uses of launchers and methods that this run
// will write.
func (c *checked) compileErrors(pkg *packages.Package) {
	for _, e := range pkg.Errors {
		if m := undefined.FindStringSubmatch(e.Msg); m != nil && e.Kind == packages.TypeError && c.declares(pkg, m[1], m[2]) {
			continue
		}
		if m := noProtect.FindStringSubmatch(e.Msg); m != nil && e.Kind == packages.TypeError && c.protects(m[1]) {
			continue
		}
		c.diags = append(c.diags, Diagnostic{parsePosition(e.Pos), e.Msg})
	}
}

// noProtect matches the compiler's error for a method that only an output declares.
var noProtect = regexp.MustCompile(`\.` + annotations.ProtectMethod + ` undefined \(type \*?(?:\w+\.)?(\w+)(?:\[.*\])? has no field or method `)

// protects reports whether a type of that name gets the method in any package of the main
// modules.
func (c *checked) protects(name string) bool {
	found := false
	packages.Visit(c.roots, func(pkg *packages.Package) bool {
		if pkg.Module != nil && pkg.Module.Main {
			for _, f := range pkg.Syntax {
				found = found || slices.Contains(annotations.StateTypes(c.fset, f), name)
			}
		}
		return !found
	}, nil)
	return found
}

// declares reports whether an output declares name. The output belongs to pkg, or to the
// package that pkg imports under the name qualifier.
func (c *checked) declares(pkg *packages.Package, qualifier, name string) bool {
	candidates := []*packages.Package{pkg}
	if qualifier != "" {
		candidates = nil
		for _, imp := range pkg.Imports {
			candidates = append(candidates, imp)
		}
	} else if pkg.ForTest != "" {
		candidates = append(candidates, c.byPath(pkg.PkgPath)...)
	}
	for _, cand := range candidates {
		for _, k := range annotations.ScanKernels(c.fset, cand.Types, cand.Syntax, cand.TypesInfo) {
			if annotations.LauncherName(k.Func) == name || annotations.TaskVarName(k.Func) == name {
				return true
			}
		}
	}
	return false
}

func (c *checked) byPath(path string) []*packages.Package {
	var found []*packages.Package
	for _, pkg := range c.roots {
		if pkg.PkgPath == path {
			found = append(found, pkg)
		}
	}
	return found
}

// cgo rejects directives in files that import C. The compiler gets a changed text of such a
// file.
func (c *checked) cgo(pkg *packages.Package) {
	ap := c.packages[pkg]
	if ap == nil {
		return
	}
	for _, f := range ap.Files {
		if !slices.Contains(pkg.GoFiles, f.Name) {
			c.diags = append(c.diags, Diagnostic{c.fset.Position(f.Syntax.Package), `a file that imports "C" cannot hold //intra: directives; move them to another file`})
		}
	}
}

func parsePosition(s string) token.Position {
	var p token.Position
	rest := s
	for _, n := range []*int{&p.Column, &p.Line} {
		i := strings.LastIndexByte(rest, ':')
		if i < 0 {
			break
		}
		v, err := strconv.Atoi(rest[i+1:])
		if err != nil {
			break
		}
		*n, rest = v, rest[:i]
	}
	if p.Line == 0 { // the error was file:line, without a column
		p.Line, p.Column = p.Column, 0
	}
	p.Filename = rest
	return p
}

// sort orders the diagnostics and removes duplicates. A diagnostic may be found in a package
// and in its test variant.
func (c *checked) sort() {
	slices.SortFunc(c.diags, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Pos.Filename, b.Pos.Filename), cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Column, b.Pos.Column), cmp.Compare(a.Msg, b.Msg))
	})
	c.diags = slices.CompactFunc(c.diags, func(a, b Diagnostic) bool {
		return a.Pos.Filename == b.Pos.Filename && a.Pos.Line == b.Pos.Line && a.Pos.Column == b.Pos.Column && a.Msg == b.Msg
	})
}

// kernelOf returns the kernel for a function of any loaded package.
func (c *checked) kernelOf(fn *types.Func) (*annotations.Kernel, *packages.Package) {
	var kernel *annotations.Kernel
	var owner *packages.Package
	packages.Visit(c.roots, func(pkg *packages.Package) bool {
		if pkg.Types == fn.Pkg() && kernel == nil {
			if k := annotations.ScanKernels(c.fset, pkg.Types, pkg.Syntax, pkg.TypesInfo)[annotations.LocalName(fn)]; k != nil {
				kernel, owner = k, pkg
			}
		}
		return kernel == nil
	}, nil)
	return kernel, owner
}

// Show formats a position for people and editors, relative to dir.
func (d Diagnostic) Show(dir string) string {
	name := relative(dir, d.Pos.Filename)
	switch {
	case name == "":
		return d.Msg
	case d.Pos.Line == 0:
		return fmt.Sprintf("%s: %s", name, d.Msg)
	}
	return fmt.Sprintf("%s:%d:%d: %s", name, d.Pos.Line, max(d.Pos.Column, 1), d.Msg)
}

func relative(dir, name string) string {
	if rel, err := filepath.Rel(dir, name); err == nil && filepath.IsAbs(name) && !strings.HasPrefix(rel, ".."+string(filepath.Separator)+".."+string(filepath.Separator)+"..") {
		return rel
	}
	return name
}
