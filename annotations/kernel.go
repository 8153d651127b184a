package annotations

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kernel is an annotated function whose clauses are resolved.
type Kernel struct {
	Func   *types.Func
	Decl   *ast.FuncDecl
	Dir    Directive // the first one
	Params []*Param  // the receiver, then the parameters in order
	Result *Param    // nil without one
	Items  []*ItemInfo
	Op     string // of the reduce clause
}

// Param is a receiver, parameter or result of a kernel.
type Param struct {
	Var   *types.Var
	Index int // in Kernel.Params; -1 for the result
	Recv  bool
}

// Form is how a region is made of an item.
type Form uint8

// The forms of regions.
const (
	NoRegion   Form = iota // holds pointers or is scratch: nothing is sent
	SliceForm              // the elements of a slice
	VarForm                // a variable whose address is taken
	PtrForm                // the variable that a pointer points to
	ResultForm             // the result
)

// ItemInfo is a resolved item.
type ItemInfo struct {
	Kind  Kind
	Item  Item
	Param *Param
	Form  Form
	path  string     // of the memory it covers, from the parameter; see effects.go
	typ   types.Type // of the named variable
}

// Name is the name of the kernel in reports: import path, dot, the receiver's
// type and a dot for a method, function.
func (k *Kernel) Name() string { return FuncName(k.Func) }

// FuncName is [Kernel.Name] for any function.
func FuncName(f *types.Func) string {
	f = f.Origin()
	path := ""
	if f.Pkg() != nil {
		path = f.Pkg().Path() + "."
	}
	return path + LocalName(f)
}

// LocalName is the name of a function within its package, with the receiver's
// type and a dot before it for a method.
func LocalName(f *types.Func) string {
	if recv := f.Signature().Recv(); recv != nil {
		if n := receiverType(recv); n != nil {
			return n.Obj().Name() + "." + f.Name()
		}
	}
	return f.Name()
}

func receiverType(recv *types.Var) *types.Named {
	t := types.Unalias(recv.Type())
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	n, _ := t.(*types.Named)
	return n
}

// Exported tells whether other packages can name the kernel.
func (k *Kernel) Exported() bool { return exportedFunc(k.Func) }

func exportedFunc(f *types.Func) bool {
	if recv := f.Signature().Recv(); recv != nil {
		if n := receiverType(recv); n == nil || !n.Obj().Exported() {
			return false
		}
	}
	return f.Exported()
}

// BaseName is the kernel's name as part of another one: Waxpby, IonsPush.
func BaseName(f *types.Func) string {
	var b strings.Builder
	for part := range strings.SplitSeq(LocalName(f), ".") {
		b.WriteString(upperFirst(part))
	}
	return b.String()
}

// LauncherName is the name of the function that launches f as a task.
func LauncherName(f *types.Func) string {
	if exportedFunc(f) {
		return "Launch" + BaseName(f)
	}
	return "launch" + BaseName(f)
}

// TaskVarName is the name of the variable that holds f's registration.
func TaskVarName(f *types.Func) string { return "task" + BaseName(f) }

func upperFirst(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// ResultKind is the clause of the result: Out, Reduce, or 0 without a result.
func (k *Kernel) ResultKind() Kind {
	for _, it := range k.Items {
		if k.Result != nil && it.Param == k.Result {
			return it.Kind
		}
	}
	return 0
}

// missing is a parameter or result that no clause names.
type missing struct {
	param *Param
	name  string
}

// resolved is what resolving a kernel's directives gives.
type resolved struct {
	kernel  *Kernel
	missing []missing
	errs    []*Error
	broken  bool // the clauses could not be read: say nothing about what is missing
}

func (r *resolved) errorf(pos token.Pos, format string, args ...any) {
	r.errs = append(r.errs, &Error{pos, fmt.Sprintf(format, args...)})
}

// resolve resolves the directives of one function.
func resolve(info *types.Info, decl *ast.FuncDecl, dirs []Directive) *resolved {
	r := &resolved{}
	fn, ok := info.Defs[decl.Name].(*types.Func)
	if !ok {
		r.errorf(dirs[0].Pos, "%s has no type: it does not compile", decl.Name.Name)
		return r
	}
	k := &Kernel{Func: fn, Decl: decl, Dir: dirs[0]}
	r.kernel = k
	if fn.Name() == "init" || fn.Name() == "main" && fn.Pkg().Name() == "main" || fn.Name() == "_" {
		r.errorf(dirs[0].Pos, "func %s cannot be called and so is no kernel", fn.Name())
	}
	r.params(info, decl)
	for _, d := range dirs {
		clauses, errs := ParseTask(d.Args, d.ArgsPos)
		r.errs = append(r.errs, errs...)
		r.broken = r.broken || len(errs) > 0
		for _, c := range clauses {
			r.clause(c)
		}
	}
	r.duplicates()
	if !r.broken {
		r.coverage()
	}
	return r
}

// params lists the parameters; each needs a name, since clauses go by names.
func (r *resolved) params(info *types.Info, decl *ast.FuncDecl) {
	k := r.kernel
	sig := k.Func.Signature()
	if recv := sig.Recv(); recv != nil {
		k.Params = append(k.Params, &Param{Var: recv, Recv: true})
		if recv.Name() == "" || recv.Name() == "_" {
			r.errorf(decl.Recv.Pos(), "the receiver of kernel %s has no name; name it, so that a clause can", k.Func.Name())
		}
	}
	for v := range sig.Params().Variables() {
		k.Params = append(k.Params, &Param{Var: v, Index: len(k.Params)})
		if v.Name() == "" || v.Name() == "_" {
			r.errorf(v.Pos(), "a parameter of kernel %s has no name; name it, so that a clause can", k.Func.Name())
		}
	}
	switch results := sig.Results(); {
	case results.Len() > 1:
		r.errorf(decl.Type.Results.Pos(), "kernel %s has %d results; it may have one, the others become pointer parameters in out", k.Func.Name(), results.Len())
	case results.Len() == 1:
		v := results.At(0)
		k.Result = &Param{Var: v, Index: -1}
		if types.Identical(v.Type(), types.Universe.Lookup("error").Type()) {
			r.errorf(decl.Type.Results.Pos(), "kernel %s returns an error, which cannot be sent to the other replicas; return a status through reduce(max: code)", k.Func.Name())
			r.broken = true
		} else if v.Name() == "" || v.Name() == "_" {
			r.errorf(decl.Type.Results.Pos(), "the result of kernel %s has no name; name it, as in (%s %s), so that out or reduce can", k.Func.Name(), freeName(k, "sum"), types.TypeString(v.Type(), types.RelativeTo(k.Func.Pkg())))
			r.broken = true
		}
	}
}

func freeName(k *Kernel, name string) string {
	for slices.ContainsFunc(k.Params, func(p *Param) bool { return p.Var.Name() == name }) {
		name += "0"
	}
	return name
}

// lookup finds the parameter, receiver or result of that name.
func (k *Kernel) lookup(name string) *Param {
	for _, p := range k.Params {
		if p.Var.Name() == name {
			return p
		}
	}
	if k.Result != nil && k.Result.Var.Name() == name {
		return k.Result
	}
	return nil
}

// names are the names that clauses can use.
func (k *Kernel) names() []string {
	var names []string
	for _, p := range k.Params {
		names = append(names, p.Var.Name())
	}
	if k.Result != nil {
		names = append(names, k.Result.Var.Name())
	}
	return names
}

func (r *resolved) clause(c Clause) {
	k := r.kernel
	if c.Kind == Reduce {
		if k.Op != "" {
			r.errorf(c.Pos, "kernel %s has two reduce clauses; a kernel has one result", k.Func.Name())
			return
		}
		k.Op = c.Op.Name
	}
	for _, item := range c.Items {
		info := &ItemInfo{Kind: c.Kind, Item: item}
		if r.item(c, info) {
			k.Items = append(k.Items, info)
		} else {
			r.broken = true
		}
	}
}

// item resolves one item against the signature.
func (r *resolved) item(c Clause, it *ItemInfo) bool {
	k, root := r.kernel, it.Item.Root
	it.Param = k.lookup(root.Name)
	if it.Param == nil {
		hint := didYouMean(root.Name, k.names())
		if hint == "" && k.Func.Pkg().Scope().Lookup(root.Name) != nil {
			hint = "; a package variable cannot be named: pass it as a parameter"
		}
		r.errorf(root.Pos, "clause %s: %s is not a parameter, receiver or result of %s%s", c.Kind, root.Name, k.Func.Name(), hint)
		return false
	}
	if it.Param == k.Result {
		return r.resultItem(c, it)
	}
	if c.Kind == Reduce {
		r.errorf(root.Pos, "clause reduce: %s is a parameter; reduce takes the named result of the kernel, as in func %s(…) (%s T)", root.Name, k.Func.Name(), root.Name)
		return false
	}
	t, path, ok := r.fields(c, it)
	if !ok {
		return false
	}
	return r.memory(c, it, t, path)
}

func (r *resolved) resultItem(c Clause, it *ItemInfo) bool {
	k, root := r.kernel, it.Item.Root
	if len(it.Item.Fields) > 0 || it.Item.Slice != nil {
		r.errorf(root.Pos, "clause %s: a result stands in its clause by its bare name, %s", c.Kind, root.Name)
		return false
	}
	if c.Kind != Out && c.Kind != Reduce {
		r.errorf(root.Pos, "clause %s: %s is the result; it belongs into out(%s) or, as a partial result, into reduce(+: %s)", c.Kind, root.Name, root.Name, root.Name)
		return false
	}
	if why := holdsPointer(k.Result.Var.Type()); why != "" {
		r.errorf(root.Pos, "clause %s: the result %s cannot be sent to the other replicas: %s", c.Kind, root.Name, why)
		return false
	}
	it.Form = ResultForm
	return c.Kind != Reduce || r.operator(c)
}

// operator checks that the operator of a reduce clause takes the result's type.
func (r *resolved) operator(c Clause) bool {
	k, t := r.kernel, r.kernel.Result.Var.Type()
	obj := k.Func.Pkg().Scope().Lookup(c.Op.Name)
	switch c.Op.Name {
	case "+", "*":
		if !numeric(t) {
			r.errorf(c.Op.Pos, "operator %s does not apply to %s; use a function of the package, func(a, b %[2]s) %[2]s", c.Op.Name, r.typeString(t))
			return false
		}
		return true
	case "min", "max":
		if obj == nil {
			if !ordered(t) {
				r.errorf(c.Op.Pos, "operator %s does not apply to %s; use a function of the package, func(a, b %[2]s) %[2]s", c.Op.Name, r.typeString(t))
				return false
			}
			return true
		}
	}
	fn, ok := obj.(*types.Func)
	if !ok {
		names := append([]string{"min", "max"}, k.Func.Pkg().Scope().Names()...)
		r.errorf(c.Op.Pos, "operator %s is not a function of package %s%s (want +, *, min, max or such a function)", c.Op.Name, k.Func.Pkg().Name(), didYouMean(c.Op.Name, names))
		return false
	}
	sig := fn.Signature()
	if sig.TypeParams().Len() > 0 {
		return true // the compiler infers, or refuses in the launcher
	}
	if sig.Params().Len() != 2 || sig.Results().Len() != 1 || !types.Identical(sig.Params().At(0).Type(), t) ||
		!types.Identical(sig.Params().At(1).Type(), t) || !types.Identical(sig.Results().At(0).Type(), t) {
		r.errorf(c.Op.Pos, "operator %s is %s; want func(a, b %s) %[3]s", c.Op.Name, r.typeString(sig), r.typeString(t))
		return false
	}
	return true
}

func (r *resolved) typeString(t types.Type) string {
	return types.TypeString(t, types.RelativeTo(r.kernel.Func.Pkg()))
}

// fields follows the field path of an item and returns its type and the path
// of the variable it names.
func (r *resolved) fields(c Clause, it *ItemInfo) (types.Type, string, bool) {
	k := r.kernel
	t, path := it.Param.Var.Type(), ""
	for _, f := range it.Item.Fields {
		obj, index, _ := types.LookupFieldOrMethod(t, true, k.Func.Pkg(), f.Name)
		v, ok := obj.(*types.Var)
		if !ok {
			r.errorf(f.Pos, "clause %s: %s has no field %s%s", c.Kind, r.typeString(t), f.Name, didYouMean(f.Name, fieldNames(t)))
			return nil, "", false
		}
		t, path = stepFields(t, path, index)
		t = v.Type()
	}
	return t, path, true
}

// stepFields extends a path by the fields that an index path selects.
func stepFields(t types.Type, path string, index []int) (types.Type, string) {
	for _, i := range index {
		if p, ok := t.Underlying().(*types.Pointer); ok {
			t, path = p.Elem(), path+"*"
		}
		st, ok := t.Underlying().(*types.Struct)
		if !ok {
			return t, path
		}
		path += "." + st.Field(i).Name()
		t = st.Field(i).Type()
	}
	return t, path
}

func fieldNames(t types.Type) []string {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	st, ok := t.Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	var names []string
	for f := range st.Fields() {
		names = append(names, f.Name())
	}
	return names
}

// memory decides how a region is made of a value of type t found at path.
func (r *resolved) memory(c Clause, it *ItemInfo, t types.Type, path string) bool {
	it.typ = t
	name := it.Item.Path()
	shared := strings.Contains(path, "*")
	u := coreType(t)
	if it.Item.Slice != nil && !r.slice(c, it, u) {
		return false
	}
	written := c.Kind == Out || c.Kind == InOut
	var elem types.Type
	switch u := u.(type) {
	case *types.Slice:
		elem, it.Form, it.path = u.Elem(), SliceForm, path+"*"
	case *types.Pointer:
		elem, it.Form, it.path = u.Elem(), PtrForm, path+"*"
		if a, ok := u.Elem().Underlying().(*types.Array); ok && it.Item.Slice != nil {
			elem, it.Form = a.Elem(), SliceForm
		}
	default:
		elem, it.Form, it.path = t, VarForm, path
		if a, ok := u.(*types.Array); ok && it.Item.Slice != nil {
			elem, it.Form = a.Elem(), SliceForm
		}
		if written && !shared {
			switch u.(type) {
			case *types.Map, *types.Chan, *types.Signature, *types.Interface:
				r.errorf(it.Item.Pos(), "clause %s: %s cannot be sent to the other replicas: %s; use a slice", c.Kind, name, r.relative(holdsPointer(t)))
			default:
				r.errorf(it.Item.Pos(), "clause %s: %s is passed by value, so a write to it is lost; use a pointer, a slice or a named result", c.Kind, name)
			}
			return false
		}
	}
	why := holdsPointer(elem)
	if why == "" {
		return true
	}
	if c.Kind == In || c.Kind == Scratch {
		it.Form = NoRegion
		return true
	}
	cure := "use types without pointers, with indices in their place"
	if f := r.exampleField(elem); f != "" {
		cure = fmt.Sprintf("put %s into in and name the fields that are written, as in %s(%s.%s)", name, c.Kind, name, f)
	}
	r.errorf(it.Item.Pos(), "clause %s: %s cannot be sent to the other replicas: %s; %s", c.Kind, name, r.relative(why), cure)
	return false
}

// relative drops the package's own path from a text about types.
func (r *resolved) relative(s string) string {
	return strings.ReplaceAll(s, r.kernel.Func.Pkg().Path()+".", "")
}

// exampleField finds a field of a struct that can be sent, best a slice.
func (r *resolved) exampleField(t types.Type) string {
	st, ok := t.Underlying().(*types.Struct)
	if !ok {
		return ""
	}
	best := ""
	for f := range st.Fields() {
		if !f.Exported() && f.Pkg() != r.kernel.Func.Pkg() {
			continue
		}
		if s, ok := f.Type().Underlying().(*types.Slice); ok && holdsPointer(s.Elem()) == "" {
			return f.Name()
		}
		if best == "" && holdsPointer(f.Type()) == "" {
			best = f.Name()
		}
	}
	return best
}

// slice checks a slice expression: what it cuts and what its bounds name.
func (r *resolved) slice(c Clause, it *ItemInfo, u types.Type) bool {
	k := r.kernel
	switch u := u.(type) {
	case *types.Slice:
	case *types.Array:
	case *types.Pointer:
		if _, ok := u.Elem().Underlying().(*types.Array); ok {
			break
		}
		r.errorf(it.Item.Pos(), "clause %s: %s is a %s, which cannot be sliced", c.Kind, it.Item.Path(), r.typeString(u))
		return false
	default:
		r.errorf(it.Item.Pos(), "clause %s: %s is a %s, which cannot be sliced", c.Kind, it.Item.Path(), r.typeString(u))
		return false
	}
	ok := true
	for _, b := range []*Bound{it.Item.Slice.Lo, it.Item.Slice.Hi} {
		if b != nil {
			ok = checkBound(r, k, b, b.Expr) && ok
		}
	}
	return ok
}

// checkBound allows integer arithmetic over parameters, their fields,
// constants and lengths: what can be evaluated at the launch without effects.
func checkBound(r *resolved, k *Kernel, b *Bound, e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.INT {
			return true
		}
	case *ast.ParenExpr:
		return checkBound(r, k, b, e.X)
	case *ast.BinaryExpr:
		switch e.Op {
		case token.ADD, token.SUB, token.MUL, token.QUO, token.REM:
			x, y := checkBound(r, k, b, e.X), checkBound(r, k, b, e.Y)
			return x && y
		}
	case *ast.Ident:
		return r.boundName(k, b, e)
	case *ast.SelectorExpr:
		root := e.X
		for {
			s, ok := root.(*ast.SelectorExpr)
			if !ok {
				break
			}
			root = s.X
		}
		if id, ok := root.(*ast.Ident); ok {
			if p := k.lookup(id.Name); p != nil && p != k.Result {
				return true // the compiler checks the fields in the launcher
			}
			return r.boundName(k, b, id)
		}
	case *ast.CallExpr:
		if f, ok := e.Fun.(*ast.Ident); ok && f.Name == "len" && len(e.Args) == 1 {
			switch arg := e.Args[0].(type) {
			case *ast.Ident:
				if p := k.lookup(arg.Name); p != nil && p != k.Result {
					return true
				}
			case *ast.SelectorExpr:
				return checkBound(r, k, b, arg)
			}
		}
	}
	r.errorf(b.PosOf(e), "a bound is made of integer parameters, constants, len and + - * / %%: %q is not", b.Text[e.Pos()-1:e.End()-1])
	return false
}

func (r *resolved) boundName(k *Kernel, b *Bound, id *ast.Ident) bool {
	if p := k.lookup(id.Name); p != nil && p != k.Result {
		if t, ok := coreType(p.Var.Type()).(*types.Basic); ok && t.Info()&types.IsInteger == 0 {
			r.errorf(b.PosOf(id), "the bound %s is a %s, want an integer", id.Name, r.typeString(p.Var.Type()))
			return false
		}
		return true
	}
	if _, ok := k.Func.Pkg().Scope().Lookup(id.Name).(*types.Const); ok {
		return true
	}
	names := k.names()
	r.errorf(b.PosOf(id), "the bound %s is not a parameter or constant of %s%s", id.Name, k.Func.Name(), didYouMean(id.Name, names))
	return false
}

// duplicates refuses a path that is named twice.
func (r *resolved) duplicates() {
	k := r.kernel
	seen := map[string]*ItemInfo{}
	var kept []*ItemInfo
	for _, it := range k.Items {
		path := it.Item.Path()
		old := seen[path]
		if old == nil {
			seen[path] = it
			kept = append(kept, it)
			continue
		}
		switch {
		case old.Kind == it.Kind:
			r.errorf(it.Item.Pos(), "%s is named twice in %s", path, it.Kind)
		case old.Kind+it.Kind == In+Out:
			r.errorf(it.Item.Pos(), "%s is in both in and out; want inout(%s)", path, path)
		default:
			r.errorf(it.Item.Pos(), "%s is in both %s and %s; it belongs into one clause", path, old.Kind, it.Kind)
		}
		r.broken = true
	}
	for _, it := range kept {
		for _, outer := range kept {
			if it.Kind == outer.Kind && it.Param == outer.Param && len(it.Item.Fields) > len(outer.Item.Fields) && strings.HasPrefix(it.Item.Path(), outer.Item.Path()+".") {
				r.errorf(it.Item.Pos(), "%s is part of %s(%s) already", it.Item.Path(), it.Kind, outer.Item.Path())
			}
		}
	}
	k.Items = kept
}

// coverage wants every parameter and result in a clause.
func (r *resolved) coverage() {
	k := r.kernel
	all := k.Params
	if k.Result != nil {
		all = append(slices.Clip(all), k.Result)
	}
	for _, p := range all {
		name := p.Var.Name()
		if name == "" || name == "_" {
			continue
		}
		if !slices.ContainsFunc(k.Items, func(it *ItemInfo) bool { return it.Param == p }) {
			r.missing = append(r.missing, missing{p, name})
		}
	}
}
