package annotations

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// A parameter in reduce is a slice, or points to a variable or an array. In a section each
// task gets memory of its own instead, which begins with the neutral element of the
// operator. When the section ends, this memory is folded into the argument, element by
// element. A kernel that is called by itself folds its part into the argument at once. Both
// give the same bits if the kernel folds into each element at most once, or the operator is
// exact.

// reduceParam resolves a parameter in the clause reduce.
func (r *resolved) reduceParam(c Clause, it *ItemInfo) bool {
	name := it.Item.Root.Name
	if len(it.Item.Fields) > 0 || it.Item.Slice != nil {
		r.errorf(it.Item.Pos(), "clause reduce: %s is a part of %s, and a task gets other memory in the place of the whole; make it a parameter of its own", it.Item.Text, name)
		return false
	}
	t := it.Param.Var.Type()
	elem := foldedElement(t)
	if elem == nil {
		r.errorf(it.Item.Pos(), "clause reduce: %s is a %s; reduce takes a slice, a pointer to a variable or to an array, or the named result of the kernel", name, r.typeString(t))
		return false
	}
	if why := holdsPointer(elem); why != "" {
		r.errorf(it.Item.Pos(), "clause reduce: %s cannot be sent to the other replicas: %s", name, r.relative(why))
		return false
	}
	it.typ, it.path, it.Form = t, "*", PtrForm
	if isSlice(t) {
		it.Form = SliceForm
	}
	return r.operator(c, elem)
}

// foldedElement returns the type of the elements that are folded for a parameter of type t.
func foldedElement(t types.Type) types.Type {
	switch u := coreType(t).(type) {
	case *types.Slice:
		return u.Elem()
	case *types.Pointer:
		if a, ok := u.Elem().Underlying().(*types.Array); ok {
			return a.Elem()
		}
		return u.Elem()
	}
	return nil
}

// ReduceElem is the type of an element of a parameter in reduce.
func (r *Region) ReduceElem() types.Type { return foldedElement(r.Param.Var.Type()) }

// inexact reports whether the bits of a result depend on the order of folding.
func inexact(op string, elem types.Type) bool {
	return (op == "+" || op == "*") && !integer(elem)
}

// folds reports statements of a kernel that fold several times into one element. The result is
// then rounded differently when the kernel is called by itself.
func (c *kernelCheck) folds() {
	for _, it := range c.k.Items {
		if it.Kind != Reduce || it.Param == c.k.Result || c.k.Decl.Body == nil {
			continue
		}
		if elem := foldedElement(it.Param.Var.Type()); elem != nil && inexact(it.Op, elem) {
			w := &foldWalk{c, it}
			w.statements(c.k.Decl.Body, nil)
		}
	}
}

// foldWalk looks for statements that may fold into one element several times.
type foldWalk struct {
	*kernelCheck
	it *ItemInfo
}

// enclosing is a loop around a statement.
type enclosing struct {
	counters []string
	head     []ast.Node // nodes that determine the range of the loop's counters
}

func (w *foldWalk) statements(n ast.Node, loops []enclosing) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt:
			l := enclosing{}
			for _, s := range []ast.Stmt{n.Init, n.Post} {
				switch s := s.(type) {
				case *ast.AssignStmt:
					l.counters = append(l.counters, identNames(s.Lhs...)...)
				case *ast.IncDecStmt:
					l.counters = append(l.counters, identNames(s.X)...)
				}
			}
			if n.Init != nil {
				l.head = append(l.head, n.Init)
			}
			if n.Cond != nil {
				l.head = append(l.head, n.Cond)
			}
			w.statements(n.Body, append(slices.Clip(loops), l))
			return false
		case *ast.RangeStmt:
			w.statements(n.Body, append(slices.Clip(loops), enclosing{identNames(n.Key), []ast.Node{n.X}}))
			return false
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				w.assigned(l, loops)
			}
		case *ast.IncDecStmt:
			w.assigned(n.X, loops)
		case *ast.CallExpr:
			w.passed(n, loops)
		}
		return true
	})
}

func identNames(list ...ast.Expr) (names []string) {
	for _, e := range list {
		if id, ok := e.(*ast.Ident); ok && id.Name != "_" {
			names = append(names, id.Name)
		}
	}
	return names
}

// assigned checks an assignment to an element. Its index has to change with every loop around
// it, so that no element occurs twice.
func (w *foldWalk) assigned(l ast.Expr, loops []enclosing) {
	var index ast.Node
	target := ast.Unparen(l)
	switch x := target.(type) {
	case *ast.IndexExpr:
		target, index = ast.Unparen(x.X), x.Index
		if s, ok := target.(*ast.StarExpr); ok {
			target = ast.Unparen(s.X)
		}
	case *ast.StarExpr:
		target = ast.Unparen(x.X)
	default:
		return
	}
	if !w.isParam(target) {
		return
	}
	for i, outer := range loops {
		from := []ast.Node{index}
		for _, inner := range loops[i+1:] {
			from = append(from, inner.head...)
		}
		counts := slices.ContainsFunc(from, func(n ast.Node) bool {
			return slices.ContainsFunc(outer.counters, func(name string) bool { return mentions(n, name) })
		})
		if !counts {
			w.again(l.Pos())
			return
		}
	}
}

// passed checks a call in a loop. If the call passes the parameter, the callee may fold into
// it in every iteration.
func (w *foldWalk) passed(call *ast.CallExpr, loops []enclosing) {
	if id, ok := call.Fun.(*ast.Ident); len(loops) == 0 || ok && slices.Contains([]string{"len", "cap", "min", "max"}, id.Name) {
		return
	}
	for _, arg := range call.Args {
		if s, ok := ast.Unparen(arg).(*ast.SliceExpr); ok {
			arg = s.X
		}
		if w.isParam(ast.Unparen(arg)) {
			w.again(call.Pos())
		}
	}
}

func (w *foldWalk) isParam(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == w.it.Param.Var.Name()
}

func (w *foldWalk) again(pos token.Pos) {
	name := w.it.Param.Var.Name()
	if w.once("folds", name) {
		w.report(pos, nil, "task %s folds into elements of %s again and again, which rounds in another order in a plain build; put its part together in local or scratch memory, and fold each element once, as in %[2]s[i] %s= part[i]", w.name, name, w.it.Op)
	}
}

func mentions(e ast.Node, name string) bool {
	found := false
	if e != nil {
		ast.Inspect(e, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id.Name == name {
				found = true
			}
			return !found
		})
	}
	return found
}

// reductions marks the arguments into which tasks reduce. These have no meaningful value
// before the section ends.
func (w *sectionWalk) reductions(l *Launch) {
	args := arguments(l)
	for _, i := range l.Callee.Reduces {
		if i >= len(args) {
			continue
		}
		arg := ast.Unparen(args[i])
		switch x := arg.(type) {
		case *ast.UnaryExpr:
			arg = ast.Unparen(x.X)
		case *ast.SliceExpr:
			arg = ast.Unparen(x.X)
		}
		id, ok := arg.(*ast.Ident)
		if !ok {
			continue
		}
		if obj := w.info.Uses[id]; obj != nil && obj.Pos() >= w.sec.Stmt.Pos() && obj.Pos() < w.sec.Stmt.End() {
			w.errorf(id.Pos(), "%s takes a result when the section ends; declare it before the section", id.Name)
			continue
		}
		w.targets[id] = true
	}
}
