package annotations

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

// packageEffects analyses functions of one package when they are requested. That saves time,
// since kernels and sections reach few functions of the packages that they import.
type packageEffects struct {
	*effects
	pass  *analysis.Pass
	prog  *ssa.Program
	built sync.Once

	// mu guards the results of the analysis. A package requests only functions of packages
	// that it imports, so the locks are taken in the order of imports.
	mu sync.Mutex
}

func newPackageEffects(pass *analysis.Pass, known func(*types.Func) *Effects, l limits) *packageEffects {
	return &packageEffects{pass: pass, effects: &effects{fset: pass.Fset, known: known, memo: map[*ssa.Function]*body{},
		open: map[*ssa.Function]bool{}, recursive: map[*ssa.Function]bool{}, rounds: map[*ssa.Function]int{}, limits: l,
		ours: func(path string) bool {
			return pass.Module == nil || pass.Module.Path == "" || path == pass.Module.Path || strings.HasPrefix(path, pass.Module.Path+"/")
		}}}
}

// build builds the package in SSA form. It omits functions that do not compile, such as
// callers of launchers that do not exist yet.
func (pe *packageEffects) build() {
	files, ok := compiling(pe.pass)
	if !ok {
		return
	}
	prog := ssa.NewProgram(pe.pass.Fset, 0)
	for _, p := range pe.pass.Pkg.Imports() { // x/tools creates an indirectly imported package when this package calls one of its methods
		prog.CreatePackage(p, nil, nil, true)
	}
	pe.pkg = prog.CreatePackage(pe.pass.Pkg, files, pe.pass.TypesInfo, false)
	pe.pkg.Build()
	pe.prog = prog
}

// body returns the analysis of a function's body. It returns nil if there is no body.
func (pe *packageEffects) body(fn *types.Func) *body {
	pe.mu.Lock()
	defer pe.mu.Unlock()
	pe.built.Do(pe.build)
	if pe.prog == nil {
		return nil
	}
	f := pe.prog.FuncValue(fn)
	if f == nil {
		return nil
	}
	return pe.of(f)
}

// request returns the effects of a function of the package. It returns nil if they are
// unknown.
func (pe *packageEffects) request(fn *types.Func) *Effects {
	if b := pe.body(fn); b != nil {
		return b.effects
	}
	return nil
}

// ofObject is like request, and also handles functions of imported packages.
func (pe *packageEffects) ofObject(fn *types.Func) *Effects {
	if fn.Pkg() == pe.pass.Pkg {
		return pe.request(fn)
	}
	return pe.known(fn)
}

// all analyses all functions of the package.
func (pe *packageEffects) all() []Effects {
	var list []Effects
	for _, file := range pe.pass.Files {
		for _, decl := range file.Decls {
			fd, ok := decl.(*ast.FuncDecl)
			if !ok || fd.Body == nil || fd.Name.Name == "_" || fd.Recv == nil && fd.Name.Name == "init" {
				continue
			}
			if fn, ok := pe.pass.TypesInfo.Defs[fd.Name].(*types.Func); ok {
				if eff := pe.request(fn); eff != nil {
					named := *eff
					named.Func = LocalName(fn)
					list = append(list, named)
				}
			}
		}
	}
	slices.SortFunc(list, func(a, b Effects) int { return strings.Compare(a.Func, b.Func) })
	return list
}

// fact returns the facts that the analysis of importing packages needs.
func (pe *packageEffects) fact(s *scan) *packageFact {
	f := &packageFact{source: pe}
	for name, k := range s.kernels {
		f.Kernels = append(f.Kernels, kernelFact{name, k.ResultKind(), k.Op, k.written(true), k.written(false), k.reduced(), k.calleeItems()})
	}
	slices.SortFunc(f.Kernels, func(a, b kernelFact) int { return strings.Compare(a.Name, b.Name) })
	for _, file := range s.pkg.Files {
		for _, st := range file.States {
			f.States = append(f.States, st.Type.Name())
		}
	}
	slices.Sort(f.States)
	return f
}

// compiling returns the files without the function bodies that contain type errors. If there
// are type errors elsewhere, it returns false.
func compiling(pass *analysis.Pass) ([]*ast.File, bool) {
	bad := map[*ast.FuncDecl]bool{}
	for _, e := range pass.TypeErrors {
		if e.Soft {
			continue
		}
		decl := enclosingFunc(pass.Files, e.Pos)
		if decl == nil || decl.Body == nil || e.Pos < decl.Body.Pos() {
			return nil, false
		}
		bad[decl] = true
	}
	if len(bad) == 0 {
		return pass.Files, true
	}
	files := slices.Clone(pass.Files)
	for i, f := range files {
		copied := *f
		copied.Decls = slices.Clone(f.Decls)
		for j, d := range copied.Decls {
			if fd, ok := d.(*ast.FuncDecl); ok && bad[fd] {
				without := *fd
				without.Body = nil
				copied.Decls[j] = &without
			}
		}
		files[i] = &copied
	}
	return files, true
}

func enclosingFunc(files []*ast.File, pos token.Pos) *ast.FuncDecl {
	for _, f := range files {
		if f.FileStart <= pos && pos <= f.FileEnd {
			for _, d := range f.Decls {
				if fd, ok := d.(*ast.FuncDecl); ok && fd.Pos() <= pos && pos < fd.End() {
					return fd
				}
			}
		}
	}
	return nil
}
