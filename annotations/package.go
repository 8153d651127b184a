package annotations

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Package holds the directives of one package.
type Package struct {
	Types *types.Package
	Files []*File // files with directives, in order
}

// File is one source with directives.
type File struct {
	Syntax   *ast.File
	Name     string // name of the file, with its folder
	Kernels  []*Kernel
	Sections []*Section
	States   []*State

	directives *Directives
}

// scan finds and resolves the kernels of a package. Sections are resolved later, since they
// need the kernels of other packages.
type scan struct {
	pkg     *Package
	kernels map[string]*Kernel // kernels by local name
	open    []*resolved        // kernels whose clauses lack parameters
	errs    []*Error
	listed  []listedSection

	generated map[*token.File]bool // files that intragen has generated
}

// listedSection holds problems of a section that are possible, but not certain.
type listedSection struct {
	section *Section
	places  []*Error
}

// ScanKernels returns the kernels of a package by their local names.
func ScanKernels(fset *token.FileSet, pkg *types.Package, files []*ast.File, info *types.Info) map[string]*Kernel {
	return scanPackage(fset, pkg, files, info).kernels
}

func scanPackage(fset *token.FileSet, pkg *types.Package, files []*ast.File, info *types.Info) *scan {
	s := &scan{pkg: &Package{Types: pkg}, kernels: map[string]*Kernel{}}
	generated := map[*token.File]bool{}
	s.generated = generated
	for _, f := range files {
		generated[fset.File(f.Package)] = IsGenerated(f)
	}
	taken := map[string]*Kernel{}
	for _, f := range files {
		if generated[fset.File(f.Package)] {
			continue
		}
		d := FindDirectives(fset, f)
		s.errs = append(s.errs, d.Errors...)
		if !d.Any() {
			continue
		}
		file := &File{Syntax: f, Name: fset.File(f.Package).Name(), directives: d}
		for _, decl := range f.Decls {
			fd, ok := decl.(*ast.FuncDecl)
			if !ok || d.Tasks[fd] == nil {
				continue
			}
			r := resolve(info, fd, d.Tasks[fd])
			if r.kernel == nil {
				s.errs = append(s.errs, r.errs...)
				continue
			}
			r.checkElementwise()
			s.errs = append(s.errs, r.errs...)
			s.open = append(s.open, r)
			s.kernels[LocalName(r.kernel.Func)] = r.kernel
			file.Kernels = append(file.Kernels, r.kernel)
			s.nameTaken(fset, generated, taken, r.kernel)
		}
		s.errs = append(s.errs, tagErrors(f, d, file.Kernels)...)
		s.pkg.Files = append(s.pkg.Files, file)
	}
	return s
}

// nameTaken rejects a kernel if the name of its launcher is already used.
func (s *scan) nameTaken(fset *token.FileSet, generated map[*token.File]bool, taken map[string]*Kernel, k *Kernel) {
	for _, name := range []string{LauncherName(k.Func), TaskVarName(k.Func)} {
		if old := taken[name]; old != nil {
			s.errs = append(s.errs, &Error{k.Decl.Name.Pos(), fmt.Sprintf("kernels %s and %s both need the name %s; rename one", LocalName(old.Func), LocalName(k.Func), name)})
			continue
		}
		taken[name] = k
		if obj := k.Func.Pkg().Scope().Lookup(name); obj != nil && !generated[fset.File(obj.Pos())] {
			p := fset.Position(obj.Pos())
			s.errs = append(s.errs, &Error{k.Decl.Name.Pos(), fmt.Sprintf("kernel %s needs the name %s, which is declared at %s:%d; rename one", LocalName(k.Func), name, filepath.Base(p.Filename), p.Line)})
		}
	}
}

// sections resolves the sections of all files.
func (s *scan) sections(sc *sectionScope) {
	for _, file := range s.pkg.Files {
		d := file.directives
		for _, st := range d.Order {
			var fn *ast.FuncDecl
			for _, decl := range file.Syntax.Decls {
				if fd, ok := decl.(*ast.FuncDecl); ok && fd.Pos() <= st.Pos() && st.End() <= fd.End() {
					fn = fd
				}
			}
			sec, errs, listed := sc.resolve(d, fn, st)
			s.errs = append(s.errs, errs...)
			s.listed = append(s.listed, listedSection{sec, listed})
			file.Sections = append(file.Sections, sec)
		}
	}
}

// states resolves the state types of all files.
func (s *scan) states(sc *stateScope) {
	sc.states = map[*types.TypeName]struct{}{}
	for _, file := range s.pkg.Files {
		for spec := range file.directives.States {
			if obj, ok := sc.info.Defs[spec.Name].(*types.TypeName); ok {
				sc.states[obj] = struct{}{}
			}
		}
	}
	for _, file := range s.pkg.Files {
		specs := slices.SortedFunc(maps.Keys(file.directives.States), func(a, b *ast.TypeSpec) int { return cmp.Compare(a.Pos(), b.Pos()) })
		for _, spec := range specs {
			if st := sc.resolve(spec, file.directives.States[spec]); st != nil {
				file.States = append(file.States, st)
			}
		}
	}
	s.errs = append(s.errs, sc.errs...)
}

// callee returns those properties of a kernel that sections need.
func (k *Kernel) callee() *Callee {
	c := &Callee{Func: k.Func, Result: k.ResultKind(), Op: k.Op}
	c.Whole, c.Writes, c.Reduces = k.written(true), k.written(false), k.reduced()
	c.Items = k.calleeItems()
	return c
}

func (k *Kernel) calleeItems() []CalleeItem {
	var items []CalleeItem
	for _, it := range k.Items {
		i := slices.Index(k.Params, it.Param)
		if i < 0 {
			continue
		}
		item := CalleeItem{Param: i, Kind: it.Kind, Path: it.path}
		if b := it.Item.Slice; b != nil {
			item.Cut, item.Columns = true, b.Cols != nil
			if b.Lo != nil {
				item.Lo = b.Lo.Text
			}
			if b.Hi != nil {
				item.Hi = b.Hi.Text
			}
		}
		items = append(items, item)
	}
	return items
}

// written lists the parameters whose memory the kernel writes. With asWhole it lists only
// parameters whose whole memory is written.
func (k *Kernel) written(asWhole bool) []int {
	var whole []int
	for _, it := range k.Items {
		if (it.Kind == Out || it.Kind == InOut) && (it.Item.Slice == nil || !asWhole) && it.Param != k.Result {
			if i := slices.Index(k.Params, it.Param); i >= 0 && !slices.Contains(whole, i) {
				whole = append(whole, i)
			}
		}
	}
	slices.Sort(whole)
	return whole
}

// reduced lists the parameters in the clause reduce.
func (k *Kernel) reduced() []int {
	var params []int
	for _, it := range k.Items {
		if i := slices.Index(k.Params, it.Param); i >= 0 && it.Kind == Reduce {
			params = append(params, i)
		}
	}
	slices.Sort(params)
	return params
}

// displayPath formats a path of memory as the user would write it.
func displayPath(name, path string) string {
	return name + strings.ReplaceAll(path, "*", "")
}
