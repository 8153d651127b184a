package annotations

import (
	"fmt"
	"go/types"
)

// holdsPointer returns why values of type t cannot be sent to another process. It returns
// "" for types without pointers.
func holdsPointer(t types.Type) string {
	return findPointer(t, "", map[types.Type]bool{})
}

func findPointer(t types.Type, path string, seen map[types.Type]bool) string {
	if seen[t] {
		return ""
	}
	seen[t] = true
	defer delete(seen, t)
	is := func(what string) string {
		if path == "" {
			return fmt.Sprintf("its type %s %s", t, what)
		}
		return fmt.Sprintf("its field %s has type %s, which %s", path[1:], t, what)
	}
	if n, ok := types.Unalias(t).(*types.Named); ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == "time" && n.Obj().Name() == "Time" {
		return is("holds a pointer (use UnixNano)")
	}
	if tp, ok := types.Unalias(t).(*types.TypeParam); ok {
		terms, ok := termsOf(tp)
		if !ok {
			return is("is a type parameter whose constraint allows types with pointers")
		}
		for _, term := range terms {
			if findPointer(term, path, seen) != "" {
				return is("is a type parameter whose constraint allows types with pointers")
			}
		}
		return ""
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		switch {
		case u.Kind() == types.UnsafePointer:
			return is("is a pointer")
		case u.Info()&types.IsString != 0:
			return is("holds a pointer (use an array of bytes)")
		}
		return ""
	case *types.Array:
		return findPointer(u.Elem(), path, seen)
	case *types.Struct:
		for f := range u.Fields() {
			if why := findPointer(f.Type(), path+"."+f.Name(), seen); why != "" {
				return why
			}
		}
		return ""
	case *types.Pointer:
		return is("is a pointer")
	}
	return is("holds pointers")
}

// termsOf lists the possible types of a type parameter. It returns false if any type is
// possible.
func termsOf(tp *types.TypeParam) ([]types.Type, bool) {
	iface, ok := tp.Constraint().Underlying().(*types.Interface)
	if !ok {
		return nil, false
	}
	return ifaceTerms(iface)
}

func ifaceTerms(iface *types.Interface) ([]types.Type, bool) {
	for e := range iface.EmbeddedTypes() {
		switch e := types.Unalias(e).(type) {
		case *types.Union:
			var terms []types.Type
			for t := range e.Terms() {
				if inner, ok := t.Type().Underlying().(*types.Interface); ok {
					more, ok := ifaceTerms(inner)
					if !ok {
						return nil, false
					}
					terms = append(terms, more...)
					continue
				}
				terms = append(terms, t.Type())
			}
			return terms, true
		default:
			inner, ok := e.Underlying().(*types.Interface)
			if !ok {
				return []types.Type{e}, true
			}
			if terms, ok := ifaceTerms(inner); ok {
				return terms, true
			}
		}
	}
	return nil, false
}

// coreType returns the underlying type. For a type parameter with one core type, such as S
// ~[]E, it returns the core type.
func coreType(t types.Type) types.Type {
	tp, ok := types.Unalias(t).(*types.TypeParam)
	if !ok {
		return t.Underlying()
	}
	terms, ok := termsOf(tp)
	if !ok {
		return tp.Underlying()
	}
	u := terms[0].Underlying()
	for _, term := range terms[1:] {
		if !types.Identical(u, term.Underlying()) {
			return tp.Underlying()
		}
	}
	return u
}

func numeric(t types.Type) bool { return allTerms(t, types.IsNumeric) }
func ordered(t types.Type) bool { return allTerms(t, types.IsOrdered) }
func integer(t types.Type) bool { return allTerms(t, types.IsInteger) }
func isBool(t types.Type) bool  { return allTerms(t, types.IsBoolean) }

func allTerms(t types.Type, info types.BasicInfo) bool {
	terms := []types.Type{t}
	if tp, ok := types.Unalias(t).(*types.TypeParam); ok {
		if terms, ok = termsOf(tp); !ok {
			return false
		}
	}
	for _, term := range terms {
		b, ok := term.Underlying().(*types.Basic)
		if !ok || b.Info()&info == 0 {
			return false
		}
	}
	return true
}

func isPointer(t types.Type) bool {
	_, ok := coreType(t).(*types.Pointer)
	return ok
}
