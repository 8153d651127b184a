package annotations

import (
	"go/ast"
	"go/types"
	"slices"
)

// globals rejects control code that sets a package variable which tasks read, since tasks run
// at the end of the section. Control code may set the variable before the first task that
// reads it is launched. It must not do so in a loop around that launch.
func (w *sectionWalk) globals() {
	if w.effects == nil {
		return
	}
	readers := map[string][]*Launch{}
	for _, l := range w.sec.Launches {
		if e := w.effects(l.Callee.Func); e != nil {
			for _, g := range e.Reads {
				readers[g] = append(readers[g], l)
			}
		}
	}
	if len(readers) == 0 {
		return
	}
	var loops []ast.Node // enclosing loops
	var stack []ast.Node
	set := func(n ast.Node, name, how string) {
		for _, l := range readers[name] {
			inLoop := slices.ContainsFunc(loops, func(o ast.Node) bool { return o.Pos() <= l.Stmt.Pos() && l.Stmt.End() <= o.End() })
			if n.Pos() > l.Stmt.End() || inLoop {
				kernel := l.Callee.Func.Name()
				w.errorf(n.Pos(), "%s is set here%s, and tasks of kernel %s read it, which run when the section ends; pass it to %[3]s as a parameter, or set it before or after the section", name, how, kernel)
				return
			}
		}
	}
	ast.Inspect(w.sec.Stmt, func(n ast.Node) bool {
		if n == nil {
			if top := stack[len(stack)-1]; len(loops) > 0 && loops[len(loops)-1] == top {
				loops = loops[:len(loops)-1]
			}
			stack = stack[:len(stack)-1]
			return true
		}
		stack = append(stack, n)
		switch n := n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			loops = append(loops, n)
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				if name := w.packageVariable(e); name != "" {
					set(e, name, "")
				}
			}
		case *ast.IncDecStmt:
			if name := w.packageVariable(n.X); name != "" {
				set(n.X, name, "")
			}
		case *ast.CallExpr:
			if fn, _ := calledFunc(w.info, n); fn != nil && w.callee(fn) == nil {
				if e := w.effects(fn); e != nil {
					for _, g := range e.Sets {
						set(n, g, " by "+fn.Name())
					}
				}
			}
		}
		return true
	})
}

// packageVariable returns the name of the package variable that e names, or of which e is a
// field.
func (w *sectionWalk) packageVariable(e ast.Expr) string {
	for {
		switch x := ast.Unparen(e).(type) {
		case *ast.Ident:
			if v, ok := w.info.ObjectOf(x).(*types.Var); ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
				return v.Pkg().Name() + "." + v.Name()
			}
			return ""
		case *ast.SelectorExpr:
			if v, ok := w.info.ObjectOf(x.Sel).(*types.Var); ok && !v.IsField() {
				e = x.Sel
				continue
			}
			if _, pointer := w.info.TypeOf(x.X).Underlying().(*types.Pointer); pointer {
				return ""
			}
			e = x.X
		default:
			return ""
		}
	}
}
