package annotations

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// Section is a resolved //intra:section: where it stands, on which process,
// and the calls in it that become launches.
type Section struct {
	Stmt     ast.Stmt
	Dir      Directive
	Process  string // expression of type *intra.Process
	Sched    string // "" or one of Schedules
	Launches []*Launch
}

// Launch is a call of a kernel in a section.
type Launch struct {
	Stmt   ast.Stmt // the statement that becomes the launch
	Call   *ast.CallExpr
	Callee *Callee
	Target ast.Expr // the variable that takes the result; nil without one
}

// Callee is what a section has to know about a kernel.
type Callee struct {
	Func   *types.Func // the generic one, if it is generic
	Result Kind        // Out, Reduce, or 0
	Op     string
	Whole  []int // parameters (receiver first) that are written as a whole
	Writes []int // parameters that are written at all
}

// sectionScope is where sections are resolved.
type sectionScope struct {
	fset     *token.FileSet
	pkg      *types.Package
	info     *types.Info
	callee   func(*types.Func) *Callee // nil for a function that is no kernel
	messages func(*types.Func) string  // how a function passes messages; "" if not known to
}

// sectionWalk resolves one section.
type sectionWalk struct {
	*sectionScope
	sec     *Section
	errs    []*Error
	stack   []ast.Node // from the section's statement down
	targets map[*ast.Ident]bool
}

func (w *sectionWalk) errorf(pos token.Pos, format string, args ...any) {
	w.errs = append(w.errs, &Error{pos, fmt.Sprintf(format, args...)})
}

// resolve resolves the section at st; fn is the outermost function around it.
func (sc *sectionScope) resolve(d *Directives, fn *ast.FuncDecl, st ast.Stmt) (*Section, []*Error) {
	dir := d.Sections[st]
	args, errs := ParseSection(dir.Args, dir.ArgsPos)
	w := &sectionWalk{sectionScope: sc, sec: &Section{Stmt: st, Dir: dir, Sched: args.Sched}, errs: errs, targets: map[*ast.Ident]bool{}}
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
	w.touched()
	w.jumpsIn(fn)
	return w.sec, w.errs
}

// process finds the expression of type *intra.Process.
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
	return ok && n.Obj().Name() == "Process" && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == RuntimePath
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

// literal tells whether the walk is inside a function literal.
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

// branch refuses jumps out of the section.
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

// jumpsIn refuses a goto from outside to the label of the section.
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

// calledFunc returns the function that a call names, and its identifier.
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
		case path == RuntimePath && strings.HasPrefix(fn.Name(), "Once"):
			w.errorf(call.Pos(), "intra.%s inside //intra:section; move it before or after the section", fn.Name())
			return
		case path == RuntimePath && slices.Contains([]string{"Section", "Main", "Run"}, fn.Name()):
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

// launch matches the forms in which a kernel may be called.
func (w *sectionWalk) launch(call *ast.CallExpr, c *Callee) {
	name := c.Func.Name()
	if w.literal() {
		w.errorf(call.Pos(), "kernel %s is called in a function literal inside //intra:section; call it in the section itself", name)
		return
	}
	if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
		if s := w.info.Selections[sel]; s != nil && s.Kind() == types.MethodExpr {
			w.errorf(call.Pos(), "kernel %s is called as a method expression; write x.%s(…)", name, name)
			return
		}
	}
	if len(call.Args) == 1 {
		if t, ok := w.info.TypeOf(call.Args[0]).(*types.Tuple); ok && t.Len() > 1 {
			w.errorf(call.Pos(), "the arguments of kernel %s come from one call; write them one by one", name)
			return
		}
	}
	if c.Func.Signature().Variadic() && !call.Ellipsis.IsValid() {
		w.errorf(call.Pos(), "kernel %s takes a list of arguments; pass it as one slice, as in %s(list...)", name, name)
		return
	}
	l := &Launch{Call: call, Callee: c}
	at := len(w.stack) - 1
	for at > 0 && isParen(w.stack[at]) {
		at--
	}
	switch parent := w.stack[at].(type) {
	case *ast.ExprStmt:
		if c.Result != 0 {
			w.errorf(call.Pos(), "the result of kernel %s is lost; write %s", name, form(c))
			return
		}
		l.Stmt = parent
	case *ast.AssignStmt:
		if !w.assign(l, parent, nil) {
			return
		}
	case *ast.CallExpr:
		for at--; at > 0 && isParen(w.stack[at]); at-- {
		}
		as, ok := w.stack[max(at, 0)].(*ast.AssignStmt)
		if !ok || !w.assign(l, as, parent) {
			if !ok {
				w.inExpression(call, c)
			}
			return
		}
	default:
		w.inExpression(call, c)
		return
	}
	if at == 0 || !inList(w.stack[at-1], l.Stmt) {
		w.errorf(call.Pos(), "the call of kernel %s is part of another statement; give it a line of its own", name)
		return
	}
	w.loops(l, at)
	w.sec.Launches = append(w.sec.Launches, l)
}

func (w *sectionWalk) inExpression(call *ast.CallExpr, c *Callee) {
	if c.Result == 0 {
		w.errorf(call.Pos(), "the call of kernel %s is part of another statement; give it a line of its own", c.Func.Name())
		return
	}
	w.errorf(call.Pos(), "the result of kernel %s is used before the section ends; write %s and use v after the section", c.Func.Name(), form(c))
}

func isParen(n ast.Node) bool { _, ok := n.(*ast.ParenExpr); return ok }

// inList tells whether st is a statement of a list, not, say, of a for clause.
func inList(parent ast.Node, st ast.Stmt) bool {
	switch p := parent.(type) {
	case *ast.BlockStmt:
		return slices.Contains(p.List, st)
	case *ast.CaseClause:
		return slices.Contains(p.Body, st)
	case *ast.LabeledStmt:
		return p.Stmt == st
	}
	return false
}

// form shows how a kernel is called.
func form(c *Callee) string {
	f := c.Func.Name() + "(…)"
	switch {
	case c.Result == 0:
		return f
	case c.Result == Out:
		return "v = " + f
	case c.Op == "+" || c.Op == "*":
		return "v " + c.Op + "= " + f
	}
	return "v = " + c.Op + "(v, " + f + ")"
}

// assign matches v = f(…), v += f(…) and v = op(v, f(…)).
func (w *sectionWalk) assign(l *Launch, as *ast.AssignStmt, op *ast.CallExpr) bool {
	c, name := l.Callee, l.Callee.Func.Name()
	wrong := func() bool {
		w.errorf(l.Call.Pos(), "kernel %s is called as %s inside a section", name, form(c))
		return false
	}
	if as.Tok == token.DEFINE {
		w.errorf(as.Pos(), "the result of kernel %s comes when the section ends; declare its variable before the section and write %s", name, form(c))
		return false
	}
	if len(as.Lhs) != 1 || len(as.Rhs) != 1 || c.Result == 0 {
		return wrong()
	}
	got := ""
	switch {
	case op != nil:
		if as.Tok != token.ASSIGN || ast.Unparen(as.Rhs[0]) != op || len(op.Args) != 2 || ast.Unparen(op.Args[1]) != l.Call ||
			types.ExprString(op.Args[0]) != types.ExprString(as.Lhs[0]) {
			return wrong()
		}
		_, id := calledFunc(w.info, op)
		if id == nil {
			return wrong()
		}
		got = id.Name
	case as.Tok == token.ADD_ASSIGN:
		got = "+"
	case as.Tok == token.MUL_ASSIGN:
		got = "*"
	case as.Tok != token.ASSIGN:
		return wrong()
	}
	if c.Result == Out && got != "" || c.Result == Reduce && got != c.Op {
		return wrong()
	}
	return w.target(l, as, op)
}

// target checks the variable that takes a result.
func (w *sectionWalk) target(l *Launch, as *ast.AssignStmt, op *ast.CallExpr) bool {
	v, name := as.Lhs[0], l.Callee.Func.Name()
	text := types.ExprString(v)
	if text == "_" {
		w.errorf(v.Pos(), "the result of kernel %s is lost; write %s", name, form(l.Callee))
		return false
	}
	if tv, ok := w.info.Types[v]; ok && !tv.Addressable() {
		w.errorf(v.Pos(), "%s takes the result of a kernel and has no address; use a variable", text)
		return false
	}
	root := rootIdent(v)
	if root == nil {
		w.errorf(v.Pos(), "%s takes the result of a kernel; use a variable, field or element", text)
		return false
	}
	if obj := w.info.Uses[root]; obj != nil && obj.Pos() >= w.sec.Stmt.Pos() && obj.Pos() < w.sec.Stmt.End() && obj.Parent() != w.pkg.Scope() {
		w.errorf(v.Pos(), "%s takes a result when the section ends; declare %s before the section", text, root.Name)
		return false
	}
	vt, ct := w.info.TypeOf(v), w.info.TypeOf(l.Call)
	if vt != nil && ct != nil && !types.Identical(vt, ct) {
		q := types.RelativeTo(w.pkg)
		w.errorf(v.Pos(), "%s has type %s and takes a result of type %s; give it that type", text, types.TypeString(vt, q), types.TypeString(ct, q))
		return false
	}
	l.Stmt, l.Target = as, v
	if id, ok := ast.Unparen(v).(*ast.Ident); ok {
		w.targets[id] = true
	}
	if op != nil {
		if id, ok := ast.Unparen(op.Args[0]).(*ast.Ident); ok {
			w.targets[id] = true
		}
	}
	return true
}

func rootIdent(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.ParenExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// loops refuses tasks of a loop that all write the same memory.
func (w *sectionWalk) loops(l *Launch, at int) {
	loop := false
	for _, n := range w.stack[:at] {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			loop = true
		}
	}
	if !loop {
		return
	}
	if l.Target != nil && l.Callee.Result == Out {
		if id, ok := ast.Unparen(l.Target).(*ast.Ident); ok {
			w.errorf(id.Pos(), "every turn of the loop writes %s; give each its own element, or use reduce", id.Name)
		}
	}
	args := arguments(l)
	for _, i := range l.Callee.Whole {
		if i >= len(args) {
			continue
		}
		arg := ast.Unparen(args[i])
		if u, ok := arg.(*ast.UnaryExpr); ok && u.Op == token.AND {
			arg = u.X
		}
		id, ok := arg.(*ast.Ident)
		if !ok {
			continue
		}
		obj := w.info.Uses[id]
		if obj == nil || obj.Pos() >= w.sec.Stmt.Pos() && obj.Pos() < w.sec.Stmt.End() || w.assigned(obj) {
			continue
		}
		w.errorf(id.Pos(), "every turn of the loop launches a task that writes all of %s; give each task its part, as in %s[lo:hi]", id.Name, id.Name)
	}
}

// assigned tells whether the section assigns the variable itself.
func (w *sectionWalk) assigned(obj types.Object) bool {
	found := false
	ast.Inspect(w.sec.Stmt, func(n ast.Node) bool {
		if as, ok := n.(*ast.AssignStmt); ok {
			for _, l := range as.Lhs {
				if id, ok := ast.Unparen(l).(*ast.Ident); ok && w.info.Uses[id] == obj {
					found = true
				}
			}
		}
		return true
	})
	return found
}

// uses refuses other uses of a variable that takes a result.
func (w *sectionWalk) uses() {
	targets := map[types.Object]string{}
	for id := range w.targets {
		if obj := w.info.Uses[id]; obj != nil {
			targets[obj] = id.Name
		}
	}
	if len(targets) == 0 {
		return
	}
	ast.Inspect(w.sec.Stmt, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && !w.targets[id] && targets[w.info.Uses[id]] != "" {
			w.errorf(id.Pos(), "%s is used inside the section, but gets its value from the tasks when the section ends", id.Name)
		}
		return true
	})
}

// touched refuses control code that uses elements of what a task launched
// before it works on. Only the plain cases are seen: the slice is passed as a
// whole, or the index is the very bound it is cut at.
func (w *sectionWalk) touched() {
	for _, l := range w.sec.Launches {
		for i, arg := range arguments(l) {
			whole, from := ast.Unparen(arg), ""
			if s, ok := whole.(*ast.SliceExpr); ok {
				whole = s.X
				if s.Low != nil {
					from = types.ExprString(s.Low)
				} else {
					from = "0"
				}
			}
			id, ok := whole.(*ast.Ident)
			if !ok || w.info.Uses[id] == nil || w.assigned(w.info.Uses[id]) {
				continue
			}
			w.elements(l, w.info.Uses[id], from, slices.Contains(l.Callee.Writes, i))
		}
	}
}

func arguments(l *Launch) []ast.Expr {
	if l.Callee.Func.Signature().Recv() != nil {
		if sel, ok := ast.Unparen(l.Call.Fun).(*ast.SelectorExpr); ok {
			return append([]ast.Expr{sel.X}, l.Call.Args...)
		}
	}
	return l.Call.Args
}

// elements looks for uses of elements of v after a launch.
func (w *sectionWalk) elements(l *Launch, v types.Object, from string, written bool) {
	match := func(e ast.Expr) bool {
		x, ok := ast.Unparen(e).(*ast.IndexExpr)
		if !ok || from != "" && types.ExprString(x.Index) != from {
			return false
		}
		id, ok := ast.Unparen(x.X).(*ast.Ident)
		return ok && w.info.Uses[id] == v
	}
	name := l.Callee.Func.Name()
	ast.Inspect(w.sec.Stmt, func(n ast.Node) bool {
		if n == nil || n.End() <= l.Stmt.End() {
			return false
		}
		var targets []ast.Expr
		switch n := n.(type) {
		case *ast.AssignStmt:
			targets = n.Lhs
		case *ast.IncDecStmt:
			targets = []ast.Expr{n.X}
		}
		for _, t := range targets {
			if t.Pos() >= l.Stmt.End() && match(t) && !w.launches(n) {
				w.errorf(t.Pos(), "%s is written here after a task of kernel %s that uses it was launched; write it after the section", types.ExprString(t), name)
				return false
			}
		}
		if e, ok := n.(ast.Expr); ok && written && n.Pos() >= l.Stmt.End() && match(e) {
			w.errorf(n.Pos(), "%s is used here after a task of kernel %s that writes it was launched; it has its value after the section", types.ExprString(e), name)
			return false
		}
		return true
	})
}

// launches tells whether a statement is itself a launch.
func (w *sectionWalk) launches(n ast.Node) bool {
	return slices.ContainsFunc(w.sec.Launches, func(l *Launch) bool { return l.Stmt == n })
}

// kernelValue refuses a kernel that is used without being called.
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
