package annotations

import (
	"go/ast"
	"go/token"
	"go/types"
)

// loops rejects tasks of a loop if all of them write the same memory.
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

// assigned reports whether the section assigns the variable itself.
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

// uses rejects other uses of a variable that receives a result.
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

func arguments(l *Launch) []ast.Expr {
	if l.Callee.Func.Signature().Recv() != nil {
		if sel, ok := ast.Unparen(l.Call.Fun).(*ast.SelectorExpr); ok {
			return append([]ast.Expr{sel.X}, l.Call.Args...)
		}
	}
	return l.Call.Args
}
