package annotations

import (
	"cmp"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// Memory is named by a path from a root. The steps of a path are ".f", the
// field f, and "*", what a pointer points to or a slice, map or interface
// holds; an index makes no step. For a parameter g *Grid the elements of the
// slice g.z are "*.z*", and the slice header itself is "*.z".

// maxPath bounds the length of a path: deeper memory counts as its ancestor.
const maxPath = 96

type rootKind uint8

const (
	paramRoot  rootKind = iota + 1 // a parameter of the function, by number
	freeRoot                       // a captured variable, by number
	globalRoot                     // a package variable
	localRoot                      // made in this function
)

type root struct {
	kind rootKind
	n    int
	v    ssa.Value
}

// loc says what a value is: a copy of what is at path (addr false), or the
// address of path (addr true).
type loc struct {
	root root
	path string
	addr bool
}

// memory is the path of what the value points to.
func (l loc) memory() string {
	if l.addr {
		return l.path
	}
	return extend(l.path, "*")
}

func extend(path, step string) string {
	if len(path)+len(step) > maxPath {
		return path
	}
	return path + step
}

// event is one access to memory by an instruction.
type event struct {
	instr   ssa.Instruction
	root    root
	path    string
	write   bool
	unknown bool // may be accessed by code that is not known
	addr    ssa.Value
	pos     token.Pos
	via     string // the function called, when it is not done here
	exposed bool   // a read that certainly may come before the first write
	whole   bool   // of a package variable: a callee sets it
}

// set: a variable is written as a whole, or a field of it.
func (ev *event) set() bool {
	if ev.whole || strings.Contains(ev.path, "*") {
		return ev.whole
	}
	for a := ev.addr; ; {
		switch x := a.(type) {
		case *ssa.Global:
			return true
		case *ssa.FieldAddr:
			a = x.X
		default:
			return false
		}
	}
}

// Access is what a function does to memory that it is given.
type Access struct {
	Param   int // in order, the receiver first; captured variables follow
	Path    string
	Write   bool
	Exposed bool // read before it is written
	Unknown bool // handed on to code that is not known
}

// Impurity is something that a task must not do.
type Impurity struct {
	What    string // "calls time.Now", "ranges over a map"
	Message bool   // it is message passing
	Chain   string // where it happens, if not in the function itself
	pos     token.Pos
}

// Effects is what a function does, as far as it can be seen. It is part of a
// fact, so everything in it is sorted.
type Effects struct {
	Func     string // name within the package
	Accesses []Access
	Globals  []string // package variables written
	Sets     []string // of these, those that are written as a whole, or a field
	Reads    []string // package variables read
	Impure   []Impurity
}

// effects computes the effects of the functions of one package.
type effects struct {
	pkg   *ssa.Package
	fset  *token.FileSet
	known func(*types.Func) *Effects // of other packages; nil if not known
	memo  map[*ssa.Function]*body
}

// body is what is found in one function's body.
type body struct {
	fn      *ssa.Function
	events  []event
	impure  []Impurity
	effects *Effects
	values  map[ssa.Value][]loc
	stores  map[ssa.Value][]*ssa.Store // by the local they store into
	flow    *flow
}

// of returns what fn does; nil while it is being computed (recursion is cut)
// or when there is no body.
func (e *effects) of(fn *ssa.Function) *body {
	if o := fn.Origin(); o != nil {
		fn = o
	}
	if b, ok := e.memo[fn]; ok {
		return b
	}
	e.memo[fn] = nil
	if fn.Blocks == nil {
		return nil
	}
	b := &body{fn: fn, values: map[ssa.Value][]loc{}, stores: map[ssa.Value][]*ssa.Store{}, flow: newFlow(fn)}
	b.collectStores()
	for _, block := range fn.Blocks {
		for _, instr := range block.Instrs {
			e.instr(b, instr)
		}
	}
	for i := range b.events {
		if ev := &b.events[i]; !ev.write && !ev.unknown {
			ev.exposed = ev.exposed && b.exposedRead(ev)
		}
	}
	b.summarize()
	e.memo[fn] = b
	return b
}

func (b *body) collectStores() {
	for _, block := range b.fn.Blocks {
		for _, instr := range block.Instrs {
			st, ok := instr.(*ssa.Store)
			if !ok {
				continue
			}
			base := st.Addr
			for {
				switch a := base.(type) {
				case *ssa.FieldAddr:
					base = a.X
					continue
				case *ssa.IndexAddr:
					base = a.X
					continue
				}
				break
			}
			b.stores[base] = append(b.stores[base], st)
		}
	}
}

// value returns what v may be.
func (b *body) value(v ssa.Value) []loc {
	if ls, ok := b.values[v]; ok {
		return ls
	}
	b.values[v] = nil // cuts cycles
	ls := b.compute(v)
	slices.SortFunc(ls, compareLocs)
	ls = slices.Compact(ls)
	b.values[v] = ls
	return ls
}

func compareLocs(x, y loc) int {
	if c := cmp.Compare(x.root.kind, y.root.kind); c != 0 {
		return c
	}
	if c := cmp.Compare(x.root.n, y.root.n); c != 0 {
		return c
	}
	if x.root.v != y.root.v {
		return cmp.Compare(x.root.v.Name(), y.root.v.Name())
	}
	if c := cmp.Compare(x.path, y.path); c != 0 {
		return c
	}
	if x.addr == y.addr {
		return 0
	} else if x.addr {
		return 1
	}
	return -1
}

func fresh(v ssa.Value) []loc { return []loc{{root: root{kind: localRoot, v: v}, addr: true}} }

func (b *body) compute(v ssa.Value) []loc {
	switch v := v.(type) {
	case *ssa.Parameter:
		for i, p := range b.fn.Params {
			if p == v {
				return []loc{{root: root{kind: paramRoot, n: i}}}
			}
		}
	case *ssa.FreeVar:
		for i, f := range b.fn.FreeVars {
			if f == v {
				return []loc{{root: root{kind: freeRoot, n: i}}}
			}
		}
	case *ssa.Global:
		return []loc{{root: root{kind: globalRoot, v: v}, addr: true}}
	case *ssa.Alloc, *ssa.MakeSlice, *ssa.MakeMap, *ssa.MakeChan:
		return fresh(v)
	case *ssa.FieldAddr:
		var ls []loc
		for _, l := range b.value(v.X) {
			ls = append(ls, loc{l.root, extend(l.memory(), "."+fieldName(v.X.Type(), v.Field)), true})
		}
		return ls
	case *ssa.Field:
		var ls []loc
		for _, l := range b.value(v.X) {
			if !l.addr {
				ls = append(ls, loc{l.root, extend(l.path, "."+fieldName(v.X.Type(), v.Field)), false})
			}
		}
		return ls
	case *ssa.IndexAddr:
		return addresses(b.value(v.X))
	case *ssa.Slice:
		return addresses(b.value(v.X))
	case *ssa.Index:
		return b.value(v.X)
	case *ssa.Lookup:
		return copies(b.value(v.X))
	case *ssa.UnOp:
		if v.Op == token.MUL && !isBasic(v.Type()) {
			return b.load(v.X)
		}
	case *ssa.Phi:
		var ls []loc
		for _, e := range v.Edges {
			ls = append(ls, b.value(e)...)
		}
		return ls
	case *ssa.ChangeType:
		return b.value(v.X)
	case *ssa.Convert:
		if !isBasic(v.Type()) {
			return b.value(v.X)
		}
	case *ssa.MultiConvert:
		return b.value(v.X)
	case *ssa.ChangeInterface:
		return b.value(v.X)
	case *ssa.SliceToArrayPointer:
		return b.value(v.X)
	case *ssa.MakeInterface:
		return b.value(v.X)
	case *ssa.TypeAssert:
		return b.value(v.X)
	case *ssa.Call:
		if bi, ok := v.Call.Value.(*ssa.Builtin); ok && bi.Name() == "append" {
			return append(fresh(v), b.value(v.Call.Args[0])...)
		}
	}
	return nil // not known: nothing is said about it
}

func addresses(ls []loc) []loc {
	out := make([]loc, len(ls))
	for i, l := range ls {
		out[i] = loc{l.root, l.memory(), true}
	}
	return out
}

func copies(ls []loc) []loc {
	out := make([]loc, len(ls))
	for i, l := range ls {
		out[i] = loc{l.root, l.memory(), false}
	}
	return out
}

// load returns what is read from an address. Locals hold what was stored into
// them, whenever that was.
func (b *body) load(addr ssa.Value) []loc {
	var ls []loc
	for _, l := range b.value(addr) {
		if l.root.kind != localRoot {
			ls = append(ls, loc{l.root, l.memory(), false})
			continue
		}
		at := l.memory()
		for _, st := range b.stores[l.root.v] {
			for _, to := range b.value(st.Addr) {
				rest, ok := strings.CutPrefix(at, to.memory())
				if to.root != l.root || !ok {
					continue
				}
				for _, val := range b.value(st.Val) {
					switch {
					case !val.addr:
						ls = append(ls, loc{val.root, extend(val.path, rest), false})
					case rest == "":
						ls = append(ls, val)
					}
				}
			}
		}
	}
	return ls
}

func isBasic(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Kind() != types.UnsafePointer
}

func fieldName(t types.Type, i int) string {
	if p, ok := coreType(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	if st, ok := coreType(t).(*types.Struct); ok {
		return st.Field(i).Name()
	}
	return "?"
}

// summarize makes the effects that callers see.
func (b *body) summarize() {
	s := &Effects{}
	for i := range b.events {
		ev := &b.events[i]
		switch ev.root.kind {
		case paramRoot, freeRoot:
			n := ev.root.n
			if ev.root.kind == freeRoot {
				n += len(b.fn.Params)
			}
			s.Accesses = append(s.Accesses, Access{Param: n, Path: ev.path, Write: ev.write, Exposed: ev.exposed, Unknown: ev.unknown})
		case globalRoot:
			name := globalName(ev.root.v)
			if !ev.write {
				s.Reads = append(s.Reads, name)
				break
			}
			s.Globals = append(s.Globals, name)
			if ev.set() {
				s.Sets = append(s.Sets, name)
			}
		}
	}
	for _, imp := range b.impure {
		imp.pos = token.NoPos
		s.Impure = append(s.Impure, imp)
	}
	slices.SortFunc(s.Accesses, func(x, y Access) int {
		return cmp.Or(cmp.Compare(x.Param, y.Param), cmp.Compare(x.Path, y.Path), compareBool(x.Write, y.Write),
			compareBool(x.Exposed, y.Exposed), compareBool(x.Unknown, y.Unknown))
	})
	s.Accesses = slices.Compact(s.Accesses)
	for _, names := range []*[]string{&s.Globals, &s.Sets, &s.Reads} {
		slices.Sort(*names)
		*names = slices.Compact(*names)
	}
	slices.SortFunc(s.Impure, func(x, y Impurity) int {
		return cmp.Or(cmp.Compare(x.What, y.What), cmp.Compare(x.Chain, y.Chain))
	})
	s.Impure = slices.Compact(s.Impure)
	b.effects = s
}

func compareBool(x, y bool) int {
	switch {
	case x == y:
		return 0
	case y:
		return -1
	}
	return 1
}

func globalName(v ssa.Value) string {
	if g, ok := v.(*ssa.Global); ok && g.Pkg != nil {
		return g.Pkg.Pkg.Name() + "." + g.Name()
	}
	return v.Name()
}
