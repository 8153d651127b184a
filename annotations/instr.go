package annotations

import (
	"fmt"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// instr records what one instruction does.
func (e *effects) instr(b *body, instr ssa.Instruction) {
	switch i := instr.(type) {
	case *ssa.Store:
		b.access(i, i.Addr, b.value(i.Addr), true, positionOf(i.Addr, i.Pos()))
	case *ssa.UnOp:
		switch i.Op {
		case token.MUL:
			b.access(i, i.X, b.value(i.X), false, positionOf(i.X, i.Pos()))
		case token.ARROW:
			b.forbid(i.Pos(), "receives from a channel")
		}
	case *ssa.MapUpdate:
		b.access(i, nil, b.value(i.Map), true, i.Pos())
	case *ssa.Lookup:
		b.access(i, nil, b.value(i.X), false, i.Pos())
	case *ssa.Range:
		if _, ok := i.X.Type().Underlying().(*types.Map); ok {
			b.forbid(i.Pos(), "ranges over a map, whose order differs between replicas; range over sorted keys")
		}
	case *ssa.Send:
		b.forbid(i.Pos(), "sends on a channel")
	case *ssa.Select:
		b.forbid(i.Pos(), "uses select")
	case *ssa.MakeChan:
		b.forbid(i.Pos(), "makes a channel")
	case *ssa.Go:
		b.forbid(i.Pos(), "starts a goroutine with go: start it with Go of a sync.WaitGroup, and call Wait before the task ends")
		e.call(b, i, &i.Call, i.Pos())
	case *ssa.Call:
		e.call(b, i, &i.Call, i.Pos())
	case *ssa.Defer:
		e.call(b, i, &i.Call, i.Pos())
	case *ssa.MakeClosure:
		if !onlyCalled(i) {
			// Somebody calls it; with what arguments is not known.
			fn := i.Fn.(*ssa.Function)
			e.callee(b, i, fn, nil, i.Bindings, fn.Pos())
		}
	}
}

// onlyCalled tells whether every use of a closure is a call of it.
func onlyCalled(mc *ssa.MakeClosure) bool {
	for _, ref := range *mc.Referrers() {
		c, ok := ref.(ssa.CallInstruction)
		if !ok || c.Common().Value != mc || slices.Contains(c.Common().Args, ssa.Value(mc)) {
			return false
		}
	}
	return true
}

func (b *body) forbid(pos token.Pos, what string) {
	b.impure = append(b.impure, Impurity{What: what, pos: pos})
}

func (b *body) access(instr ssa.Instruction, addr ssa.Value, ls []loc, write bool, pos token.Pos) {
	for _, l := range ls {
		if l.root.kind != localRoot {
			b.events = append(b.events, event{instr: instr, root: l.root, path: l.memory(), write: write, addr: addr, pos: pos, exposed: !write})
		}
	}
}

// unknown records that a value is handed to code that is not known.
func (b *body) unknown(instr ssa.Instruction, v ssa.Value, pos token.Pos) {
	if isBasic(v.Type()) {
		return
	}
	for _, l := range b.value(v) {
		if l.root.kind != localRoot {
			b.events = append(b.events, event{instr: instr, root: l.root, path: l.memory(), unknown: true, pos: pos})
		}
	}
}

func (e *effects) call(b *body, instr ssa.Instruction, c *ssa.CallCommon, pos token.Pos) {
	switch f := c.Value.(type) {
	case *ssa.Builtin:
		b.builtin(instr, f.Name(), c.Args, pos)
		return
	case *ssa.MakeClosure:
		e.callee(b, instr, f.Fn.(*ssa.Function), c.Args, f.Bindings, pos)
		return
	}
	if fn := c.StaticCallee(); fn != nil {
		e.callee(b, instr, fn, c.Args, nil, pos)
		return
	}
	if c.IsInvoke() {
		if obj := c.Method; obj != nil {
			if what, msg := forbiddenCall(obj); what != "" {
				b.impure = append(b.impure, Impurity{What: what, Message: msg, pos: pos})
				return
			}
		}
		b.unknown(instr, c.Value, pos)
	}
	for _, a := range c.Args {
		b.unknown(instr, a, pos)
	}
}

func (b *body) builtin(instr ssa.Instruction, name string, args []ssa.Value, pos token.Pos) {
	switch name {
	case "copy":
		b.access(instr, nil, b.value(args[1]), false, pos)
		b.access(instr, nil, b.value(args[0]), true, pos)
	case "clear", "delete":
		b.access(instr, nil, b.value(args[0]), true, pos)
	case "append":
		if s, ok := args[0].(*ssa.Slice); ok && s.Max != nil {
			return // x[:n:n] makes append copy
		}
		b.access(instr, nil, b.value(args[0]), true, pos)
		if len(args) > 1 {
			b.access(instr, nil, b.value(args[1]), false, pos)
		}
	case "print", "println":
		b.forbid(pos, "calls "+name)
	case "close":
		b.forbid(pos, "closes a channel")
	case "recover":
	}
}

// callee records what a call of a known function does.
func (e *effects) callee(b *body, instr ssa.Instruction, fn *ssa.Function, args, bindings []ssa.Value, pos token.Pos) {
	obj, _ := fn.Object().(*types.Func)
	if obj != nil {
		if what, msg := forbiddenCall(obj); what != "" {
			b.impure = append(b.impure, Impurity{What: what, Message: msg, pos: pos})
			return
		}
		if method := groupCall(obj); method != "" {
			e.group(b, instr, method, args, pos)
			return
		}
	}
	eff, name := e.effectsOf(fn, obj)
	if eff == nil {
		if obj != nil && standardCall(b, instr, obj, args, pos) {
			return
		}
		for _, a := range args {
			b.unknown(instr, a, pos)
		}
		for _, v := range bindings {
			b.unknown(instr, v, pos)
		}
		return
	}
	for _, imp := range eff.Impure {
		imp.pos = pos
		if name != "" && imp.Chain == "" {
			imp.Chain = name
		} else if name != "" {
			imp.Chain = name + ", " + imp.Chain
		}
		if len(imp.Chain) < 200 {
			b.impure = append(b.impure, imp)
		}
	}
	for _, acc := range eff.Accesses {
		var v ssa.Value
		switch {
		case acc.Param < len(args):
			v = args[acc.Param]
		case args == nil && acc.Param < len(fn.Params):
			continue // a closure called by code that is not known
		case acc.Param-len(fn.Params) < len(bindings) && acc.Param >= len(fn.Params):
			v = bindings[acc.Param-len(fn.Params)]
		default:
			continue
		}
		for _, l := range b.value(v) {
			b.reached(l, acc.Path, 0, func(r root, path string) {
				b.events = append(b.events, event{instr: instr, root: r, path: path, write: acc.Write,
					unknown: acc.Unknown, pos: pos, via: name, exposed: acc.Exposed})
			})
		}
	}
	for _, g := range eff.Globals {
		b.events = append(b.events, event{instr: instr, root: root{kind: globalRoot, v: namedGlobal{name: g}}, write: true, pos: pos,
			via: name, whole: slices.Contains(eff.Sets, g)})
	}
	for _, g := range eff.Reads {
		b.events = append(b.events, event{instr: instr, root: root{kind: globalRoot, v: namedGlobal{name: g}}, pos: pos, via: name})
	}
}

// reached follows a path from a value to the memory that it names outside of
// the function; what locals hold is looked up in the stores into them.
func (b *body) reached(l loc, path string, depth int, found func(root, string)) {
	if l.addr {
		if path == "" || path[0] != '*' {
			return
		}
		path = path[1:]
	}
	path = extend(l.path, path)
	if l.root.kind != localRoot {
		found(l.root, path)
		return
	}
	if depth > 4 {
		return
	}
	for _, st := range b.stores[l.root.v] {
		for _, to := range b.value(st.Addr) {
			rest, ok := strings.CutPrefix(path, to.memory())
			if to.root != l.root || !ok || rest == "" {
				continue
			}
			for _, val := range b.value(st.Val) {
				b.reached(val, rest, depth+1, found)
			}
		}
	}
}

// namedGlobal is a package variable of which only the name is known.
type namedGlobal struct {
	ssa.Value
	name string
}

func (g namedGlobal) Name() string { return g.name }

// effectsOf returns what fn does, and its name with its place for messages.
func (e *effects) effectsOf(fn *ssa.Function, obj *types.Func) (*Effects, string) {
	if o := fn.Origin(); o != nil {
		fn = o
	}
	name := ""
	if obj != nil {
		name = obj.Name()
		if p := e.fset.Position(obj.Pos()); p.IsValid() {
			name = fmt.Sprintf("%s at %s:%d", name, filepath.Base(p.Filename), p.Line)
		}
	}
	if fn.Blocks != nil {
		if b := e.of(fn); b != nil {
			return b.effects, name
		}
		return &Effects{}, name // recursion
	}
	if obj == nil {
		return nil, name
	}
	return e.known(obj.Origin()), name
}

// positionOf is where an address is written in the source.
func positionOf(addr ssa.Value, pos token.Pos) token.Pos {
	if addr != nil && addr.Pos().IsValid() {
		switch addr.(type) {
		case *ssa.IndexAddr, *ssa.FieldAddr:
			return addr.Pos()
		}
	}
	if pos.IsValid() {
		return pos
	}
	if addr != nil {
		return addr.Pos()
	}
	return token.NoPos
}
