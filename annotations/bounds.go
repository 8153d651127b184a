package annotations

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// checkBounds finds accesses that certainly leave the bounds of their clause. It handles
// indices that are sums of parameters, numbers, and the counter of a loop over such sums. It
// ignores accesses that depend on another condition than that of the loop.
func checkBounds(info *types.Info, k *Kernel) []finding {
	if k.Decl.Body == nil || !slices.ContainsFunc(k.Items, func(it *ItemInfo) bool { return it.Item.Slice != nil }) {
		return nil
	}
	c := &boundCheck{values: newValues(k, info), loops: map[string]loop{}, reported: map[*ItemInfo]bool{}}
	c.list(k.Decl.Body.List)
	return c.findings
}

type boundCheck struct {
	*values
	loops    map[string]loop // enclosing loops, by the name of the counter
	reported map[*ItemInfo]bool
	findings []finding
}

// loop is the range of a counter, which takes all values from lo to hi-1.
type loop struct{ lo, hi affine }

// list checks the statements of a list, up to the first one that may leave the list.
func (c *boundCheck) list(list []ast.Stmt) {
	for _, st := range list {
		if leaves(st) {
			return
		}
		c.stmt(st)
	}
}

// leaves reports whether control may leave the list at st, so that later statements do not
// run.
func leaves(st ast.Stmt) bool {
	found := false
	ast.Inspect(st, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ReturnStmt, *ast.BranchStmt:
			found = true
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && id.Name == "panic" {
				found = true
			}
		case *ast.FuncLit:
			return false
		}
		return !found
	})
	return found
}

func (c *boundCheck) stmt(st ast.Stmt) {
	switch st := st.(type) {
	case *ast.BlockStmt:
		c.list(st.List)
	case *ast.AssignStmt:
		for _, e := range st.Rhs {
			c.expr(e, false)
		}
		for _, e := range st.Lhs {
			c.expr(e, true)
		}
	case *ast.IncDecStmt:
		c.expr(st.X, true)
	case *ast.ExprStmt:
		c.expr(st.X, false)
	case *ast.ForStmt:
		c.loop(st.Body, func() (string, loop, bool) { return c.counted(st) })
	case *ast.RangeStmt:
		c.loop(st.Body, func() (string, loop, bool) { return c.ranged(st) })
	}
}

func (c *boundCheck) loop(body *ast.BlockStmt, of func() (string, loop, bool)) {
	name, l, ok := of()
	if !ok {
		return
	}
	if name != "" {
		c.loops[name] = l
		defer delete(c.loops, name)
	}
	c.list(body.List)
}

// counted matches for i := lo; i < hi; i++.
func (c *boundCheck) counted(st *ast.ForStmt) (string, loop, bool) {
	init, ok1 := st.Init.(*ast.AssignStmt)
	cond, ok2 := st.Cond.(*ast.BinaryExpr)
	post, ok3 := st.Post.(*ast.IncDecStmt)
	if !ok1 || !ok2 || !ok3 || post.Tok != token.INC || init.Tok != token.DEFINE || len(init.Lhs) != 1 || len(init.Rhs) != 1 {
		return "", loop{}, false
	}
	id, ok := init.Lhs[0].(*ast.Ident)
	if !ok {
		return "", loop{}, false
	}
	obj, _ := c.info.Defs[id].(*types.Var)
	is := func(e ast.Expr) bool {
		x, ok := ast.Unparen(e).(*ast.Ident)
		return ok && c.info.ObjectOf(x) == obj
	}
	if obj == nil || !is(cond.X) || !is(post.X) || c.assigns(st.Body, obj) {
		return "", loop{}, false
	}
	lo, ok1 := c.of(init.Rhs[0])
	hi, ok2 := c.of(cond.Y)
	if cond.Op == token.LEQ {
		hi = hi.add(1)
	}
	if !ok1 || !ok2 || cond.Op != token.LSS && cond.Op != token.LEQ || c.counts(lo) || c.counts(hi) {
		return "", loop{}, false
	}
	delete(c.changed, obj) // only the loop itself assigns it
	delete(c.defined, obj)
	return c.name(obj), loop{lo, hi}, true
}

// assigns reports whether the body of a loop assigns the loop's counter.
func (c *boundCheck) assigns(body ast.Node, obj types.Object) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		var set []ast.Expr
		switch n := n.(type) {
		case *ast.AssignStmt:
			set = n.Lhs
		case *ast.IncDecStmt:
			set = []ast.Expr{n.X}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				set = []ast.Expr{n.X}
			}
		}
		for _, e := range set {
			if id, ok := ast.Unparen(e).(*ast.Ident); ok && c.info.ObjectOf(id) == obj {
				found = true
			}
		}
		return !found
	})
	return found
}

// ranged matches for i := range n and for i, v := range x.
func (c *boundCheck) ranged(st *ast.RangeStmt) (string, loop, bool) {
	var hi affine
	ok := false
	switch coreType(c.info.TypeOf(st.X)).(type) {
	case *types.Basic:
		if isInteger(c.info.TypeOf(st.X)) {
			hi, ok = c.of(st.X)
		}
	case *types.Slice:
		var b part
		if b, ok = c.base(st.X); ok {
			hi = b.length
		}
	}
	if !ok || st.Tok == token.ASSIGN || c.counts(hi) {
		return "", loop{}, false
	}
	id, _ := st.Key.(*ast.Ident)
	if id == nil || id.Name == "_" {
		return "", loop{}, true
	}
	obj, _ := c.info.Defs[id].(*types.Var)
	if obj == nil || c.assigns(st.Body, obj) {
		return "", loop{}, false
	}
	return c.name(obj), loop{hi: hi}, true
}

// counts reports whether a contains the counter of an enclosing loop.
func (c *boundCheck) counts(a affine) bool {
	for name := range a.terms {
		if _, ok := c.loops[name]; ok {
			return true
		}
	}
	return false
}

// expr checks the accesses of an expression that is evaluated.
func (c *boundCheck) expr(e ast.Expr, written bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.UnaryExpr:
			return n.Op != token.AND
		case *ast.BinaryExpr:
			if n.Op == token.LAND || n.Op == token.LOR {
				c.expr(n.X, false)
				return false
			}
		case *ast.IndexExpr:
			c.access(n, written && n == ast.Unparen(e))
		}
		return true
	})
}

func (c *boundCheck) access(x *ast.IndexExpr, written bool) {
	b, ok := c.base(x.X)
	if !ok {
		return
	}
	var it *ItemInfo
	for _, o := range c.k.Items {
		if o.Item.Path() == b.of {
			if it != nil {
				return // the clauses name several parts of one array
			}
			it = o
		}
	}
	if it == nil || it.Item.Slice == nil || it.Item.Slice.Cols != nil || c.reported[it] {
		return
	}
	index, ok := c.of(x.Index)
	if !ok {
		return
	}
	index = index.plus(b.from, 1)
	first, last := index, index
	for name, l := range c.loops {
		switch n := index.terms[name]; n {
		case 0:
		case 1:
			counter := affine{terms: map[string]int64{name: 1}}
			first = first.plus(counter, -1).plus(l.lo, 1)
			last = last.plus(counter, -1).plus(l.hi.add(-1), 1)
		default:
			return
		}
	}
	lo, ok1 := c.bound(it.Item.Slice.Lo, affine{})
	hi, ok2 := c.bound(it.Item.Slice.Hi, whole(b.of).length)
	below, under := lo.minus(first)
	above, over := last.minus(hi.add(-1))
	if !(ok1 && under && below > 0) && !(ok2 && over && above > 0) || it.Kind == In && written {
		return
	}
	c.reported[it] = true
	does := "reads"
	if written {
		does = "writes"
	}
	c.findings = append(c.findings, finding{pos: x.Pos(), msg: fmt.Sprintf(
		"task %s %s %s, that is %s[%v:%v], but its clause is %s(%s); name what it uses, or keep to the block",
		c.k.Func.Name(), does, types.ExprString(x), b.of, first, last.add(1), it.Kind, it.Item.Text)})
}
