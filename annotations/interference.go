package annotations

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

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
