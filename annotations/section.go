package annotations

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// Section is a resolved //intra:section: its statement, its process, and the kernel calls in
// it that become launches.
type Section struct {
	Stmt     ast.Stmt
	Dir      Directive
	Process  string // an expression of type *intra.Process
	Sched    string // "" or one of Schedules
	Keep     bool   // results may stay where they were computed
	Launches []*Launch
}

// Launch is a call of a kernel in a section.
type Launch struct {
	Stmt   ast.Stmt // the statement that the launch replaces
	Call   *ast.CallExpr
	Callee *Callee
	Target ast.Expr // the variable to which the result is assigned; nil if there is none
}

// Callee contains the properties of a kernel that sections need.
type Callee struct {
	Func    *types.Func // the generic function, if the kernel is generic
	Result  Kind        // Out, Reduce, or 0 without a result
	Op      string
	Whole   []int // parameters (receiver first) whose whole memory is written
	Writes  []int // parameters with memory that is written
	Reduces []int // parameters that hold partial results
	Items   []CalleeItem
}

// CalleeItem is an item of a kernel's clauses, in the form that sections need.
type CalleeItem struct {
	Param   int // number of the parameter, the receiver first
	Kind    Kind
	Path    string // path of the memory, from the parameter; see effects.go
	Cut     bool   // the item is only a part of the memory at Path, with bounds as in the clause
	Lo, Hi  string
	Columns bool // the part is given by rows and columns
}

// sectionScope is the context in which sections are resolved.
type sectionScope struct {
	fset      *token.FileSet
	pkg       *types.Package
	info      *types.Info
	callee    func(*types.Func) *Callee // returns nil for a function that is not a kernel
	annotated func(*types.Func) bool    // reports whether a function of the package has directives, even wrong ones
	messages  func(*types.Func) string  // describes how a function passes messages; "" if it does not, as far as known
	effects   func(*types.Func) *Effects
}

// sectionWalk resolves one section.
type sectionWalk struct {
	*sectionScope
	sec     *Section
	errs    []*Error
	listed  []*Error   // problems that are not certain
	stack   []ast.Node // nodes from the section's statement down to the present one
	targets map[*ast.Ident]bool
}

func (w *sectionWalk) errorf(pos token.Pos, format string, args ...any) {
	w.errs = append(w.errs, &Error{pos, fmt.Sprintf(format, args...)})
}

// resolve resolves the section at st. fn is the outermost function around it. listed contains
// problems that are not certain.
func (sc *sectionScope) resolve(d *Directives, fn *ast.FuncDecl, st ast.Stmt) (sec *Section, errs, listed []*Error) {
	dir := d.Sections[st]
	args, errs := ParseSection(dir.Args, dir.ArgsPos)
	w := &sectionWalk{sectionScope: sc, sec: &Section{Stmt: st, Dir: dir, Sched: args.Sched, Keep: args.Keep}, errs: errs, targets: map[*ast.Ident]bool{}}
	if len(errs) == 0 {
		w.process(args)
	}
	for other, od := range d.Sections {
		if other != st && st.Pos() < other.Pos() && other.End() <= st.End() {
			w.errorf(od.Pos, "//intra:section inside the section at line %d; sections do not nest", sc.fset.Position(dir.Pos).Line)
		}
	}
	w.walk(st)
	w.uses()
	if fn != nil {
		w.conflicts(fn)
		w.functions(fn)
		w.forgotten(d, fn)
	}
	w.globals()
	w.jumpsIn(fn)
	if len(w.sec.Launches) == 0 && len(w.errs) == 0 {
		w.nothing()
	}
	return w.sec, w.errs, w.listed
}

// process determines the expression of type *intra.Process.
func (w *sectionWalk) process(args SectionArgs) {
	scope := w.pkg.Scope().Innermost(w.sec.Stmt.Pos())
	if args.On != nil {
		w.named(scope, args.On)
		return
	}
	var found []string
	hidden := map[string]bool{}
	for s := scope; s != nil && s != w.pkg.Scope(); s = s.Parent() {
		for _, name := range s.Names() {
			v, ok := s.Lookup(name).(*types.Var)
			if !ok || v.Pos() >= w.sec.Stmt.Pos() || hidden[name] {
				continue
			}
			hidden[name] = true
			if isProcess(v.Type()) && name != "_" {
				found = append(found, name)
			}
		}
	}
	slices.Sort(found)
	switch len(found) {
	case 1:
		w.sec.Process = found[0]
	case 0:
		w.errorf(w.sec.Dir.Pos, "//intra:section sees no parameter or local variable of type *intra.Process; say which process with on(p)")
	default:
		w.errorf(w.sec.Dir.Pos, "//intra:section sees several variables of type *intra.Process (%s); say which one with on(%s)", strings.Join(found, ", "), found[0])
	}
}

func (w *sectionWalk) named(scope *types.Scope, on []Ident) {
	_, obj := scope.LookupParent(on[0].Name, w.sec.Stmt.Pos())
	text := on[0].Name
	if obj == nil {
		w.errorf(on[0].Pos, "clause on: %s is not declared here", text)
		return
	}
	v, ok := obj.(*types.Var)
	if !ok {
		w.errorf(on[0].Pos, "clause on: %s is not a variable", text)
		return
	}
	t := v.Type()
	for _, f := range on[1:] {
		o, _, _ := types.LookupFieldOrMethod(t, true, w.pkg, f.Name)
		fv, ok := o.(*types.Var)
		if !ok {
			w.errorf(f.Pos, "clause on: %s has no field %s%s", text, f.Name, didYouMean(f.Name, fieldNames(t)))
			return
		}
		t, text = fv.Type(), text+"."+f.Name
	}
	if !isProcess(t) {
		w.errorf(on[0].Pos, "clause on: %s has type %s, want *intra.Process", text, types.TypeString(t, types.RelativeTo(w.pkg)))
		return
	}
	w.sec.Process = text
}

func isProcess(t types.Type) bool {
	p, ok := types.Unalias(t).(*types.Pointer)
	if !ok {
		return false
	}
	n, ok := types.Unalias(p.Elem()).(*types.Named)
	return ok && n.Obj().Name() == "Process" && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == IntraPath
}

func (w *sectionWalk) walk(st ast.Node) {
	ast.Inspect(st, func(n ast.Node) bool {
		if n == nil {
			w.stack = w.stack[:len(w.stack)-1]
			return true
		}
		w.node(n)
		w.stack = append(w.stack, n)
		return true
	})
}

// literal reports whether the present node is inside a function literal.
func (w *sectionWalk) literal() bool {
	return slices.ContainsFunc(w.stack, func(n ast.Node) bool { _, ok := n.(*ast.FuncLit); return ok })
}

func (w *sectionWalk) node(n ast.Node) {
	const inside = "inside //intra:section; move it out of the section"
	switch n := n.(type) {
	case *ast.ReturnStmt:
		if !w.literal() {
			w.errorf(n.Pos(), "return inside //intra:section: the section has to reach its end; set a variable and return after it")
		}
	case *ast.DeferStmt:
		if !w.literal() {
			w.errorf(n.Pos(), "defer %s", inside)
		}
	case *ast.GoStmt:
		w.errorf(n.Pos(), "go statement %s", inside)
	case *ast.SelectStmt:
		w.errorf(n.Pos(), "select %s", inside)
	case *ast.SendStmt:
		w.errorf(n.Arrow, "channel send %s", inside)
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			w.errorf(n.Pos(), "channel receive %s", inside)
		}
	case *ast.RangeStmt:
		if t := w.info.TypeOf(n.X); t != nil {
			if _, ok := coreType(t).(*types.Chan); ok {
				w.errorf(n.Pos(), "range over a channel %s", inside)
			}
		}
	case *ast.BranchStmt:
		w.branch(n)
	case *ast.CallExpr:
		w.call(n)
	case *ast.Ident:
		w.kernelValue(n)
	}
}

// branch rejects a jump out of the section.
func (w *sectionWalk) branch(n *ast.BranchStmt) {
	if w.literal() || n.Tok == token.FALLTHROUGH {
		return
	}
	if n.Label != nil {
		label := w.info.Uses[n.Label]
		if label != nil && (label.Pos() < w.sec.Stmt.Pos() || label.Pos() >= w.sec.Stmt.End()) {
			w.errorf(n.Pos(), "%s %s leaves //intra:section: the section has to reach its end", n.Tok, n.Label.Name)
		} else if n.Tok == token.GOTO && label != nil && label.Pos() == w.sec.Stmt.Pos() {
			w.errorf(n.Pos(), "goto %s leaves //intra:section and enters it again", n.Label.Name)
		}
		return
	}
	for _, p := range w.stack {
		switch p.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			return
		case *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
			if n.Tok == token.BREAK {
				return
			}
		}
	}
	w.errorf(n.Pos(), "%s leaves //intra:section: the section has to reach its end", n.Tok)
}

// jumpsIn rejects a goto from outside of the section to its label.
func (w *sectionWalk) jumpsIn(fn *ast.FuncDecl) {
	l, ok := w.sec.Stmt.(*ast.LabeledStmt)
	if !ok || fn == nil {
		return
	}
	ast.Inspect(fn, func(n ast.Node) bool {
		b, ok := n.(*ast.BranchStmt)
		if ok && b.Tok == token.GOTO && w.info.Uses[b.Label] == w.info.Defs[l.Label] && (b.Pos() < l.Pos() || b.Pos() >= l.End()) {
			w.errorf(b.Pos(), "goto %s jumps to a section; put the section into a block after the label", b.Label.Name)
		}
		return true
	})
}

// calledFunc returns the function that a call names, and its identifier in the call.
func calledFunc(info *types.Info, call *ast.CallExpr) (*types.Func, *ast.Ident) {
	fun := ast.Unparen(call.Fun)
	switch x := fun.(type) {
	case *ast.IndexExpr:
		fun = x.X
	case *ast.IndexListExpr:
		fun = x.X
	}
	var id *ast.Ident
	switch x := ast.Unparen(fun).(type) {
	case *ast.Ident:
		id = x
	case *ast.SelectorExpr:
		id = x.Sel
	default:
		return nil, nil
	}
	fn, _ := info.Uses[id].(*types.Func)
	if fn == nil {
		return nil, id
	}
	return fn.Origin(), id
}

func (w *sectionWalk) call(call *ast.CallExpr) {
	fn, id := calledFunc(w.info, call)
	if fn == nil {
		if b, ok := w.info.Uses[idOrNil(id)].(*types.Builtin); ok {
			switch {
			case b.Name() == "recover" && !w.literal():
				w.errorf(call.Pos(), "recover inside //intra:section; move it out of the section")
			case b.Name() == "close":
				w.errorf(call.Pos(), "close of a channel inside //intra:section; move it out of the section")
			}
		}
		return
	}
	if fn.Pkg() != nil {
		switch path := fn.Pkg().Path(); {
		case path == commPath && !slices.Contains([]string{"Rank", "Size"}, fn.Name()):
			w.errorf(call.Pos(), "message passing inside //intra:section (comm.%s); move it before or after the section", LocalName(fn))
			return
		case path == IntraPath && strings.HasPrefix(fn.Name(), "Once"):
			w.errorf(call.Pos(), "intra.%s inside //intra:section; move it before or after the section", fn.Name())
			return
		case path == IntraPath && slices.Contains([]string{"Section", "Main", "Run"}, fn.Name()):
			w.errorf(call.Pos(), "intra.%s inside //intra:section; sections do not nest", LocalName(fn))
			return
		}
	}
	if c := w.callee(fn); c != nil {
		w.launch(call, c)
		return
	}
	if w.messages != nil {
		if what := w.messages(fn); what != "" {
			w.errorf(call.Pos(), "%s passes messages (%s) and is called inside //intra:section; move it before or after the section", fn.Name(), what)
		}
	}
}

func idOrNil(id *ast.Ident) *ast.Ident {
	if id == nil {
		return &ast.Ident{}
	}
	return id
}

// kernelValue rejects a use of a kernel other than a call.
func (w *sectionWalk) kernelValue(id *ast.Ident) {
	fn, ok := w.info.Uses[id].(*types.Func)
	if !ok || w.callee(fn.Origin()) == nil {
		return
	}
	for i := len(w.stack) - 1; i >= 0; i-- {
		switch n := w.stack[i].(type) {
		case *ast.SelectorExpr:
			if n.Sel == id {
				continue
			}
		case *ast.IndexExpr, *ast.IndexListExpr, *ast.ParenExpr:
			continue
		case *ast.CallExpr:
			if _, called := calledFunc(w.info, n); called == id {
				return
			}
		}
		break
	}
	w.errorf(id.Pos(), "kernel %s is used as a value inside //intra:section and would run at once; call it directly", id.Name)
}
