package annotations

import (
	"go/ast"
	"go/token"
	"go/types"
)

// turns describes the iterations of a loop of a section.
type turns struct {
	node ast.Node
	// lo and hi are variables with the bounds of a block. Each iteration begins where the
	// previous one ended, and no block is empty.
	lo, hi string
	all    ast.Expr // the slice whose length is divided into blocks; nil if unknown
	// counter is a variable that changes by step in each iteration. It is set if lo is "".
	counter string
	step    affine
	rising  bool // the step is positive
}

func (c *conflicts) turns(loop ast.Node) *turns {
	if t := c.loops[loop]; t != nil {
		return t
	}
	t := &turns{node: loop}
	c.loops[loop] = t
	variable := func(e ast.Expr) string {
		id, _ := e.(*ast.Ident)
		if id == nil {
			return ""
		}
		obj := c.info.Defs[id]
		if obj == nil || c.v.changed[obj] {
			return ""
		}
		return term(obj)
	}
	switch loop := loop.(type) {
	case *ast.RangeStmt:
		key := variable(loop.Key)
		call, ok := ast.Unparen(loop.X).(*ast.CallExpr)
		if !ok {
			switch coreType(c.info.TypeOf(loop.X)).(type) {
			case *types.Basic, *types.Slice, *types.Array, *types.Pointer:
				t.counter, t.step, t.rising = key, affine{c: 1}, true
			}
			break
		}
		if fn, _ := calledFunc(c.info, call); fn != nil && fn.Pkg() != nil && fn.Pkg().Path() == IntraPath && fn.Name() == "Blocks" {
			t.lo, t.hi = key, variable(loop.Value)
			if n, ok := ast.Unparen(call.Args[0]).(*ast.CallExpr); ok && len(n.Args) == 1 {
				if id, ok := n.Fun.(*ast.Ident); ok && id.Name == "len" {
					t.all = n.Args[0]
				}
			}
		} else if isNumber(c.info, loop.X) {
			t.counter, t.step, t.rising = key, affine{c: 1}, true
		}
	case *ast.ForStmt:
		c.counted(t, loop, variable)
	}
	return t
}

// counted handles for i := a; …; i++ and i += b. With hi := min(i+b, n) at the beginning of
// the body, i and hi are the bounds of blocks.
func (c *conflicts) counted(t *turns, loop *ast.ForStmt, variable func(ast.Expr) string) {
	init, ok := loop.Init.(*ast.AssignStmt)
	if !ok || init.Tok != token.DEFINE || len(init.Lhs) != 1 {
		return
	}
	counter := variable(init.Lhs[0])
	if counter == "" {
		return
	}
	switch post := loop.Post.(type) {
	case *ast.IncDecStmt:
		if post.Tok == token.INC && c.is(post.X, counter) {
			t.counter, t.step, t.rising = counter, affine{c: 1}, true
		}
	case *ast.AssignStmt:
		if post.Tok != token.ADD_ASSIGN || !c.is(post.Lhs[0], counter) {
			return
		}
		step, ok := c.v.sum(post.Rhs[0])
		if !ok {
			return
		}
		t.counter, t.step = counter, step
		t.rising = len(step.terms) == 0 && step.c > 0
		if len(loop.Body.List) == 0 {
			return
		}
		def, ok := loop.Body.List[0].(*ast.AssignStmt)
		if !ok || def.Tok != token.DEFINE || len(def.Lhs) != 1 {
			return
		}
		call, ok := def.Rhs[0].(*ast.CallExpr)
		if id, named := callName(call, ok); !named || id != "min" || len(call.Args) != 2 {
			return
		}
		for _, arg := range call.Args {
			if a, ok := c.v.sum(arg); ok {
				if d, ok := a.plus(affine{terms: map[string]int64{counter: 1}}, -1).minus(step); ok && d == 0 {
					t.lo, t.hi = counter, variable(def.Lhs[0])
				}
			}
		}
	}
}

func callName(call *ast.CallExpr, ok bool) (string, bool) {
	if !ok {
		return "", false
	}
	id, ok := call.Fun.(*ast.Ident)
	if !ok {
		return "", false
	}
	return id.Name, true
}

func (c *conflicts) is(e ast.Expr, name string) bool {
	id, ok := ast.Unparen(e).(*ast.Ident)
	return ok && c.info.ObjectOf(id) != nil && term(c.info.ObjectOf(id)) == name
}

// meets judges an access in a later iteration than the iteration of the launch.
func (t *turns) meets(r *launched, to *touch) relation {
	certain := func(how relation, guarded bool) relation {
		if how == inside && (conditional(r.stack, t.node) || !guarded && conditional(to.stack, t.node)) {
			return maybeInside
		}
		return how
	}
	own := []string{t.lo, t.hi, t.counter}
	varies := false // the place changes from iteration to iteration
	for _, name := range append(r.terms(), to.terms()...) {
		switch {
		case name == own[0] || name == own[1] || name == own[2]:
			varies = true
		case termIn(name, t.node): // a variable of an inner loop
			return maybeInside
		}
	}
	if !r.cut || !to.cut || !varies || r.cutAt != to.cutAt {
		return certain(to.within(r.place, to.some), false)
	}
	if t.lo != "" {
		return certain(t.block(r, to), true)
	}
	before, ok := t.before(r.place)
	if !ok {
		return maybeInside
	}
	how := to.within(before, to.some)
	if how == outside {
		// The accessed elements must come after the elements of all tasks that earlier
		// iterations have launched.
		if d, ok := difference(to.lo, before.hi); !ok || d < 0 || !t.rising || before.hi.terms[t.counter] < 0 {
			return maybeInside
		}
	}
	return certain(how, true)
}

// before returns the place as it was one iteration earlier.
func (t *turns) before(p place) (place, bool) {
	if p.lo == nil || p.hi == nil || t.counter == "" {
		return p, false
	}
	back := func(a *affine) *affine {
		b := a.plus(t.step, -a.terms[t.counter])
		return &b
	}
	p.lo, p.hi = back(p.lo), back(p.hi)
	return p, true
}

// block judges an access in a loop that launches a task for a block in each iteration.
func (t *turns) block(r *launched, to *touch) relation {
	if r.lo == nil || r.hi == nil || to.lo == nil || to.hi == nil ||
		r.lo.terms[t.hi] != 0 || r.hi.terms[t.lo] != 0 || r.lo.terms[t.lo] != 1 || r.hi.terms[t.hi] != 1 {
		return maybeInside
	}
	end := r.hi.plus(affine{terms: map[string]int64{t.hi: 1}}, -1).plus(affine{terms: map[string]int64{t.lo: 1}}, 1)
	if d, ok := to.lo.minus(end); ok && d >= 0 {
		return outside // after all blocks that were launched before
	}
	if d, ok := to.lo.minus(r.hi.add(0)); ok && d >= 0 {
		return outside // after the block of this iteration
	}
	last := r.lo.add(-1) // the previous block begins at this element or before it
	above, ok1 := end.minus(*to.hi)
	below, ok2 := to.lo.minus(last)
	if ok1 && above >= 0 && ok2 && below >= 0 {
		return inside
	}
	return maybeInside
}
