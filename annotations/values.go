package annotations

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// evaluate determines the possible values in the body. It repeats passes over the body until
// nothing changes.
func (e *effects) evaluate(b *body) {
	passes := 0
	for b.changed = true; b.changed; passes++ {
		b.changed = false
		for _, block := range b.fn.Blocks {
			if b.size > e.limits.size || passes > e.limits.passes {
				b.values, b.cells, b.opaque = map[ssa.Value][]loc{}, map[root][]cell{}, true
				return
			}
			for _, instr := range block.Instrs {
				switch i := instr.(type) {
				case *ssa.Store:
					if !isBasic(i.Val.Type()) {
						b.put(b.value(i.Addr), b.value(i.Val))
					}
				case *ssa.MapUpdate:
					b.put(b.value(i.Map), b.value(i.Value))
					b.put(b.value(i.Map), b.value(i.Key))
				case *ssa.Send:
					b.put(b.value(i.Chan), b.value(i.X))
				case *ssa.Call:
					b.set(i, e.transfer(b, i))
				case ssa.CallInstruction: // go and defer statements
					e.transfer(b, i)
				case ssa.Value:
					if !isBasic(i.Type()) {
						b.set(i, b.compute(i))
					}
				}
			}
		}
	}
}

// set adds possible values of v.
func (b *body) set(v ssa.Value, ls []loc) {
	if len(ls) == 0 {
		return
	}
	old := b.values[v]
	all := normal(append(slices.Clip(old), ls...))
	if !slices.Equal(old, all) {
		b.values[v], b.changed = all, true
		b.size += len(all) - len(old)
	}
}

// put records that a value is stored at the target of addr.
func (b *body) put(addr, val []loc) {
	for _, a := range addr {
		if a.at != "" {
			continue // new memory is also represented by itself
		}
		path := a.memory()
		if a.any {
			path = a.path
		}
		for _, v := range val {
			c := cell{path, a.any, v}
			if !slices.Contains(b.cells[a.root], c) {
				b.cells[a.root] = append(b.cells[a.root], c)
				b.changed = true
				b.size++
			}
		}
	}
}

// value returns the possible values of v.
func (b *body) value(v ssa.Value) []loc {
	switch v := v.(type) {
	case *ssa.Parameter:
		if i := slices.Index(b.fn.Params, v); i >= 0 && !isBasic(v.Type()) {
			return []loc{{root: root{kind: paramRoot, n: i}}}
		}
		return nil
	case *ssa.FreeVar:
		return []loc{{root: root{kind: freeRoot, n: slices.Index(b.fn.FreeVars, v)}}}
	case *ssa.Global:
		return []loc{{root: root{kind: globalRoot, v: v}, addr: true}}
	case *ssa.Function:
		return fresh(v)
	}
	return b.values[v]
}

func (b *body) compute(v ssa.Value) []loc {
	switch v := v.(type) {
	case *ssa.Alloc, *ssa.MakeSlice, *ssa.MakeMap, *ssa.MakeChan:
		return fresh(v)
	case *ssa.MakeClosure:
		self := fresh(v)
		for _, bind := range v.Bindings {
			b.put(self, b.value(bind))
		}
		return self
	case *ssa.FieldAddr:
		return fieldAddr(b.value(v.X), "."+fieldName(v.X.Type(), v.Field))
	case *ssa.Field:
		return field(b.value(v.X), "."+fieldName(v.X.Type(), v.Field))
	case *ssa.IndexAddr:
		return addresses(b.value(v.X))
	case *ssa.Slice:
		return addresses(b.value(v.X))
	case *ssa.SliceToArrayPointer:
		return addresses(b.value(v.X))
	case *ssa.Index:
		return b.value(v.X)
	case *ssa.Lookup:
		return tuple(b.load(b.value(v.X)), v.CommaOk, "#0")
	case *ssa.Next:
		loaded := b.load(b.value(v.Iter))
		return append(tuple(loaded, true, "#1"), tuple(loaded, true, "#2")...)
	case *ssa.UnOp:
		switch v.Op {
		case token.MUL:
			return b.load(b.value(v.X))
		case token.ARROW:
			return tuple(b.load(b.value(v.X)), v.CommaOk, "#0")
		}
	case *ssa.Select:
		return b.choose(v)
	case *ssa.Phi:
		var ls []loc
		for _, edge := range v.Edges {
			ls = append(ls, b.value(edge)...)
		}
		return ls
	case *ssa.Convert:
		if isBasic(v.X.Type()) {
			if u, ok := v.Type().Underlying().(*types.Basic); ok && u.Kind() == types.UnsafePointer {
				return b.wild() // the pointer was made from a number
			}
			return fresh(v) // the bytes of a string
		}
		return b.value(v.X)
	case *ssa.TypeAssert:
		return tuple(b.value(v.X), v.CommaOk, "#0")
	case *ssa.ChangeType, *ssa.MultiConvert, *ssa.ChangeInterface, *ssa.MakeInterface, *ssa.Range:
		return b.value(*v.(ssa.Instruction).Operands(nil)[0])
	case *ssa.Extract:
		return field(b.value(v.Tuple), fmt.Sprintf("#%d", v.Index))
	}
	return nil
}

// choose returns the results of a select statement, and records the values that it may send.
func (b *body) choose(v *ssa.Select) (ls []loc) {
	received := 2 // received values follow the index and ok
	for _, st := range v.States {
		if st.Dir == types.SendOnly {
			b.put(b.value(st.Chan), b.value(st.Send))
			continue
		}
		ls = append(ls, tuple(b.load(b.value(st.Chan)), true, fmt.Sprintf("#%d", received))...)
		received++
	}
	return ls
}

// wild returns the locations to which a pointer of unknown origin may point.
func (b *body) wild() []loc {
	var ls []loc
	for i, p := range b.fn.Params {
		if !isBasic(p.Type()) {
			ls = append(ls, loc{root: root{kind: paramRoot, n: i}, any: true})
		}
	}
	for i := range b.fn.FreeVars {
		ls = append(ls, loc{root: root{kind: freeRoot, n: i}, any: true})
	}
	return ls
}

// load returns the possible results of a read from an address.
func (b *body) load(ls []loc) []loc {
	var out []loc
	for _, l := range ls {
		rest, ok := cutPath(l.at, "*")
		switch {
		case l.at == "" && l.any:
			out = append(append(out, l), b.anything(l.root)...)
		case l.at == "":
			if l.root.kind != localRoot {
				out = append(out, l.to(l.memory(), false))
			}
			out = append(out, b.contents(l.root, l.memory())...)
		case ok:
			l.at = rest
			out = append(out, l)
		}
	}
	return normal(out)
}

// contents returns the values that the function may have stored at a path of memory.
func (b *body) contents(r root, path string) []loc {
	var out []loc
	for _, c := range b.cells[r] {
		if rest, ok := cutPath(path, c.path); ok {
			switch {
			case c.any:
				v := c.val
				v.at, v.any = "", true
				out = append(out, v)
			case rest == "" || rest[0] == '.':
				part := []loc{c.val}
				for _, step := range steps(rest) {
					part = field(part, step)
				}
				out = append(out, part...)
			}
		} else if rest, ok := cutPath(c.path, path); ok && rest[0] == '.' {
			out = append(out, c.val.under(rest))
		}
	}
	return out
}

// anything returns all values that are stored in memory made by this function.
func (b *body) anything(r root) []loc {
	if r.kind != localRoot {
		return nil
	}
	var out []loc
	for _, c := range b.cells[r] {
		v := c.val
		v.at, v.any = "", true
		out = append(out, v)
	}
	return out
}

// place follows a path of memory from a value. It returns pointers to the memory at its end.
// If the path does not lead to memory, but to a part of the value, it returns that part.
func (b *body) place(ls []loc, path string) (at []loc, memory bool) {
	for _, step := range steps(path) {
		switch {
		case step == "*" && memory:
			ls = b.load(ls)
		case step == "*":
			memory = true
		case memory:
			ls = fieldAddr(ls, step)
		default:
			ls = field(ls, step)
		}
	}
	return ls, memory
}

// targets is the memory to which an access may be.
type targets struct {
	list  []loc // memory at root and path; with any, also what is reachable from there
	local bool  // the access may also be to memory of this function
}

// certain reports whether the access is to exactly one known location.
func (t targets) certain() bool { return len(t.list) == 1 && !t.list[0].any && !t.local }

// hit returns the memory to which pointers point.
func (b *body) hit(pointers []loc) targets {
	var t targets
	var wide []loc
	for _, l := range pointers {
		switch {
		case l.at != "":
		case l.any && l.root.kind == localRoot:
			t.local = true
			wide = append(wide, l)
		case l.any:
			t.list = append(t.list, loc{root: l.root, path: l.path, any: true})
		case l.root.kind == localRoot:
			t.local = true
		default:
			m := l.to(l.memory(), true)
			t.list = append(t.list, loc{root: m.root, path: m.path, any: m.any})
		}
	}
	if wide != nil {
		for _, l := range b.reach(wide) {
			t.list = append(t.list, loc{root: l.root, path: l.path, any: true})
		}
	}
	t.list = normal(t.list)
	return t
}

// reach returns all memory that is reachable from values, except memory that this function
// has made.
func (b *body) reach(ls []loc) []loc {
	out, _ := b.reachAll(ls)
	return out
}

// reachAll is like reach. It also returns the memory of this function through which it has
// passed.
func (b *body) reachAll(ls []loc) (out []loc, locals []root) {
	seen, local := map[loc]bool{}, map[root]bool{}
	var walk func(l loc)
	walk = func(l loc) {
		l.at = ""
		if l.root.kind == localRoot {
			if !local[l.root] {
				local[l.root] = true
				locals = append(locals, l.root)
				for _, c := range b.cells[l.root] {
					walk(c.val)
				}
			}
			return
		}
		path := l.path // also for a copy, which may contain pointers
		l = loc{root: l.root, path: path, any: true, addr: true}
		if seen[l] {
			return
		}
		seen[l] = true
		out = append(out, l)
		for _, c := range b.cells[l.root] { // values that were stored there
			if _, ok := cutPath(c.path, path); (ok || c.any) && c.val.root != l.root {
				walk(c.val)
			}
		}
	}
	for _, l := range ls {
		walk(l)
	}
	return normal(out), locals
}
