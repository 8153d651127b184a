package annotations

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// touch is an access to memory by the code of a section.
type touch struct {
	place
	at    ast.Node   // node of the access
	text  string     // text of the accessed expression in the source
	via   string     // the called function that makes the access; "" if the section itself does
	stack []ast.Node // enclosing nodes, from the section's statement down
	write bool
	some  bool // the access is to unknown elements of the place
	maybe bool // the access is not certain
}

// touches lists the accesses by the code of a section, except those of its tasks.
func (w *sectionWalk) touches(v *sectionValues) []touch {
	t := &toucher{sectionWalk: w, values: v, skip: map[ast.Node]bool{}, launch: map[ast.Node]*Launch{}}
	for _, l := range w.sec.Launches {
		t.launch[l.Stmt] = l
	}
	t.walk(w.sec.Stmt)
	return t.found
}

type toucher struct {
	*sectionWalk
	values *sectionValues
	skip   map[ast.Node]bool // nodes that are not accesses, such as the target of an assignment or the operand of &
	launch map[ast.Node]*Launch
	around []ast.Node
	found  []touch
	plain  bool           // kernels run at their calls
	inside []*ast.FuncLit // function literals whose calls are being followed
	via    string
	site   ast.Node // the call that is being followed
}

func (t *toucher) walk(root ast.Node) {
	base := len(t.around)
	ast.Inspect(root, func(n ast.Node) bool {
		if n == nil {
			t.around = t.around[:len(t.around)-1]
			return true
		}
		t.node(n)
		t.around = append(t.around, n)
		return true
	})
	t.around = t.around[:base]
}

func (t *toucher) add(e ast.Expr, p place, set touch) {
	set.place, set.stack, set.via = p, slices.Clone(t.around), t.via
	if set.at == nil {
		set.at = e
	}
	set.text = types.ExprString(e)
	if t.site != nil {
		set.at = t.site
	}
	for _, n := range t.around {
		if lit, ok := n.(*ast.FuncLit); ok && !slices.Contains(t.inside, lit) {
			set.maybe = true // it is unknown when the function will be called
		}
	}
	t.found = append(t.found, set)
}

func (t *toucher) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if l := t.launch[n]; l != nil { // a launch, as v += f(…) or v = op(v, f(…))
			for _, e := range n.Lhs {
				t.ignore(e)
			}
			return
		}
		for _, e := range n.Lhs {
			t.target(e)
		}
	case *ast.IncDecStmt:
		t.target(n.X)
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			t.ignore(n.X)
		}
	case *ast.SliceExpr:
		if _, array := coreType(t.info.TypeOf(n.X)).(*types.Array); array {
			t.ignore(n.X)
		}
	case *ast.RangeStmt:
		t.ranged(n)
	case *ast.CallExpr:
		t.call(n)
	case *ast.IndexExpr, *ast.StarExpr, *ast.SelectorExpr:
		e := n.(ast.Expr)
		if t.skip[e] || t.inner(e) {
			return
		}
		if tv, ok := t.info.Types[e]; !ok || !tv.IsValue() {
			return
		}
		if p, ok := t.values.place(e); ok {
			t.add(e, p, touch{})
		}
	case *ast.Ident:
		if obj, ok := t.info.Uses[n].(*types.Var); ok && !t.skip[n] && !t.inner(n) && !obj.IsField() && !t.targets[n] {
			t.add(n, place{obj: obj}, touch{})
		}
	}
}

// inner reports whether an expression is only part of a larger one that names memory.
func (t *toucher) inner(e ast.Expr) bool {
	for i := len(t.around) - 1; i >= 0; i-- {
		switch x := t.around[i].(type) {
		case *ast.ParenExpr:
			continue
		case *ast.SelectorExpr:
			return true
		case *ast.IndexExpr:
			return ast.Unparen(x.X) == ast.Unparen(e)
		case *ast.StarExpr:
			return true
		case *ast.SliceExpr:
			return ast.Unparen(x.X) == ast.Unparen(e)
		}
		return false
	}
	return false
}

// ignore excludes an expression from the accesses, but not its indices.
func (t *toucher) ignore(e ast.Expr) {
	for {
		e = ast.Unparen(e)
		t.skip[e] = true
		switch x := e.(type) {
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		default:
			return
		}
	}
}

func (t *toucher) target(e ast.Expr) {
	if id, ok := ast.Unparen(e).(*ast.Ident); ok && t.info.Defs[id] != nil {
		return
	}
	t.ignore(e)
	if p, ok := t.values.place(e); ok {
		t.add(e, p, touch{write: true})
	}
}

func (t *toucher) ranged(n *ast.RangeStmt) {
	if id, ok := n.Value.(*ast.Ident); n.Value == nil || ok && id.Name == "_" {
		return
	}
	t.elements(n.X, touch{})
}

// elements records an access to all elements of a slice, array or pointer.
func (t *toucher) elements(e ast.Expr, set touch) {
	typ := t.info.TypeOf(e)
	if typ == nil {
		return
	}
	p, ok := t.values.place(e)
	if !ok {
		return
	}
	switch coreType(typ).(type) {
	case *types.Slice, *types.Pointer:
		t.add(e, p.under("*"), set)
	case *types.Array:
		t.add(e, p, set)
	}
}

func (t *toucher) call(call *ast.CallExpr) {
	fn, id := calledFunc(t.info, call)
	if fn == nil {
		if b, ok := t.info.Uses[idOrNil(id)].(*types.Builtin); ok {
			t.builtin(b.Name(), call.Args)
			return
		}
		t.literal(call)
		return
	}
	if k := t.callee(fn); k != nil {
		if t.plain {
			t.kernel(call, k)
		}
		return // a launch only evaluates its arguments here
	}
	args := call.Args
	sig := fn.Signature()
	if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && sig.Recv() != nil {
		args = append([]ast.Expr{sel.X}, args...)
	}
	if fn.Pkg() != nil && fn.Pkg().Path() == "fmt" { // fmt reads everything that is reachable from its arguments
		for _, arg := range args {
			t.elements(arg, touch{})
		}
		return
	}
	var e *Effects
	if isStandard(fn.Pkg()) {
		e = standardEffects(fn)
	} else if t.effects != nil {
		e = t.effects(fn)
	}
	for i, arg := range args {
		t.argument(fn, e, i, arg, sig)
	}
}

// kernel records the accesses of a kernel that runs at its call.
func (t *toucher) kernel(call *ast.CallExpr, k *Callee) {
	was := t.via
	defer func() { t.via = was }()
	t.via = k.Func.Name()
	args := arguments(&Launch{Call: call, Callee: k})
	for _, it := range k.Items {
		if it.Param >= len(args) || it.Kind == Scratch || !strings.Contains(it.Path, "*") || k.Func.Signature().Variadic() {
			continue
		}
		if p, ok := t.values.place(args[it.Param]); ok {
			t.add(args[it.Param], p.under(it.Path), touch{some: true, write: it.Kind != In, maybe: it.Cut})
		}
	}
}

// argument records the accesses of a function to memory of an argument.
func (t *toucher) argument(fn *types.Func, e *Effects, i int, arg ast.Expr, sig *types.Signature) {
	typ := t.info.TypeOf(arg)
	if typ == nil || holdsPointer(typ) == "" {
		return
	}
	p, ok := t.values.place(arg)
	if !ok {
		return
	}
	if _, pointer := typ.Underlying().(*types.Pointer); sig.Recv() != nil && i == 0 && !pointer {
		if _, wants := sig.Recv().Type().Underlying().(*types.Pointer); wants {
			p.addr = true
		}
	}
	was := t.via
	defer func() { t.via = was }()
	t.via = fn.Name()
	if e == nil {
		t.add(arg, p.under("*"), touch{some: true, maybe: true})
		t.add(arg, p.under("*"), touch{some: true, maybe: true, write: true})
		return
	}
	type does struct {
		path  string
		write bool
		maybe bool
	}
	seen := map[does]bool{}
	for _, a := range e.Accesses {
		if a.Param != i {
			continue
		}
		d := does{a.Path, a.Write, a.Maybe || a.Unknown || a.Guard != 0}
		if a.Unknown && d.path == "" {
			d.path = "*"
		}
		if seen[d] || !strings.Contains(d.path, "*") {
			continue
		}
		seen[d] = true
		t.add(arg, p.under(d.path), touch{some: true, maybe: d.maybe, write: d.write})
		if a.Unknown {
			t.add(arg, p.under(d.path), touch{some: true, maybe: true, write: true})
		}
	}
}

func (t *toucher) builtin(name string, args []ast.Expr) {
	switch name {
	case "copy":
		t.elements(args[0], touch{write: true})
		t.elements(args[1], touch{})
	case "clear":
		t.elements(args[0], touch{write: true})
	case "append":
		for _, arg := range args[1:] {
			if _, ok := coreType(t.info.TypeOf(arg)).(*types.Slice); ok {
				t.elements(arg, touch{})
			}
		}
		t.elements(args[0], touch{write: true, some: true, maybe: true})
	}
}

// literal follows the call of a function literal, or of a variable that holds one.
func (t *toucher) literal(call *ast.CallExpr) {
	fun := ast.Unparen(call.Fun)
	name := "the function literal"
	if id, ok := fun.(*ast.Ident); ok {
		if def := t.values.defined[t.info.ObjectOf(id)]; def != nil {
			fun, name = ast.Unparen(def), id.Name
		}
	}
	lit, ok := fun.(*ast.FuncLit)
	if !ok || slices.Contains(t.inside, lit) {
		return
	}
	t.inside = append(t.inside, lit)
	if t.values.inside(lit) && lit.Pos() >= call.Pos() && lit.End() <= call.End() {
		return // the literal is walked as part of the call
	}
	via, site := t.via, t.site
	t.via = name
	if t.site == nil {
		t.site = call
	}
	t.walk(lit.Body)
	t.via, t.site, t.inside = via, site, t.inside[:len(t.inside)-1]
}
