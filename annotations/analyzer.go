package annotations

import (
	"bytes"
	"cmp"
	"encoding/gob"
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
)

// Analyzer checks the //intra: directives of a package: their grammar, the names in them,
// the effects of the kernels, and the sections. Its result is a *Package.
var Analyzer = newAnalyzer(defaultLimits)

func newAnalyzer(l limits) *analysis.Analyzer {
	c := &clauseAnalysis{limits: l}
	a := &analysis.Analyzer{
		Name: "intra",
		Doc: `check //intra:task kernels and //intra:section blocks

A kernel's clauses say what it reads and writes; a wrong clause gives the
replicas of a rank different memory. The analyzer compares the clauses with
what the kernel and the functions it calls do.`,
		Run:              c.run,
		RunDespiteErrors: true,
		ResultType:       reflect.TypeFor[*Package](),
		FactTypes:        []analysis.Fact{(*packageFact)(nil)},
	}
	a.Flags.BoolVar(&c.possible, "v", false, "also list what is not certain: accesses that the analysis cannot follow and that would break a clause")
	return a
}

// clauseAnalysis holds the settings of an analyzer.
type clauseAnalysis struct {
	limits   limits
	possible bool // the flag -v is set: list errors that are not certain
}

// packageFact contains the facts about a package that other packages need: the effects of its
// functions, and which of them are kernels. All lists are sorted by name.
type packageFact struct {
	Funcs   []Effects
	Kernels []kernelFact
	States  []string // types with //intra:state

	// source analyses functions on request, while the fact stays in this process. When the
	// fact is encoded, all functions are analysed and stored in Funcs.
	source *packageEffects
}

type kernelFact struct {
	Name    string // name within the package
	Result  Kind
	Op      string
	Whole   []int
	Writes  []int
	Reduces []int
	Items   []CalleeItem
}

// AFact marks a fact.
func (*packageFact) AFact() {}

func (f *packageFact) String() string { return "effects" }

// encodedFact is a packageFact without its methods.
type encodedFact packageFact

// GobEncode first analyses all functions, since another process cannot request them.
func (f *packageFact) GobEncode() ([]byte, error) {
	encoded := encodedFact(*f)
	if f.source != nil {
		encoded.Funcs = f.source.all()
	}
	var buf bytes.Buffer
	err := gob.NewEncoder(&buf).Encode(&encoded)
	return buf.Bytes(), err
}

// GobDecode decodes the output of GobEncode.
func (f *packageFact) GobDecode(data []byte) error {
	return gob.NewDecoder(bytes.NewReader(data)).Decode((*encodedFact)(f))
}

// effects returns the effects of a function of the package. It returns nil if they are
// unknown.
func (f *packageFact) effects(fn *types.Func) *Effects {
	if f.source != nil {
		return f.source.request(fn)
	}
	i, ok := slices.BinarySearchFunc(f.Funcs, LocalName(fn), func(e Effects, name string) int { return strings.Compare(e.Func, name) })
	if !ok {
		return nil
	}
	return &f.Funcs[i]
}

func (c *clauseAnalysis) run(pass *analysis.Pass) (result any, err error) {
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
		if fn.Pkg() == nil || fn.Pkg() == pass.Pkg { // a function of this package without a body
			return nil
		}
		if f := factOf(fn.Pkg()); f != nil {
			return f.effects(fn)
		}
		return nil
	}
	// The SSA builder panics if types are incomplete. The errors of this package do not
	// include those of a dependency.
	defer func() {
		if v := recover(); v != nil {
			result, err = nil, fmt.Errorf("package %s or what it imports does not compile: %v", pass.Pkg.Path(), v)
		}
	}()
	callee := func(fn *types.Func) *Callee {
		if fn.Pkg() == pass.Pkg {
			if k := s.kernels[LocalName(fn)]; k != nil && k.Func == fn {
				return k.callee()
			}
			return nil
		}
		return foreignCallee(fn, factOf)
	}
	eff := newPackageEffects(pass, known, c.limits)
	eff.kernel = func(fn *types.Func) bool { return callee(fn) != nil }

	byDecl := map[*ast.FuncDecl][]Directive{}
	annotated := map[types.Object]bool{} // functions with directives, right or wrong
	for _, file := range s.pkg.Files {
		for decl, dirs := range file.directives.Tasks {
			byDecl[decl] = dirs
			annotated[pass.TypesInfo.Defs[decl.Name]] = true
		}
	}
	var diags []analysis.Diagnostic
	for _, r := range s.open {
		var listed []*Error
		for _, f := range checkKernel(r, eff.body(r.kernel.Func)) {
			if f.possible {
				listed = append(listed, &Error{f.pos, f.msg})
				continue
			}
			diags = append(diags, analysis.Diagnostic{Pos: f.pos, Message: f.msg, SuggestedFixes: fix(r.kernel, byDecl[r.kernel.Decl], f.cured)})
		}
		if c.possible {
			diags = append(diags, listedAs(pass.Fset, r.kernel.Dir.Pos, "kernel "+LocalName(r.kernel.Func), listed)...)
		}
		if !r.broken {
			for _, f := range checkWindows(r.kernel, eff.ofObject) {
				diags = append(diags, analysis.Diagnostic{Pos: f.pos, Message: f.msg})
			}
			for _, f := range checkBounds(pass.TypesInfo, r.kernel) {
				diags = append(diags, analysis.Diagnostic{Pos: f.pos, Message: f.msg})
			}
		}
	}
	s.sections(&sectionScope{
		fset: pass.Fset, pkg: pass.Pkg, info: pass.TypesInfo,
		callee:    callee,
		annotated: func(fn *types.Func) bool { return annotated[fn] },
		effects:   eff.ofObject,
		messages: func(fn *types.Func) string {
			e := eff.ofObject(fn)
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
	if c.possible {
		for _, l := range s.listed {
			diags = append(diags, listedAs(pass.Fset, l.section.Dir.Pos, "this section", l.places)...)
		}
	}
	slices.SortStableFunc(diags, func(a, b analysis.Diagnostic) int { return cmp.Compare(a.Pos, b.Pos) })
	for _, d := range diags {
		pass.Report(d)
	}
	pass.ExportPackageFact(eff.fact(s))
	return s.pkg, nil
}

// standard reports whether a package belongs to the Go distribution. The functions of such
// packages are known by name.
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
	return &Callee{Func: fn, Result: k.Result, Op: k.Op, Whole: k.Whole, Writes: k.Writes, Reduces: k.Reduces, Items: k.Items}
}

// tagFix adds the build line that a file with sections lacks.
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
