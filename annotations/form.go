package annotations

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// launch checks that a call of a kernel has one of the forms that a section allows.
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
	case *ast.BinaryExpr:
		for at--; at > 0 && isParen(w.stack[at]); at-- {
		}
		as, ok := w.stack[max(at, 0)].(*ast.AssignStmt)
		if logical := c.Op == "&&" || c.Op == "||"; !ok || !logical {
			w.inExpression(call, c)
			return
		}
		if !w.assignLogical(l, as, parent) {
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
	w.reductions(l)
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

// inList reports whether st is a statement of a list. It is not if it is, for example, in the
// header of a for statement.
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

// form returns the form in which a section has to call a kernel.
func form(c *Callee) string {
	f := c.Func.Name() + "(…)"
	switch {
	case c.Result == 0:
		return f
	case c.Result == Out:
		return "v = " + f
	case c.Op == "&&" || c.Op == "||":
		return "v = " + f + " " + c.Op + " v"
	case !token.IsIdentifier(c.Op):
		return "v " + c.Op + "= " + f
	}
	return "v = " + c.Op + "(v, " + f + ")"
}

// assignLogical handles v = f(…) && v and v = f(…) || v. Both forms always call the kernel.
func (w *sectionWalk) assignLogical(l *Launch, as *ast.AssignStmt, x *ast.BinaryExpr) bool {
	c := l.Callee
	if c.Result != Reduce || c.Op != x.Op.String() || as.Tok != token.ASSIGN || len(as.Lhs) != 1 || len(as.Rhs) != 1 ||
		ast.Unparen(as.Rhs[0]) != x || ast.Unparen(x.X) != l.Call || types.ExprString(x.Y) != types.ExprString(as.Lhs[0]) {
		w.errorf(l.Call.Pos(), "kernel %s is called as %s inside a section", c.Func.Name(), form(c))
		return false
	}
	if id, ok := ast.Unparen(x.Y).(*ast.Ident); ok {
		w.targets[id] = true
	}
	return w.target(l, as, nil)
}

// assign handles v = f(…), v += f(…) and v = op(v, f(…)).
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
	case as.Tok == token.ADD_ASSIGN, as.Tok == token.MUL_ASSIGN, as.Tok == token.AND_ASSIGN, as.Tok == token.OR_ASSIGN, as.Tok == token.XOR_ASSIGN:
		got = strings.TrimSuffix(as.Tok.String(), "=")
	case as.Tok != token.ASSIGN:
		return wrong()
	}
	if c.Result == Out && got != "" || c.Result == Reduce && got != c.Op {
		return wrong()
	}
	return w.target(l, as, op)
}

// target checks the variable to which a result is assigned.
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
