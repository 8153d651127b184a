package annotations

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// arguments returns the possible values of each argument of a call, and of each variable that
// a closure captures.
func (b *body) arguments(vals, bindings []ssa.Value) [][]loc {
	var args [][]loc
	for _, v := range append(slices.Clip(vals), bindings...) {
		if isBasic(v.Type()) {
			args = append(args, nil)
			continue
		}
		args = append(args, b.value(v))
	}
	return args
}

// transfer records the stores of a call to memory that the call can reach. It returns the
// possible results.
func (e *effects) transfer(b *body, instr ssa.CallInstruction) []loc {
	c := instr.Common()
	call, _ := instr.(*ssa.Call)
	if bi, ok := c.Value.(*ssa.Builtin); ok {
		return b.builtinValue(call, bi.Name(), c.Args)
	}
	many := c.Signature().Results().Len() > 1
	var out []loc
	list, rest := e.callees(b, c)
	called := len(list)
	list = append(list, b.passedClosures(c)...)
	for i := range list {
		cal := &list[i]
		if cal.obj != nil && groupCall(cal.obj) != "" {
			continue
		}
		eff, _ := e.effectsOf(cal)
		if eff == nil {
			rest = "?"
			continue
		}
		for _, s := range eff.Stores {
			at, _ := b.place(cal.numbered(s.Param), s.Path)
			if s.Any {
				at = maybeMore(at)
			}
			b.put(at, b.flowValue(cal, s.Flow, instr))
		}
		if call == nil || i >= called {
			continue
		}
		for _, f := range eff.Results {
			ls := b.flowValue(cal, f, instr)
			if many {
				ls = tuple(ls, true, fmt.Sprintf("#%d", f.Result))
			}
			out = append(out, ls...)
		}
	}
	if rest != "" {
		out = append(out, b.unknownCall(c, call)...)
	}
	return out
}

// maybeMore returns ls, extended by everything that is reachable from these values.
func maybeMore(ls []loc) []loc {
	out := slices.Clone(ls)
	for i := range out {
		out[i].any = true
	}
	return out
}

// flowValue returns the caller's values for a flow that the summary of a callee describes.
func (b *body) flowValue(c *target, f Flow, instr ssa.CallInstruction) []loc {
	var ls []loc
	memory := false
	switch {
	case f.Param == freshFlow:
		v, ok := instr.(ssa.Value)
		if !ok {
			return nil
		}
		ls = fresh(v)
	case f.Param == globalFlow:
		ls = []loc{{root: root{kind: globalRoot, v: namedGlobal{name: f.Global}}, path: f.Path, addr: f.Addr}}
	default:
		ls, memory = b.place(c.numbered(f.Param), f.Path)
		if memory && !f.Addr {
			ls = b.load(ls)
		} else if memory {
			ls = addresses(ls)
		}
	}
	if f.Any {
		ls = append(maybeMore(ls), b.reach(ls)...)
	}
	out := make([]loc, 0, len(ls))
	for _, l := range ls {
		out = append(out, l.under(f.At))
	}
	return out
}

// unknownCall models a call of unknown code. Its results may be anything that is reachable
// from its arguments. It may also store anything reachable into any other reachable memory.
func (b *body) unknownCall(c *ssa.CallCommon, call *ssa.Call) []loc {
	reached, locals := b.reachAll(b.given(c))
	for _, l := range reached {
		if l.root.kind == paramRoot && holdsPointer(pointee(b.fn.Params[l.root.n].Type())) == "" {
			continue
		}
		for _, v := range reached {
			if v.root != l.root {
				b.put([]loc{l}, []loc{v})
			}
		}
	}
	for _, r := range locals {
		b.put([]loc{{root: r, addr: true, any: true}}, reached)
		for _, other := range locals {
			if other != r {
				b.put([]loc{{root: r, addr: true, any: true}}, []loc{{root: other, addr: true, any: true}})
			}
		}
	}
	if call == nil || !slices.ContainsFunc(slices.Collect(c.Signature().Results().Variables()), func(v *types.Var) bool { return !isBasic(v.Type()) }) {
		return nil
	}
	out := append(fresh(call), reached...)
	for _, r := range locals {
		out = append(out, loc{root: r, addr: true, any: true})
	}
	n := c.Signature().Results().Len()
	if n == 1 {
		return out
	}
	var parts []loc
	for i := range n {
		parts = append(parts, tuple(out, true, fmt.Sprintf("#%d", i))...)
	}
	return parts
}

func pointee(t types.Type) types.Type {
	switch u := coreType(t).(type) {
	case *types.Pointer:
		return u.Elem()
	case *types.Slice:
		return u.Elem()
	}
	return t
}

// given returns all values that a call passes to the callee.
func (b *body) given(c *ssa.CallCommon) []loc {
	var all []loc
	if c.IsInvoke() || c.StaticCallee() == nil {
		all = append(all, b.value(c.Value)...)
	}
	for _, a := range c.Args {
		if !isBasic(a.Type()) {
			all = append(all, b.value(a)...)
		}
	}
	if mc, ok := c.Value.(*ssa.MakeClosure); ok {
		for _, v := range mc.Bindings {
			all = append(all, b.value(v)...)
		}
	}
	return all
}

// passedClosures returns the functions of this package that a call passes as arguments. The
// callee may call them with anything else that the call passes.
func (b *body) passedClosures(c *ssa.CallCommon) []target {
	var ls []loc
	for _, a := range c.Args {
		if !isBasic(a.Type()) {
			ls = append(ls, b.value(a)...)
		}
	}
	if len(ls) == 0 {
		return nil
	}
	_, locals := b.reachAll(ls)
	var list []target
	for _, r := range locals {
		var fn *ssa.Function
		var bindings []ssa.Value
		switch v := r.v.(type) {
		case *ssa.MakeClosure:
			fn, bindings = v.Fn.(*ssa.Function), v.Bindings
		case *ssa.Function:
			if v.Pkg == nil || v.Pkg != b.fn.Pkg && v.Parent() == nil {
				continue
			}
			fn = v
		default:
			continue
		}
		reached, _ := b.reachAll(b.given(c))
		var args [][]loc
		for _, p := range fn.Params {
			if isBasic(p.Type()) {
				args = append(args, nil)
			} else {
				args = append(args, reached)
			}
		}
		args = append(args, b.arguments(nil, bindings)...)
		list = append(list, target{fn: fn, args: args})
	}
	return list
}

// builtinValue models the results and stores of a builtin function.
func (b *body) builtinValue(call *ssa.Call, name string, args []ssa.Value) []loc {
	switch name {
	case "append":
		if call == nil {
			return nil
		}
		out := append(fresh(call), b.value(args[0])...)
		if len(args) > 1 && holdsPointer(pointee(call.Type())) != "" {
			b.put(out, b.load(b.value(args[1])))
		}
		return out
	case "copy":
		if holdsPointer(pointee(args[0].Type())) != "" {
			b.put(b.value(args[0]), b.load(b.value(args[1])))
		}
	case "Add", "Slice", "SliceData", "String", "StringData": // functions of package unsafe
		return b.value(args[0])
	}
	return nil
}

// call records the effects of a call.
func (e *effects) call(b *body, instr ssa.CallInstruction, pos token.Pos) {
	c := instr.Common()
	if f, ok := c.Value.(*ssa.Builtin); ok {
		b.builtin(instr, f.Name(), c.Args, pos)
		return
	}
	if c.IsInvoke() {
		if what, msg := forbiddenCall(c.Method); what != "" {
			b.impure = append(b.impure, Impurity{What: what, Message: msg, pos: pos})
			return
		}
	}
	list, rest := e.callees(b, c)
	maybe := len(list) > 1 || rest != ""
	for i := range list {
		if what := e.callee(b, instr, &list[i], maybe, pos); what != "" {
			rest = what
		}
	}
	passed := b.passedClosures(c)
	for i := range passed {
		e.callee(b, instr, &passed[i], false, pos)
	}
	if rest == "" {
		return
	}
	b.unfollowed(rest + " at " + lineOf(b.fset, pos))
	for _, l := range b.reach(b.given(c)) {
		b.events = append(b.events, event{instr: instr, root: l.root, path: l.path, unknown: true, into: rest + " at " + lineOf(b.fset, pos), pos: pos})
	}
	if c.IsInvoke() || c.StaticCallee() == nil {
		b.called(b.value(c.Value))
	}
}

// called records that the function calls one of its parameters.
func (b *body) called(ls []loc) {
	for _, l := range ls {
		if l.root.kind == paramRoot || l.root.kind == freeRoot {
			b.calls = append(b.calls, b.number(l.root))
		}
	}
}

// callee records the effects of calling a function. It returns a description of the effects
// that are unknown.
func (e *effects) callee(b *body, instr ssa.Instruction, c *target, maybe bool, pos token.Pos) (unknown string) {
	obj := c.obj
	if obj != nil {
		if what, msg := forbiddenCall(obj); what != "" {
			b.impure = append(b.impure, Impurity{What: what, Message: msg, Maybe: maybe, pos: pos})
			return ""
		}
		if method := groupCall(obj); method != "" {
			b.unfollowed("goroutines at " + lineOf(b.fset, pos))
			e.group(b, instr, method, c.vals, pos)
			return ""
		}
	}
	if obj != nil && e.kernel != nil && e.kernel(obj.Origin()) {
		b.unfollowed("the kernel " + obj.Name() + ", which may be a task")
	}
	eff, name := e.effectsOf(c)
	if eff == nil {
		if obj == nil {
			return "a function"
		}
		return obj.Pkg().Name() + "." + LocalName(obj)
	}
	foreign := obj != nil && obj.Pkg() != nil && !e.ours(obj.Pkg().Path())
	if eff.Unknown != "" {
		b.unfollowed(eff.Unknown)
	}
	for _, imp := range eff.Impure {
		imp.pos = pos
		imp.Maybe = imp.Maybe || maybe || foreign && !imp.Message
		if name != "" && imp.Chain == "" {
			imp.Chain = name
		} else if name != "" {
			imp.Chain = name + ", " + imp.Chain
		}
		if len(imp.Chain) < 200 {
			b.impure = append(b.impure, imp)
		} else {
			b.unfollowed(imp.Chain)
		}
	}
	for _, acc := range eff.Accesses {
		pointers, memory := b.place(c.numbered(acc.Param), acc.Path)
		if !memory && !acc.Unknown {
			continue
		}
		t := b.hit(pointers)
		if acc.Unknown {
			t = targets{list: b.reach(pointers)}
		}
		guard, decided := b.passGuard(c, acc.Guard)
		for _, l := range t.list {
			b.events = append(b.events, event{instr: instr, root: l.root, path: l.path, write: acc.Write, unknown: acc.Unknown, into: acc.Into,
				maybe: acc.Maybe || maybe || decided || !t.certain(), guard: guard, pos: pos, via: name, exposed: acc.Exposed})
		}
	}
	for _, n := range eff.Calls {
		b.called(c.numbered(n))
	}
	for _, g := range eff.Globals {
		b.events = append(b.events, event{instr: instr, root: root{kind: globalRoot, v: namedGlobal{name: g}}, write: true, pos: pos,
			maybe: maybe || foreign, via: name, whole: slices.Contains(eff.Sets, g)})
	}
	for _, g := range eff.Reads {
		b.events = append(b.events, event{instr: instr, root: root{kind: globalRoot, v: namedGlobal{name: g}}, pos: pos, via: name})
	}
	return ""
}
