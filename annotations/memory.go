package annotations

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// memory determines the form of the region for a value of type t at path.
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

// relative shortens a text about types: it removes the path of the present package.
func (r *resolved) relative(s string) string {
	return strings.ReplaceAll(s, r.kernel.Func.Pkg().Path()+".", "")
}

// exampleField finds a field of a struct that can be sent to other replicas. It prefers a
// slice.
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

// slice checks a slice expression: the type of the sliced value, and the names in its bounds.
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
	for _, b := range it.Item.Slice.all() {
		ok = checkBound(r, k, b, b.Expr) && ok
	}
	ok = ok && r.window(c, it)
	if it.Item.Slice.Cols != nil {
		if _, slice := u.(*types.Slice); !slice {
			r.errorf(it.Item.Pos(), "clause %s: %s is a %s; rows and columns are cut from a slice", c.Kind, it.Item.Path(), r.typeString(it.typ))
			return false
		}
	}
	return ok
}

// checkBound accepts integer arithmetic over parameters, their fields, constants, lengths and
// calls. A launch can evaluate such an expression without effects: r.window and checkWindows
// check the calls.
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
				return true // the compiler checks the fields when it compiles the launcher
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
			break
		}
		if ok, called := r.boundCall(b, e); called {
			return ok
		}
	}
	r.errorf(b.PosOf(e), "a bound is made of integer parameters, constants, len and + - * / %%, and in clause in of calls: %q is not", b.textOf(e))
	return false
}

// textOf returns the text of a node of the bound.
func (b *Bound) textOf(n ast.Node) string { return b.Text[n.Pos()-1 : n.End()-1] }

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
