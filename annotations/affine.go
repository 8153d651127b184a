package annotations

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
)

// affine is a constant plus a sum of multiples of integers that are known only by name.
type affine struct {
	terms map[string]int64 // factor of each named value; no factor is 0
	c     int64
}

func (a affine) plus(b affine, times int64) affine {
	sum := affine{maps.Clone(a.terms), a.c + times*b.c}
	if sum.terms == nil {
		sum.terms = map[string]int64{}
	}
	for name, n := range b.terms {
		if sum.terms[name] += times * n; sum.terms[name] == 0 {
			delete(sum.terms, name)
		}
	}
	return sum
}

// minus returns a-b if that is a number.
func (a affine) minus(b affine) (int64, bool) {
	d := a.plus(b, -1)
	return d.c, len(d.terms) == 0
}

func (a affine) add(c int64) affine { return affine{a.terms, a.c + c} }

// String formats a as the user would write it.
func (a affine) String() string {
	var b strings.Builder
	names := slices.Sorted(maps.Keys(a.terms))
	slices.SortStableFunc(names, func(x, y string) int { return compareBool(a.terms[x] < 0, a.terms[y] < 0) })
	for _, name := range names {
		switch n := a.terms[name]; {
		case n == 1 && b.Len() == 0:
			b.WriteString(name)
		case n == 1:
			b.WriteString("+" + name)
		case n == -1:
			b.WriteString("-" + name)
		default:
			fmt.Fprintf(&b, "%+d*%s", n, name)
		}
	}
	if a.c != 0 || b.Len() == 0 {
		if b.Len() == 0 {
			return fmt.Sprint(a.c)
		}
		fmt.Fprintf(&b, "%+d", a.c)
	}
	return strings.TrimPrefix(b.String(), "+")
}

// values evaluates expressions of a kernel's clauses and of its body.
type values struct {
	k       *Kernel
	info    *types.Info
	changed map[types.Object]bool     // variables that are assigned more than once, or whose address is taken
	defined map[types.Object]ast.Expr // local variables, with the expressions that define them
}

func newValues(k *Kernel, info *types.Info) *values {
	v := &values{k, info, map[types.Object]bool{}, map[types.Object]ast.Expr{}}
	set := func(e ast.Expr) {
		if id := rootIdent(e); id != nil {
			if obj := info.ObjectOf(id); obj != nil {
				v.changed[obj] = true
			}
		}
	}
	ast.Inspect(k.Decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, l := range n.Lhs {
				if id, ok := l.(*ast.Ident); ok && n.Tok == token.DEFINE && info.Defs[id] != nil {
					if len(n.Lhs) == len(n.Rhs) {
						v.defined[info.Defs[id]] = n.Rhs[i]
					}
					continue
				}
				if _, element := ast.Unparen(l).(*ast.IndexExpr); !element {
					set(l)
				}
			}
		case *ast.IncDecStmt:
			if _, element := ast.Unparen(n.X).(*ast.IndexExpr); !element {
				set(n.X)
			}
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				set(n.Key)
				set(n.Value)
			}
		case *ast.UnaryExpr:
			if _, element := ast.Unparen(n.X).(*ast.IndexExpr); n.Op == token.AND && !element {
				set(n.X)
			}
		}
		return true
	})
	return v
}

// of evaluates an expression of the body.
func (v *values) of(e ast.Expr) (affine, bool) {
	e = ast.Unparen(e)
	if tv, ok := v.info.Types[e]; ok && tv.Value != nil {
		n, exact := constant.Int64Val(constant.ToInt(tv.Value))
		return affine{c: n}, exact
	}
	switch e := e.(type) {
	case *ast.Ident:
		obj, ok := v.info.ObjectOf(e).(*types.Var)
		if !ok || v.changed[obj] {
			return affine{}, false
		}
		if def := v.defined[obj]; def != nil {
			return v.of(def)
		}
		return affine{terms: map[string]int64{v.name(obj): 1}}, true
	case *ast.SelectorExpr:
		if id := rootIdent(e); id != nil && v.parameter(id) && isInteger(v.info.TypeOf(e)) {
			return affine{terms: map[string]int64{types.ExprString(e): 1}}, true
		}
	case *ast.CallExpr:
		if id, ok := e.Fun.(*ast.Ident); ok && id.Name == "len" && len(e.Args) == 1 {
			if b, ok := v.base(e.Args[0]); ok {
				return b.length, true
			}
		}
	case *ast.BinaryExpr:
		return combine(e, v.of)
	}
	return affine{}, false
}

// name returns a name that is unique to a variable.
func (v *values) name(obj *types.Var) string {
	if p := v.k.lookup(obj.Name()); p != nil && p.Var == obj {
		return obj.Name()
	}
	return fmt.Sprintf("%s@%d", obj.Name(), obj.Pos())
}

// parameter reports whether id is a parameter or the receiver and is never assigned.
func (v *values) parameter(id *ast.Ident) bool {
	obj := v.info.ObjectOf(id)
	p := v.k.lookup(id.Name)
	return p != nil && p != v.k.Result && p.Var == obj && !v.changed[obj]
}

func isInteger(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsInteger != 0
}

func combine(e *ast.BinaryExpr, of func(ast.Expr) (affine, bool)) (affine, bool) {
	x, ok1 := of(e.X)
	y, ok2 := of(e.Y)
	switch {
	case !ok1 || !ok2:
	case e.Op == token.ADD:
		return x.plus(y, 1), true
	case e.Op == token.SUB:
		return x.plus(y, -1), true
	case e.Op == token.MUL && len(x.terms) == 0:
		return affine{}.plus(y, x.c), true
	case e.Op == token.MUL && len(y.terms) == 0:
		return affine{}.plus(x, y.c), true
	}
	return affine{}, false
}

// bound evaluates a bound of a clause. Such an expression has no types. open is the value of a
// missing bound.
func (v *values) bound(b *Bound, open affine) (affine, bool) {
	if b == nil {
		return open, true
	}
	var of func(e ast.Expr) (affine, bool)
	of = func(e ast.Expr) (affine, bool) {
		switch e := ast.Unparen(e).(type) {
		case *ast.BasicLit:
			n, exact := constant.Int64Val(constant.MakeFromLiteral(e.Value, e.Kind, 0))
			return affine{c: n}, exact && e.Kind == token.INT
		case *ast.Ident:
			if p := v.k.lookup(e.Name); p != nil {
				return affine{terms: map[string]int64{e.Name: 1}}, !v.changed[p.Var]
			}
			if c, ok := v.k.Func.Pkg().Scope().Lookup(e.Name).(*types.Const); ok {
				n, exact := constant.Int64Val(constant.ToInt(c.Val()))
				return affine{c: n}, exact
			}
		case *ast.SelectorExpr, *ast.CallExpr:
			id := rootIdent(e)
			if call, ok := e.(*ast.CallExpr); ok {
				if fun, ok := call.Fun.(*ast.Ident); !ok || fun.Name != "len" || len(call.Args) != 1 {
					return affine{}, false
				}
				id = rootIdent(call.Args[0])
			}
			if id != nil {
				if p := v.k.lookup(id.Name); p != nil {
					return affine{terms: map[string]int64{types.ExprString(e): 1}}, !v.changed[p.Var]
				}
			}
		case *ast.BinaryExpr:
			return combine(e, of)
		}
		return affine{}, false
	}
	return of(b.Expr)
}

// part is a part of the memory that a parameter leads to.
type part struct {
	of     string // path of the memory, as in a clause
	from   affine
	length affine
}

// base resolves a slice expression, or a variable that holds one.
func (v *values) base(e ast.Expr) (part, bool) {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		if v.parameter(e) {
			return whole(e.Name), true
		}
		if obj := v.info.ObjectOf(e); obj != nil && !v.changed[obj] && v.defined[obj] != nil {
			return v.base(v.defined[obj])
		}
	case *ast.SelectorExpr:
		if id := rootIdent(e); id != nil && v.parameter(id) {
			return whole(types.ExprString(e)), true
		}
	case *ast.SliceExpr:
		b, ok := v.base(e.X)
		lo, hi := affine{}, b.length
		if ok && e.Low != nil {
			lo, ok = v.of(e.Low)
		}
		if ok && e.High != nil {
			hi, ok = v.of(e.High)
		}
		return part{b.of, b.from.plus(lo, 1), hi.plus(lo, -1)}, ok
	}
	return part{}, false
}

func whole(path string) part {
	return part{of: path, length: affine{terms: map[string]int64{"len(" + path + ")": 1}}}
}
