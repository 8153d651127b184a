package annotations

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/build"
	"go/token"
	"go/types"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

// Analyzer checks the //intra: directives of a package: their grammar, what
// they name, what the kernels do, and the sections. Its result is a *Package.
var Analyzer = &analysis.Analyzer{
	Name: "intra",
	Doc: `check //intra:task kernels and //intra:section blocks

A kernel's clauses say what it reads and writes; a wrong clause gives the
replicas of a rank different memory. The analyzer compares the clauses with
what the kernel and the functions it calls do.`,
	Run:              run,
	RunDespiteErrors: true,
	ResultType:       reflect.TypeFor[*Package](),
	FactTypes:        []analysis.Fact{(*packageFact)(nil)},
}

// packageFact is what other packages have to know: what the functions do, and
// which of them are kernels. All lists are sorted by name.
type packageFact struct {
	Funcs   []Effects
	Kernels []kernelFact
	States  []string // types with //intra:state
}

type kernelFact struct {
	Name    string // within the package
	Result  Kind
	Op      string
	Whole   []int
	Writes  []int
	Reduces []int
}

// AFact marks a fact.
func (*packageFact) AFact() {}

func (f *packageFact) String() string { return "effects" }

// listPossible is the flag -v of the analyzer: errors that are not certain are
// listed, too.
var listPossible bool

func init() {
	Analyzer.Flags.BoolVar(&listPossible, "v", false, "also list what is not certain: accesses that the analysis cannot follow and that would break a clause")
}

func run(pass *analysis.Pass) (result any, err error) {
	if standard(pass) || KnownByName(pass.Pkg.Path()) && !slices.ContainsFunc(pass.Files, Mentions) {
		return &Package{Types: pass.Pkg}, nil
	}
	s := scanPackage(pass.Fset, pass.Pkg, pass.Files, pass.TypesInfo)
	facts := map[*types.Package]*packageFact{}
	factOf := func(pkg *types.Package) *packageFact {
		f, ok := facts[pkg]
		if !ok {
			f = &packageFact{}
			if !pass.ImportPackageFact(pkg, f) {
				f = nil
			}
			facts[pkg] = f
		}
		return f
	}
	known := func(fn *types.Func) *Effects {
		if fn.Pkg() == nil {
			return nil
		}
		f := factOf(fn.Pkg())
		if f == nil {
			return nil
		}
		i, ok := slices.BinarySearchFunc(f.Funcs, LocalName(fn), func(e Effects, name string) int { return strings.Compare(e.Func, name) })
		if !ok {
			return nil
		}
		return &f.Funcs[i]
	}
	// The SSA builder wants types that are whole, and says so by a panic. What
	// a dependency lacks is not among the errors of this package.
	defer func() {
		if v := recover(); v != nil {
			result, err = nil, fmt.Errorf("package %s or what it imports does not compile: %v", pass.Pkg.Path(), v)
		}
	}()
	eff := buildEffects(pass, known)

	byDecl := map[*ast.FuncDecl][]Directive{}
	annotated := map[types.Object]bool{} // also where the directives are wrong
	for _, file := range s.pkg.Files {
		for decl, dirs := range file.directives.Tasks {
			byDecl[decl] = dirs
			annotated[pass.TypesInfo.Defs[decl.Name]] = true
		}
	}
	var diags []analysis.Diagnostic
	for _, r := range s.open {
		for _, f := range checkKernel(r, eff.body(r.kernel.Func)) {
			if f.possible && !listPossible {
				continue
			}
			diags = append(diags, analysis.Diagnostic{Pos: f.pos, Message: f.msg, SuggestedFixes: fix(r.kernel, byDecl[r.kernel.Decl], f.cured)})
		}
		if !r.broken {
			for _, f := range checkBounds(pass.TypesInfo, r.kernel) {
				diags = append(diags, analysis.Diagnostic{Pos: f.pos, Message: f.msg})
			}
		}
		if second := r.kernel.Second; second != nil && second.Func != nil && len(r.missing) == 0 {
			for _, f := range checkSecond(r.kernel, eff.body(second.Func)) {
				diags = append(diags, analysis.Diagnostic{Pos: f.pos, Message: f.msg})
			}
		}
	}
	s.sections(&sectionScope{
		fset: pass.Fset, pkg: pass.Pkg, info: pass.TypesInfo,
		callee: func(fn *types.Func) *Callee {
			if fn.Pkg() == pass.Pkg {
				if k := s.kernels[LocalName(fn)]; k != nil && k.Func == fn {
					return k.callee()
				}
				return nil
			}
			return foreignCallee(fn, factOf)
		},
		annotated: func(fn *types.Func) bool { return annotated[fn] },
		effects:   eff.effectsOfObject,
		messages: func(fn *types.Func) string {
			e := eff.effectsOfObject(fn)
			if e == nil {
				return ""
			}
			for _, imp := range e.Impure {
				if imp.Message {
					return imp.What
				}
			}
			return ""
		},
	})
	s.states(&stateScope{
		info: pass.TypesInfo, pkg: pass.Pkg,
		handwritten: func(pos token.Pos) bool { return !s.generated[pass.Fset.File(pos)] },
		ours: func(path string) bool {
			return pass.Module != nil && (path == pass.Module.Path || strings.HasPrefix(path, pass.Module.Path+"/"))
		},
		foreign: func(t *types.TypeName) bool {
			f := factOf(t.Pkg())
			if f == nil {
				return false
			}
			_, found := slices.BinarySearch(f.States, t.Name())
			return found
		},
	})
	for _, e := range s.errs {
		diags = append(diags, analysis.Diagnostic{Pos: e.Pos, Message: e.Msg, SuggestedFixes: tagFix(pass, e)})
	}
	slices.SortStableFunc(diags, func(a, b analysis.Diagnostic) int { return cmp.Compare(a.Pos, b.Pos) })
	for _, d := range diags {
		pass.Report(d)
	}
	pass.ExportPackageFact(eff.fact(s))
	return s.pkg, nil
}

// standard tells whether a package belongs to the Go distribution: its
// functions are known by name.
func standard(pass *analysis.Pass) bool {
	if len(pass.Files) == 0 {
		return true
	}
	if root := build.Default.GOROOT; root != "" {
		name := pass.Fset.File(pass.Files[0].Package).Name()
		return strings.HasPrefix(name, filepath.Join(root, "src")+string(filepath.Separator))
	}
	first, _, _ := strings.Cut(pass.Pkg.Path(), "/")
	return pass.Module == nil && !strings.Contains(first, ".")
}

func foreignCallee(fn *types.Func, factOf func(*types.Package) *packageFact) *Callee {
	if fn.Pkg() == nil {
		return nil
	}
	f := factOf(fn.Pkg())
	if f == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(f.Kernels, LocalName(fn), func(k kernelFact, name string) int { return strings.Compare(k.Name, name) })
	if !ok {
		return nil
	}
	k := f.Kernels[i]
	return &Callee{Func: fn, Result: k.Result, Op: k.Op, Whole: k.Whole, Writes: k.Writes, Reduces: k.Reduces}
}

// packageEffects are the effects of the package that is analysed.
type packageEffects struct {
	*effects
	prog  *ssa.Program
	funcs []*types.Func
}

// buildEffects builds the package in SSA form. Functions that do not compile,
// such as callers of launchers that are not there yet, are left out.
func buildEffects(pass *analysis.Pass, known func(*types.Func) *Effects) *packageEffects {
	pe := &packageEffects{effects: &effects{fset: pass.Fset, known: known, memo: map[*ssa.Function]*body{},
		open: map[*ssa.Function]bool{}, recursive: map[*ssa.Function]bool{}, rounds: map[*ssa.Function]int{},
		ours: func(path string) bool {
			return pass.Module == nil || pass.Module.Path == "" || path == pass.Module.Path || strings.HasPrefix(path, pass.Module.Path+"/")
		}}}
	files, ok := compiling(pass)
	if !ok {
		return pe
	}
	prog := ssa.NewProgram(pass.Fset, 0)
	for _, p := range pass.Pkg.Imports() { // what is behind them is made when a method of it is called
		prog.CreatePackage(p, nil, nil, true)
	}
	pe.prog = prog
	pe.pkg = prog.CreatePackage(pass.Pkg, files, pass.TypesInfo, false)
	pe.pkg.Build()
	for _, f := range files {
		for _, decl := range f.Decls {
			if fd, ok := decl.(*ast.FuncDecl); ok && fd.Body != nil && fd.Name.Name != "_" && (fd.Recv != nil || fd.Name.Name != "init") {
				if fn, ok := pass.TypesInfo.Defs[fd.Name].(*types.Func); ok {
					pe.funcs = append(pe.funcs, fn)
				}
			}
		}
	}
	return pe
}

// compiling returns the files without the bodies that hold type errors; false
// if there are errors elsewhere.
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

func (pe *packageEffects) body(fn *types.Func) *body {
	if pe.prog == nil {
		return nil
	}
	f := pe.prog.FuncValue(fn)
	if f == nil {
		return nil
	}
	return pe.of(f)
}

func (pe *packageEffects) effectsOfObject(fn *types.Func) *Effects {
	if pe.pkg != nil && fn.Pkg() == pe.pkg.Pkg {
		if b := pe.body(fn); b != nil {
			return b.effects
		}
		return nil
	}
	return pe.known(fn)
}

// fact makes the package's fact.
func (pe *packageEffects) fact(s *scan) *packageFact {
	f := &packageFact{}
	for _, fn := range pe.funcs {
		if b := pe.body(fn); b != nil {
			e := *b.effects
			e.Func = LocalName(fn)
			f.Funcs = append(f.Funcs, e)
		}
	}
	slices.SortFunc(f.Funcs, func(a, b Effects) int { return strings.Compare(a.Func, b.Func) })
	for name, k := range s.kernels {
		f.Kernels = append(f.Kernels, kernelFact{name, k.ResultKind(), k.Op, k.written(true), k.written(false), k.reduced()})
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

// tagFix adds the build line that a section file lacks.
func tagFix(pass *analysis.Pass, e *Error) []analysis.SuggestedFix {
	if !strings.HasPrefix(e.Msg, "a file with //intra:section needs") {
		return nil
	}
	for _, f := range pass.Files {
		if f.FileStart <= e.Pos && e.Pos <= f.FileEnd {
			if Constraint(f) != nil {
				return nil
			}
			return []analysis.SuggestedFix{{
				Message:   "add //go:build !" + Tag,
				TextEdits: []analysis.TextEdit{{Pos: f.FileStart, End: f.FileStart, NewText: []byte("//go:build !" + Tag + "\n\n")}},
			}}
		}
	}
	return nil
}
