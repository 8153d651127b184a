package annotations

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// functions checks the functions and methods that tasks of a section receive through the
// clause in. A task runs on one replica. If such a function keeps state between calls, the
// state changes only on that replica.
func (w *sectionWalk) functions(fn ast.Node) {
	if fn == nil {
		return
	}
	var v *sectionValues
	for _, l := range w.sec.Launches {
		args := arguments(l)
		for _, it := range l.Callee.Items {
			if it.Kind != In || it.Param >= len(args) || it.Path != "" && it.Path != "*" {
				continue
			}
			arg := args[it.Param]
			t := w.info.TypeOf(arg)
			if t == nil {
				continue
			}
			if _, ok := coreType(t).(*types.Signature); !ok {
				continue
			}
			if v == nil {
				v = newSectionValues(w.info, fn, w.sec.Stmt)
			}
			w.function(v, fn, l, arg)
		}
	}
}

// function checks one function that is passed to a task.
func (w *sectionWalk) function(v *sectionValues, around ast.Node, l *Launch, arg ast.Expr) {
	e := ast.Unparen(arg)
	if id, ok := e.(*ast.Ident); ok {
		if def := v.defined[w.info.ObjectOf(id)]; def != nil {
			e = ast.Unparen(def)
		}
	}
	kernel := l.Callee.Func.Name()
	const cure = "another replica that runs the task does not do so here; keep no state in it, or compute it after the section"
	if lit, ok := e.(*ast.FuncLit); ok {
		if all := w.keeps(lit, around); len(all) > 0 {
			k := all[0] // a certain one, if there is any
			name := "a function literal"
			if _, inline := ast.Unparen(arg).(*ast.FuncLit); !inline {
				name = types.ExprString(arg)
			}
			text := fmt.Sprintf("%s is passed to kernel %s, and %s %s", name, kernel, k.does, k.what)
			if k.certain {
				w.errorf(arg.Pos(), "%s (%s): %s", text, lineOf(w.fset, k.pos), cure)
				return
			}
			w.listed = append(w.listed, &Error{arg.Pos(), fmt.Sprintf("%s (%s), which is an error if it matters from call to call%sdoes", text, lineOf(w.fset, k.pos), runCheck)})
		}
		return
	}
	var obj *types.Func
	var recv types.Type
	switch x := e.(type) {
	case *ast.Ident:
		obj, _ = w.info.Uses[x].(*types.Func)
	case *ast.SelectorExpr:
		obj, _ = w.info.Uses[x.Sel].(*types.Func)
		if sel := w.info.Selections[x]; sel != nil && sel.Kind() == types.MethodVal {
			recv = sel.Recv()
		}
	}
	if obj == nil || w.effects == nil || obj.Pkg() == nil || isStandard(obj.Pkg()) {
		return
	}
	eff := w.effects(obj)
	if eff == nil {
		return
	}
	if len(eff.Globals) > 0 {
		w.errorf(arg.Pos(), "%s is passed to kernel %s, and writes the package variable %s: %s", types.ExprString(arg), kernel, eff.Globals[0], cure)
		return
	}
	if recv == nil {
		return
	}
	for _, a := range eff.Accesses {
		if a.Param != 0 || !a.Write || a.Unknown || !strings.Contains(a.Path, "*") {
			continue
		}
		counts := slices.ContainsFunc(eff.Accesses, func(r Access) bool {
			return r.Param == 0 && !r.Write && r.Exposed && !r.Maybe && r.Path == a.Path
		})
		text := fmt.Sprintf("%s is passed to kernel %s, and writes %s", types.ExprString(arg), kernel, displayPath("its receiver", a.Path))
		if counts && !a.Maybe {
			w.errorf(arg.Pos(), "%s: %s", text, cure)
		} else {
			w.listed = append(w.listed, &Error{arg.Pos(), text + ", which is an error if it matters from call to call" + runCheck + "does"})
		}
		return
	}
}

// kept is a write by a function literal to a variable that the literal does not declare.
type kept struct {
	does, what string
	pos        token.Pos
	certain    bool
}

// keeps lists the writes by lit that may keep state between calls, the certain ones first. A
// write certainly keeps state if it depends on the previous value, or if the variable is used
// elsewhere.
func (w *sectionWalk) keeps(lit *ast.FuncLit, around ast.Node) []kept {
	var found []kept
	begun := map[types.Object]bool{} // variables that an earlier statement of lit sets
	note := func(e ast.Expr, updates bool) {
		id := rootIdent(e)
		if id == nil {
			return
		}
		obj, ok := w.info.ObjectOf(id).(*types.Var)
		if !ok || obj.IsField() || declaredIn(obj, lit) {
			return
		}
		_, whole := ast.Unparen(e).(*ast.Ident)
		does := "writes"
		if updates {
			does = "updates"
		}
		found = append(found, kept{does, types.ExprString(e), e.Pos(), updates && !begun[obj] || whole && w.readElsewhere(obj, lit, around)})
		begun[obj] = begun[obj] || !updates
	}
	ast.Inspect(lit.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr: // a call of clear or copy, or of another function that may set the variable
			for _, arg := range n.Args {
				if u, ok := ast.Unparen(arg).(*ast.UnaryExpr); ok && u.Op == token.AND {
					arg = u.X
				}
				if id := rootIdent(arg); id != nil {
					begun[w.info.ObjectOf(id)] = true
				}
			}
		case *ast.IncDecStmt:
			note(n.X, true)
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				return true
			}
			for i, l := range n.Lhs {
				updates := n.Tok != token.ASSIGN
				if len(n.Lhs) == len(n.Rhs) && !updates { // an assignment such as x = x + 1
					updates = holdsExpr(n.Rhs[i], l)
				}
				note(l, updates)
			}
		}
		return true
	})
	slices.SortStableFunc(found, func(a, b kept) int { return compareBool(b.certain, a.certain) })
	return found
}

// holdsExpr reports whether an expression contains another expression.
func holdsExpr(e, part ast.Expr) bool {
	found := false
	want := types.ExprString(part)
	ast.Inspect(e, func(n ast.Node) bool {
		if x, ok := n.(ast.Expr); ok && types.ExprString(x) == want {
			found = true
		}
		return !found
	})
	return found
}

// readElsewhere reports whether the function around a literal uses a variable outside of the
// literal, other than by assigning it.
func (w *sectionWalk) readElsewhere(obj types.Object, lit *ast.FuncLit, around ast.Node) bool {
	found := false
	assigned := map[*ast.Ident]bool{}
	ast.Inspect(around, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			if n == lit {
				return false
			}
		case *ast.AssignStmt:
			if n.Tok == token.ASSIGN {
				for _, l := range n.Lhs {
					if id, ok := ast.Unparen(l).(*ast.Ident); ok {
						assigned[id] = true
					}
				}
			}
		case *ast.Ident:
			if w.info.Uses[n] == obj && !assigned[n] {
				found = true
			}
		}
		return !found
	})
	return found
}
