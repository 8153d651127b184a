package annotations

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// place is memory that an expression of a section names. It consists of the memory that is
// reachable from a variable along a path, as in effects.go, and of the selected elements.
type place struct {
	obj  types.Object
	path string
	addr bool // the expression is the address of the place

	// If cut is set, the place consists of the elements from lo to hi at the path cutAt. An
	// unknown bound is nil.
	cut    bool
	cutAt  string
	lo, hi *affine
	single bool // the place is one element
}

// sectionValues evaluates expressions of the code of a section.
type sectionValues struct {
	info    *types.Info
	section ast.Node
	defined map[types.Object]ast.Expr // variables that are assigned once, with the assigned expression
	changed map[types.Object]bool     // variables that the section assigns, except the counters of its loops
	renewed map[types.Object]bool     // changed variables that receive only new memory
	fields  map[string]bool           // fields that the section assigns, as written
	moving  map[types.Object]bool     // variables that are assigned more than once
	earlier int                       // if > 0, expressions have the values from before the section
}

func newSectionValues(info *types.Info, fn ast.Node, section ast.Stmt) *sectionValues {
	v := &sectionValues{info: info, section: section, defined: map[types.Object]ast.Expr{}, changed: map[types.Object]bool{}, renewed: map[types.Object]bool{}, fields: map[string]bool{}, moving: map[types.Object]bool{}}
	assigned := map[types.Object]int{}
	header := map[ast.Node]bool{} // statements that change the counter of a loop
	note := func(e, rhs ast.Expr, at ast.Node) {
		switch x := ast.Unparen(e).(type) {
		case *ast.Ident:
			obj := info.ObjectOf(x)
			if obj == nil {
				return
			}
			assigned[obj]++
			if info.Defs[x] == obj {
				if rhs != nil {
					v.defined[obj] = rhs
				}
				return
			}
			if v.inside(at) && !header[at] {
				v.renewed[obj] = rhs != nil && makesNew(info, rhs) && (!v.changed[obj] || v.renewed[obj])
				v.changed[obj] = true
			}
		case *ast.SelectorExpr:
			if v.inside(at) {
				v.fields[types.ExprString(x)] = true
			}
		}
	}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt:
			header[n.Post] = true
		case *ast.AssignStmt:
			for i, l := range n.Lhs {
				var rhs ast.Expr
				if len(n.Lhs) == len(n.Rhs) && (n.Tok == token.DEFINE || n.Tok == token.ASSIGN) {
					rhs = n.Rhs[i]
				}
				note(l, rhs, n)
			}
		case *ast.ValueSpec:
			for i, id := range n.Names {
				if i < len(n.Values) && len(n.Values) == len(n.Names) {
					note(id, n.Values[i], n)
				}
			}
		case *ast.IncDecStmt:
			note(n.X, nil, n)
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				note(n.Key, nil, n)
				note(n.Value, nil, n)
			}
		case *ast.UnaryExpr:
			if id, ok := ast.Unparen(n.X).(*ast.Ident); ok && n.Op == token.AND && isNumber(info, id) {
				assigned[info.ObjectOf(id)] += 2 // the variable may be assigned through the pointer
				v.changed[info.ObjectOf(id)] = true
			}
		}
		return true
	})
	for obj, n := range assigned {
		if n > 1 {
			delete(v.defined, obj)
			v.moving[obj] = true
		}
	}
	return v
}

func isNumber(info *types.Info, e ast.Expr) bool {
	t := info.TypeOf(e)
	return t != nil && isInteger(t)
}

// makesNew reports whether an expression allocates new memory.
func makesNew(info *types.Info, e ast.Expr) bool {
	switch x := ast.Unparen(e).(type) {
	case *ast.CompositeLit:
		return true
	case *ast.UnaryExpr:
		return x.Op == token.AND && makesNew(info, x.X)
	case *ast.CallExpr:
		if fn, id := calledFunc(info, x); fn != nil {
			return fn.Pkg() != nil && fn.Pkg().Path() == "slices" && fn.Name() == "Clone"
		} else if b, ok := info.Uses[idOrNil(id)].(*types.Builtin); ok {
			return b.Name() == "make" || b.Name() == "new"
		}
	}
	return false
}

func (v *sectionValues) inside(n ast.Node) bool {
	return v.section.Pos() <= n.Pos() && n.End() <= v.section.End()
}

// declaredIn reports whether a statement declares the variable.
func declaredIn(obj types.Object, n ast.Node) bool {
	return n.Pos() <= obj.Pos() && obj.Pos() < n.End()
}

func term(obj types.Object) string { return fmt.Sprintf("%s@%d", obj.Name(), obj.Pos()) }

// number evaluates an integer expression. It returns nil if the integer is not a sum of named
// values.
func (v *sectionValues) number(e ast.Expr) *affine {
	if a, ok := v.sum(e); ok {
		return &a
	}
	return nil
}

func (v *sectionValues) sum(e ast.Expr) (affine, bool) {
	e = ast.Unparen(e)
	if tv, ok := v.info.Types[e]; ok && tv.Value != nil {
		if tv.Value.Kind() != constant.Int {
			return affine{}, false
		}
		n, exact := constant.Int64Val(tv.Value)
		return affine{c: n}, exact
	}
	switch e := e.(type) {
	case *ast.Ident:
		obj, ok := v.info.ObjectOf(e).(*types.Var)
		if !ok || v.changed[obj] || v.earlier > 0 && v.moving[obj] || !isInteger(obj.Type()) {
			return affine{}, false
		}
		if def := v.defined[obj]; def != nil && v.inside(def) {
			if a, ok := v.sum(def); ok {
				return a, true
			}
		}
		return affine{terms: map[string]int64{term(obj): 1}}, true
	case *ast.SelectorExpr:
		if id := rootIdent(e); id != nil && isNumber(v.info, e) && !v.changed[v.info.ObjectOf(id)] && !v.fields[types.ExprString(e)] {
			if obj := v.info.ObjectOf(id); obj != nil {
				return affine{terms: map[string]int64{term(obj) + strings.TrimPrefix(types.ExprString(e), id.Name): 1}}, true
			}
		}
	case *ast.CallExpr:
		if id, ok := e.Fun.(*ast.Ident); ok && id.Name == "len" && len(e.Args) == 1 {
			if p, ok := v.place(e.Args[0]); ok && !p.cut && !v.changed[p.obj] {
				return affine{terms: map[string]int64{"len " + term(p.obj) + p.path: 1}}, true
			}
		}
	case *ast.BinaryExpr:
		return combine(e, v.sum)
	}
	return affine{}, false
}

// place resolves an expression. It returns false if the expression is not memory of a
// variable.
func (v *sectionValues) place(e ast.Expr) (place, bool) { return v.placeAt(e, 0) }

// mostAliases bounds the length of a chain of variables that is followed.
const mostAliases = 8

func (v *sectionValues) placeAt(e ast.Expr, depth int) (place, bool) {
	switch x := ast.Unparen(e).(type) {
	case *ast.Ident:
		obj, ok := v.info.ObjectOf(x).(*types.Var)
		if !ok {
			return place{}, false
		}
		if def := v.defined[obj]; def != nil && depth < mostAliases && holdsPointer(obj.Type()) != "" {
			if !v.inside(def) {
				v.earlier++
			}
			p, ok := v.placeAt(def, depth+1)
			if !v.inside(def) {
				v.earlier--
			}
			if ok && !v.changed[p.obj] && (v.inside(def) || !v.moving[p.obj]) {
				return p, true
			}
		}
		return place{obj: obj}, true
	case *ast.StarExpr:
		p, ok := v.placeAt(x.X, depth)
		return p.under("*"), ok
	case *ast.UnaryExpr:
		if x.Op != token.AND {
			return place{}, false
		}
		p, ok := v.placeAt(x.X, depth)
		if p.addr {
			return place{}, false
		}
		p.addr = true
		return p, ok
	case *ast.SelectorExpr:
		sel := v.info.Selections[x]
		if sel == nil {
			obj, ok := v.info.ObjectOf(x.Sel).(*types.Var) // a variable of another package
			return place{obj: obj}, ok
		}
		if sel.Kind() != types.FieldVal {
			return place{}, false
		}
		p, ok := v.placeAt(x.X, depth)
		_, path := stepFields(v.info.TypeOf(x.X), "", sel.Index())
		return p.under(path), ok
	case *ast.SliceExpr:
		p, ok := v.placeAt(x.X, depth)
		if !ok {
			return place{}, false
		}
		switch coreType(v.info.TypeOf(x.X)).(type) {
		case *types.Array:
			p.addr = true
		case *types.Slice, *types.Pointer:
		default:
			return place{}, false
		}
		if x.Low == nil && x.High == nil {
			return p, true
		}
		return v.cutOut(p, x.Low, x.High, false), true
	case *ast.IndexExpr:
		t := v.info.TypeOf(x.X)
		if t == nil {
			return place{}, false
		}
		p, ok := v.placeAt(x.X, depth)
		if !ok {
			return place{}, false
		}
		switch coreType(t).(type) {
		case *types.Slice, *types.Pointer:
			return v.cutOut(p, x.Index, nil, true).under("*"), true
		case *types.Array:
			p.addr = true
			p = v.cutOut(p, x.Index, nil, true)
			p.addr = false
			return p, true
		}
	}
	return place{}, false
}

// under returns a place within p, at a path.
func (p place) under(path string) place {
	if rest, ok := strings.CutPrefix(path, "*"); ok && p.addr {
		path = rest
	}
	p.addr, p.path = false, p.path+path
	return p
}

// cutOut selects elements of the memory to which the value of an expression points.
func (v *sectionValues) cutOut(p place, low, high ast.Expr, single bool) place {
	at := p.under("*").path
	if p.cut && p.cutAt != at {
		return p // p already selects elements of an outer level, which is precise enough
	}
	lo := &affine{}
	if low != nil {
		lo = v.number(low)
	}
	var hi *affine
	switch {
	case single && lo != nil:
		next := lo.add(1)
		hi = &next
	case high != nil:
		hi = v.number(high)
	}
	if p.cut { // p is already cut
		shift := func(a *affine) *affine {
			if a == nil || p.lo == nil {
				return nil
			}
			sum := a.plus(*p.lo, 1)
			return &sum
		}
		was := p.hi
		if lo, hi = shift(lo), shift(hi); high == nil && !single {
			hi = was
		}
	}
	p.cut, p.cutAt, p.lo, p.hi, p.single = true, at, lo, hi, single
	return p
}

// relation describes how accessed elements lie relative to the elements of a task.
type relation uint8

const (
	maybeInside relation = iota
	inside               // some of them are certainly among the elements of the task
	outside
)

// within compares places for equal values of all variables. With some, only unknown elements
// of t are accessed.
func (t place) within(r place, some bool) relation {
	switch {
	case !r.cut || t.cutAt != r.cutAt && t.cut:
		if r.cut || t.cut && !strings.HasPrefix(t.cutAt, r.path) {
			return maybeInside
		}
		return inside
	case !t.cut:
		if some {
			return maybeInside
		}
		return inside
	}
	fromLo, ok1 := difference(t.lo, r.lo)
	toHi, ok2 := difference(r.hi, t.hi)
	behind, ok3 := difference(t.lo, r.hi)
	before, ok4 := difference(r.lo, t.hi)
	switch {
	case ok3 && behind >= 0 || ok4 && before >= 0:
		return outside
	case ok1 && fromLo >= 0 && ok2 && toHi >= 0:
		return inside
	case some:
		return maybeInside
	case ok1 && fromLo == 0 || ok2 && toHi == 0 && t.hi != nil && r.hi != nil:
		return inside
	case ok1 && fromLo >= 0 && ok3 && behind < 0, ok1 && fromLo <= 0 && ok4 && before < 0:
		return inside
	}
	return maybeInside
}

func difference(a, b *affine) (int64, bool) {
	if a == nil || b == nil {
		return 0, false
	}
	return a.minus(*b)
}

// terms lists the named values in the bounds of a place.
func (p place) terms() []string {
	var list []string
	for _, a := range []*affine{p.lo, p.hi} {
		if a != nil {
			for name := range a.terms {
				list = append(list, name)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
