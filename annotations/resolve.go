package annotations

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// missing is a parameter or result that no clause names.
type missing struct {
	param *Param
	name  string
}

// resolved is the result of resolving a kernel's directives.
type resolved struct {
	kernel  *Kernel
	missing []missing
	errs    []*Error
	broken  bool // the clauses could not be parsed, so missing is meaningless
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

// params lists the parameters. Each parameter needs a name, since clauses use it.
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
		others := "make the others pointer parameters, in out or reduce"
		if isError(results.At(results.Len() - 1).Type()) {
			others = "an error cannot be sent to the other replicas: return a status through reduce(max: code), and make the rest pointer parameters, in out or reduce"
		}
		r.errorf(decl.Type.Results.Pos(), "kernel %s has %d results, and may have one; %s", k.Func.Name(), results.Len(), others)
	case results.Len() == 1:
		v := results.At(0)
		k.Result = &Param{Var: v, Index: -1}
		if isError(v.Type()) {
			r.errorf(decl.Type.Results.Pos(), "kernel %s returns an error, which cannot be sent to the other replicas; return a status through reduce(max: code)", k.Func.Name())
			r.broken = true
		} else if v.Name() == "" || v.Name() == "_" {
			r.errorf(decl.Type.Results.Pos(), "the result of kernel %s has no name; name it, as in (%s %s), so that out or reduce can", k.Func.Name(), freeName(k, "sum"), types.TypeString(v.Type(), types.RelativeTo(k.Func.Pkg())))
			r.broken = true
		}
	}
}

func isError(t types.Type) bool { return types.Identical(t, types.Universe.Lookup("error").Type()) }

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

// names lists the names that clauses can use.
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
	if c.Kind == Elementwise {
		r.elementwise(c)
		return
	}
	for _, item := range c.Items {
		info := &ItemInfo{Kind: c.Kind, Item: item, Op: c.Op.Name}
		if r.item(c, info) {
			k.Items = append(k.Items, info)
		} else {
			r.broken = true
		}
	}
}

// item resolves one item by the signature of the kernel.
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
		return r.reduceParam(c, it)
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
	if c.Kind != Reduce {
		return true
	}
	k.Op = c.Op.Name
	return r.operator(c, k.Result.Var.Type())
}

// operator checks that the operator of a reduce clause is defined for values of type t.
func (r *resolved) operator(c Clause, t types.Type) bool {
	k := r.kernel
	obj := k.Func.Pkg().Scope().Lookup(c.Op.Name)
	unfit := func(fits bool) bool {
		if !fits {
			r.errorf(c.Op.Pos, "operator %s does not apply to %s; use a function of the package, func(a, b %[2]s) %[2]s", c.Op.Name, r.typeString(t))
		}
		return fits
	}
	switch c.Op.Name {
	case "+", "*":
		return unfit(numeric(t))
	case "&&", "||":
		return unfit(isBool(t))
	case "&", "|", "^":
		return unfit(integer(t))
	case "min", "max":
		if obj == nil {
			return unfit(ordered(t))
		}
	}
	fn, ok := obj.(*types.Func)
	if !ok {
		names := append([]string{"min", "max"}, k.Func.Pkg().Scope().Names()...)
		r.errorf(c.Op.Pos, "operator %s is not a function of package %s%s (want + * min max && || & | ^ or such a function)", c.Op.Name, k.Func.Pkg().Name(), didYouMean(c.Op.Name, names))
		return false
	}
	sig := fn.Signature()
	if sig.TypeParams().Len() > 0 {
		return true // the compiler infers the type arguments, or rejects the launcher
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

// fields follows the field path of an item. It returns the type and the path of the variable
// that the item names.
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
		_, path = stepFields(t, path, index)
		t = v.Type()
	}
	return t, path, true
}

// stepFields extends a path by the fields of an index path.
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

// duplicates rejects clauses that name a path twice.
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
		case old.Kind == it.Kind && old.Item.Slice != nil && it.Item.Slice != nil && it.Item.Text != old.Item.Text:
			kept = append(kept, it) // several parts of one array
			continue
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

// coverage checks that every parameter and result is in a clause.
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
