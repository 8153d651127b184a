package annotations

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// A slice expression is a window if its bounds call functions. Every replica evaluates it at
// the launch. So the functions must be pure: they read memory of their arguments that the
// kernel has in its clauses in, and do nothing else.

// boundCall is a call in a bound of a clause.
type boundCall struct {
	expr *ast.CallExpr
	fn   *types.Func // nil: the builtin min or max
	args []boundArg  // the receiver first
}

// boundArg is a parameter, or a path of its fields, that a bound passes to a function.
type boundArg struct {
	param *Param // nil: a number
	path  string // path from the parameter; see effects.go
	typ   types.Type
}

// pureMethods are methods of interfaces whose documentation promises that they are pure. A type
// of another package can implement such an interface only by embedding it, and keeps the promise.
var pureMethods = set(IntraPath + "/kernels.Matrix.First " + IntraPath + "/kernels.Matrix.Last")

// boundCall checks the form of a call in a bound. called is false if the expression is
// something else, such as a conversion.
func (r *resolved) boundCall(b *Bound, e *ast.CallExpr) (ok, called bool) {
	switch f := e.Fun.(type) {
	case *ast.Ident:
	case *ast.SelectorExpr:
		if rootIdent(f) == nil {
			return false, false
		}
	default:
		return false, false
	}
	if e.Ellipsis.IsValid() {
		return false, false
	}
	b.calls = append(b.calls, boundCall{expr: e})
	ok = true
	for _, arg := range e.Args {
		if id := rootIdent(arg); id == nil || !isPath(arg) || r.parameter(id.Name) == nil {
			ok = checkBound(r, r.kernel, b, arg) && ok
		}
	}
	return ok, true
}

// isPath reports whether an expression is a name or a selector.
func isPath(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return true
	case *ast.SelectorExpr:
		return isPath(e.X)
	}
	return false
}

// window resolves the calls in the bounds of an item.
func (r *resolved) window(c Clause, it *ItemInfo) bool {
	if !it.Item.Slice.Calls() {
		return true
	}
	ok := true
	for _, b := range it.Item.Slice.all() {
		if len(b.calls) > 0 && c.Kind != In {
			r.errorf(b.PosOf(b.calls[0].expr), "clause %s: the bound %s of %s calls a function, which only bounds of in may: what a task writes follows from its integer parameters alone; make the bound a parameter", c.Kind, b.Text, it.Item.Path())
			return false
		}
		ok = r.typeBound(b) && ok
	}
	return ok
}

// typeBound finds the types of a bound, and the functions that it calls.
func (r *resolved) typeBound(b *Bound) bool {
	k := r.kernel
	if k.Decl.Body == nil {
		r.errorf(b.Base, "the bound %s belongs to a window, but %s has no body; call it from a kernel in Go", b.Text, k.Func.Name())
		return false
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	if err := types.CheckExpr(token.NewFileSet(), k.Func.Pkg(), k.Decl.Body.Lbrace+1, b.Expr, info); err != nil {
		msg := err.Error()
		var te types.Error
		if errors.As(err, &te) {
			msg = te.Msg
		}
		r.errorf(b.Base, "the bound %s is wrong: %s", b.Text, msg)
		return false
	}
	tv := info.Types[b.Expr]
	if tv.Type == nil {
		r.errorf(b.Base, "the bound %s has no type: it does not compile", b.Text)
		return false
	}
	if tv.Value == nil && !types.Identical(tv.Type, types.Typ[types.Int]) {
		r.errorf(b.Base, "the bound %s of a window is of type %s, want int", b.Text, r.typeString(tv.Type))
		return false
	}
	for i := range b.calls {
		if !r.callee(b, &b.calls[i], info) {
			return false
		}
	}
	return true
}

// callee resolves a call in a bound: the function, and its arguments.
func (r *resolved) callee(b *Bound, call *boundCall, info *types.Info) bool {
	args := call.expr.Args
	switch fun := call.expr.Fun.(type) {
	case *ast.Ident:
		switch obj := info.Uses[fun].(type) {
		case *types.Func:
			call.fn = obj
		case *types.Builtin:
			if obj.Name() == "min" || obj.Name() == "max" {
				return true
			}
		}
	case *ast.SelectorExpr:
		call.fn, _ = info.Uses[fun.Sel].(*types.Func)
		if sel := info.Selections[fun]; sel != nil {
			recv := r.boundArg(fun.X, info)
			if recv.param == nil {
				r.errorf(b.PosOf(call.expr), "the bound %s calls a method of %s, which is no parameter", b.Text, types.ExprString(fun.X))
				return false
			}
			t, path := stepFields(sel.Recv(), "", sel.Index()[:len(sel.Index())-1])
			recv.path, recv.typ = recv.path+path, t
			call.args = append(call.args, recv)
			break
		}
		if pkg, ok := info.Uses[rootIdent(fun)].(*types.PkgName); ok {
			if b.Packages == nil {
				b.Packages = map[string]*types.Package{}
			}
			b.Packages[pkg.Name()] = pkg.Imported()
		}
	}
	if call.fn == nil {
		r.errorf(b.PosOf(call.expr), "the bound %s calls %s, which is no function or method that the analysis can follow", b.Text, types.ExprString(call.expr.Fun))
		return false
	}
	for _, arg := range args {
		call.args = append(call.args, r.boundArg(arg, info))
	}
	return true
}

// boundArg returns the memory that an argument names.
func (r *resolved) boundArg(e ast.Expr, info *types.Info) boundArg {
	switch e := e.(type) {
	case *ast.Ident:
		return boundArg{param: r.parameter(e.Name), typ: info.TypeOf(e)}
	case *ast.SelectorExpr:
		if sel := info.Selections[e]; sel != nil {
			arg := r.boundArg(e.X, info)
			t, path := stepFields(sel.Recv(), "", sel.Index())
			arg.path, arg.typ = arg.path+path, t
			return arg
		}
	}
	return boundArg{}
}

// parameter finds the parameter or receiver of that name.
func (r *resolved) parameter(name string) *Param {
	if p := r.kernel.lookup(name); p != r.kernel.Result {
		return p
	}
	return nil
}

// checkWindows finds functions in the bounds of clauses that are not pure, or that read memory
// that the kernel does not have in its clauses in.
func checkWindows(k *Kernel, effects func(*types.Func) *Effects) []finding {
	var findings []finding
	for _, it := range k.Items {
		if it.Item.Slice == nil {
			continue
		}
		for _, b := range it.Item.Slice.all() {
			for _, call := range b.calls {
				if call.fn == nil {
					continue
				}
				e, why := pureEffects(call.fn, effects)
				if why == "" {
					why = k.readsOthers(&call, e)
				}
				if why != "" {
					findings = append(findings, finding{pos: b.PosOf(call.expr), msg: fmt.Sprintf(
						"the bound %s of in(%s) calls %s, which %s; such a function reads memory that the kernel has in its clause in, and does nothing else", b.Text, it.Item.Text, types.ExprString(call.expr.Fun), why)})
				}
			}
		}
	}
	return findings
}

// pureEffects returns the effects of a function, or why it is not known to be pure.
func pureEffects(fn *types.Func, effects func(*types.Func) *Effects) (e *Effects, why string) {
	fn = fn.Origin()
	if recv := fn.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
		if fn.Pkg() != nil && pureMethods[fn.Pkg().Path()+"."+LocalName(fn)] {
			return &Effects{Accesses: []Access{{Param: 0, Path: "*"}}}, ""
		}
		return nil, "is a method of an interface: its code is not known"
	}
	if what, _ := forbiddenCall(fn); what != "" {
		return nil, what
	}
	if isStandard(fn.Pkg()) {
		e = standardEffects(fn)
	} else {
		e = effects(fn)
	}
	switch {
	case e == nil:
		return nil, "has no code that the analysis can follow"
	case len(e.Impure) > 0:
		return nil, e.Impure[0].What
	case len(e.Globals) > 0:
		return nil, "writes the package variable " + e.Globals[0]
	case len(e.Reads) > 0:
		return nil, "reads the package variable " + e.Reads[0] + ": pass it as an argument"
	case len(e.Calls) > 0:
		return nil, "calls one of its arguments"
	case e.Unknown != "":
		return nil, "cannot be followed: " + e.Unknown
	}
	for _, a := range e.Accesses {
		if a.Write || a.Unknown {
			return nil, "may write to memory of its arguments"
		}
	}
	return e, ""
}

// readsOthers describes memory that a function in a bound reads, and that the kernel does not
// have in a clause in. It returns "" if there is none.
func (k *Kernel) readsOthers(call *boundCall, e *Effects) string {
	for _, a := range e.Accesses {
		if a.Param >= len(call.args) || call.args[a.Param].param == nil {
			continue
		}
		arg := call.args[a.Param]
		path := arg.path + a.Path
		if recv := call.fn.Signature().Recv(); recv != nil && a.Param == 0 {
			switch want, have := isPointer(recv.Type()), isPointer(arg.typ); {
			case want && !have: // the address of the argument is passed
				path = arg.path + strings.TrimPrefix(a.Path, "*")
			case have && !want:
				path = arg.path + "*" + a.Path
			}
		}
		name := displayPath(arg.param.Var.Name(), path)
		i := slices.Index(k.Params, arg.param)
		it := k.match(i, path)
		switch {
		case it == nil && !slices.ContainsFunc(k.Items, func(o *ItemInfo) bool {
			return o.Param == arg.param && strings.HasPrefix(o.path, path)
		}):
			return fmt.Sprintf("reads %s, which no clause names", name)
		case it != nil && it.Kind != In:
			return fmt.Sprintf("reads %s, which is in %s(%s)", name, it.Kind, it.Item.Text)
		case it != nil && it.Item.Slice != nil && it.Item.Slice.Calls():
			return fmt.Sprintf("reads %s, of which %s is only a window", name, it.Item.Text)
		}
		if !a.Maybe {
			continue
		}
		for _, o := range k.Items { // the access may be to anything behind the path
			if o.Param == arg.param && o.Kind != In && strings.HasPrefix(o.path, path) {
				return fmt.Sprintf("may read %s, which is in %s(%s)", displayPath(arg.param.Var.Name(), o.path), o.Kind, o.Item.Text)
			}
		}
	}
	return ""
}
