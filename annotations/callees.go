package annotations

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// target is a function that a call may reach.
type target struct {
	fn   *ssa.Function // nil if only the object is known
	obj  *types.Func   // nil for a function literal
	vals []ssa.Value   // arguments, to find constants; nil if they are unknown
	args [][]loc       // locations of the arguments, followed by those of the captured variables
}

// numbered returns the locations that the parameter or captured variable n receives.
func (c *target) numbered(n int) []loc {
	if n < 0 || n >= len(c.args) {
		return nil
	}
	return c.args[n]
}

// callees returns the functions that a call may reach. rest describes a function value or
// method of unknown origin, if the call may reach one.
func (e *effects) callees(b *body, c *ssa.CallCommon) (list []target, rest string) {
	if fn := c.StaticCallee(); fn != nil {
		var bindings []ssa.Value
		if mc, ok := c.Value.(*ssa.MakeClosure); ok {
			bindings = mc.Bindings
		}
		obj, _ := fn.Object().(*types.Func)
		return []target{{fn, obj, c.Args, b.arguments(c.Args, bindings)}}, ""
	}
	if c.IsInvoke() {
		return e.methods(b, c)
	}
	for _, l := range b.value(c.Value) {
		switch v := l.root.v.(type) {
		case *ssa.MakeClosure:
			if l.at == "" && !l.any {
				list = append(list, target{v.Fn.(*ssa.Function), nil, c.Args, b.arguments(c.Args, v.Bindings)})
				continue
			}
		case *ssa.Function:
			if l.at == "" && !l.any {
				obj, _ := v.Object().(*types.Func)
				list = append(list, target{v, obj, c.Args, b.arguments(c.Args, nil)})
				continue
			}
		}
		rest = "the function value " + shown(c.Value)
	}
	if len(list) == 0 {
		rest = "the function value " + shown(c.Value)
	}
	return list, rest
}

// shown returns the name of a value in the source, if it has one.
func shown(v ssa.Value) string {
	switch v := v.(type) {
	case *ssa.Parameter:
		return v.Name()
	case *ssa.FreeVar:
		return v.Name()
	case *ssa.UnOp:
		return shown(v.X)
	case *ssa.Global:
		return v.Name()
	case *ssa.FieldAddr:
		return fieldName(v.X.Type(), v.Field)
	case *ssa.Field:
		return fieldName(v.X.Type(), v.Field)
	case *ssa.Alloc:
		if v.Comment != "" {
			return v.Comment
		}
	}
	return "of type " + types.TypeString(v.Type(), func(p *types.Package) string { return p.Name() })
}

// methods finds the methods that a call through an interface can reach. It finds them only if
// the values in the interface are made in the same function.
func (e *effects) methods(b *body, c *ssa.CallCommon) ([]target, string) {
	unknown := "the method " + c.Method.Name() + " of an interface"
	values, ok := concrete(c.Value, nil)
	if !ok || len(values) == 0 {
		return nil, unknown
	}
	var list []target
	for _, v := range values {
		obj, index, _ := types.LookupFieldOrMethod(v.Type(), false, c.Method.Pkg(), c.Method.Name())
		fn, ok := obj.(*types.Func)
		if !ok || len(index) != 1 {
			return nil, unknown
		}
		recv := b.value(v)
		if isPointer(v.Type()) && !isPointer(fn.Signature().Recv().Type()) {
			recv = b.load(recv)
		}
		cal := target{obj: fn.Origin(), vals: append([]ssa.Value{v}, c.Args...), args: append([][]loc{recv}, b.arguments(c.Args, nil)...)}
		if e.pkg != nil && fn.Pkg() == e.pkg.Pkg {
			cal.fn = e.pkg.Prog.FuncValue(fn.Origin())
		}
		list = append(list, cal)
	}
	return list, ""
}

// concrete returns the values that an interface may hold. It returns false if it does not find
// all of them.
func concrete(v ssa.Value, seen []ssa.Value) ([]ssa.Value, bool) {
	if slices.Contains(seen, v) {
		return nil, true
	}
	seen = append(seen, v)
	switch v := v.(type) {
	case *ssa.MakeInterface:
		return []ssa.Value{v.X}, true
	case *ssa.ChangeInterface:
		return concrete(v.X, seen)
	case *ssa.Phi:
		var all []ssa.Value
		for _, edge := range v.Edges {
			vs, ok := concrete(edge, seen)
			if !ok {
				return nil, false
			}
			all = append(all, vs...)
		}
		return all, true
	}
	return nil, false
}

// effectsOf returns the effects of a callee, nil if they are unknown. It also returns the name
// of the callee for messages, with its position.
func (e *effects) effectsOf(c *target) (*Effects, string) {
	obj := c.obj
	name := ""
	if obj != nil && !isStandard(obj.Pkg()) {
		name = obj.Name()
		if obj.Pos().IsValid() {
			name += " at " + lineOf(e.fset, obj.Pos())
		}
	}
	if c.fn != nil {
		if obj == nil && c.fn.Synthetic != "" {
			name = c.fn.Name()
		}
		if b := e.of(c.fn); b != nil {
			return b.effects, name
		}
	}
	if obj == nil {
		return nil, name
	}
	if eff := e.known(obj.Origin()); eff != nil {
		return eff, name
	}
	return standardEffects(obj.Origin()), name
}

// namedGlobal is a package variable that is known only by name.
type namedGlobal struct {
	ssa.Value
	name string
}

func (g namedGlobal) Name() string { return g.name }
