package annotations

import (
	"cmp"
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// loc says what a part of a value may be: a copy of what is at path (addr
// false), or the address of path (addr true). The part is a path from the
// value: "" is the value itself, ".s*" what its field s points to, "#1" the
// second of several results. With any it may be anything that is reached from
// there, too.
type loc struct {
	at   string
	root root
	path string
	addr bool
	any  bool
}

// cell is a part of memory into which a function stores a value, at any time.
type cell struct {
	path string
	any  bool // or anything behind path
	val  loc
}

// memory is the path of what the value points to.
func (l loc) memory() string {
	if l.addr {
		return l.path
	}
	return l.path + "*"
}

// Bounds of what is told apart; what is beyond counts as any.
const (
	maxSteps = 12
	maxLocs  = 24
	maxFlows = 48
)

// to returns l with another path.
func (l loc) to(path string, addr bool) loc {
	if l.any {
		return l
	}
	if steps := strings.Count(path, ".") + strings.Count(path, "*"); steps > maxSteps || repeats(path) {
		return loc{at: l.at, root: l.root, path: l.path, addr: l.addr, any: true}
	}
	return loc{at: l.at, root: l.root, path: path, addr: addr}
}

// repeats tells whether a path passes the same field behind a pointer for the
// third time, as a walk through a list does.
func repeats(path string) bool {
	i := strings.LastIndexByte(path, '.')
	return i >= 0 && strings.Count(path, strings.TrimRight(path[i:], "*")+"*") > 2
}

// under returns the part of a part: the loc of at+rest of a value of which l is
// the part at.
func (l loc) under(prefix string) loc {
	l.at = prefix + l.at
	if strings.Count(l.at, ".")+strings.Count(l.at, "*") > maxSteps {
		l.at, l.any = prefix[:strings.IndexAny(prefix+"*", ".*")], true
	}
	return l
}

func compareLocs(x, y loc) int {
	if c := cmp.Or(cmp.Compare(x.root.kind, y.root.kind), cmp.Compare(x.root.n, y.root.n), cmp.Compare(x.at, y.at)); c != 0 {
		return c
	}
	if x.root.v != y.root.v {
		if c := cmp.Compare(x.root.v.Name(), y.root.v.Name()); c != 0 {
			return c
		}
		return cmp.Compare(fmt.Sprintf("%p", x.root.v), fmt.Sprintf("%p", y.root.v))
	}
	return cmp.Or(cmp.Compare(x.path, y.path), compareBool(x.addr, y.addr), compareBool(x.any, y.any))
}

func fresh(v ssa.Value) []loc { return []loc{{root: root{kind: localRoot, v: v}, addr: true}} }

// evaluate finds what the values of the body may be, until nothing is added.
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
				case *ssa.Call:
					b.set(i, e.transfer(b, i))
				case ssa.CallInstruction: // go and defer
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

// set adds to what a value may be.
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

// normal sorts locs. Of too many, any of their roots is left.
func normal(ls []loc) []loc {
	slices.SortFunc(ls, compareLocs)
	ls = slices.Compact(ls)
	if len(ls) <= maxLocs {
		return ls
	}
	var few []loc
	for _, l := range ls {
		at := l.at[:max(0, strings.IndexAny(l.at+"*", ".*"))]
		few = append(few, loc{at: at, root: l.root, any: true})
	}
	slices.SortFunc(few, compareLocs)
	return slices.Compact(few)
}

// put notes that a value is stored where addr points to.
func (b *body) put(addr, val []loc) {
	for _, a := range addr {
		if a.at != "" {
			continue // new memory, which is there under its own name, too
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

// value returns what v may be.
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
	case *ssa.Phi:
		var ls []loc
		for _, edge := range v.Edges {
			ls = append(ls, b.value(edge)...)
		}
		return ls
	case *ssa.Convert:
		if isBasic(v.X.Type()) {
			if u, ok := v.Type().Underlying().(*types.Basic); ok && u.Kind() == types.UnsafePointer {
				return b.wild() // a pointer made of a number
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

// wild is a pointer of unknown origin.
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

// tuple returns the locs as a part of a tuple, if it is one.
func tuple(ls []loc, is bool, part string) []loc {
	if !is {
		return ls
	}
	out := slices.Clone(ls)
	for i := range out {
		out[i] = out[i].under(part)
	}
	return out
}

// field returns what a field of a value may be.
func field(ls []loc, step string) []loc {
	var out []loc
	for _, l := range ls {
		switch rest, ok := cutPath(l.at, step); {
		case l.at == "" && (l.any || step[0] == '#'):
			out = append(out, l)
		case l.at == "" && !l.addr:
			out = append(out, l.to(l.path+step, false))
		case ok:
			l.at = rest
			out = append(out, l)
		}
	}
	return out
}

// cutPath cuts a path off the beginning of another one.
func cutPath(path, prefix string) (string, bool) {
	rest, ok := strings.CutPrefix(path, prefix)
	return rest, ok && (rest == "" || strings.IndexByte(".*#", rest[0]) >= 0)
}

// fieldAddr returns what the address of a field may be.
func fieldAddr(ls []loc, step string) []loc {
	var out []loc
	for _, l := range ls {
		switch rest, ok := cutPath(l.at, "*"+step); {
		case l.at == "":
			out = append(out, l.to(l.memory()+step, true))
		case ok:
			l.at = "*" + rest
			out = append(out, l)
		}
	}
	return out
}

// addresses returns what the address of an element may be.
func addresses(ls []loc) []loc {
	out := slices.Clone(ls)
	for i, l := range out {
		if l.at == "" {
			out[i] = l.to(l.memory(), true)
		}
	}
	return out
}

// load returns what is read from an address.
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

// contents returns what is stored into memory, whenever that is.
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

// anything returns all that is stored into memory of this function.
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

// steps splits a path.
func steps(path string) []string {
	var list []string
	for path != "" {
		n := 1
		for path[0] != '*' && n < len(path) && strings.IndexByte(".*#", path[n]) < 0 {
			n++
		}
		list, path = append(list, path[:n]), path[n:]
	}
	return list
}

// place follows a path of memory from a value, and returns pointers to it. If
// the path names no memory, but a part of the value, it returns the part.
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

// targets is what an access to memory may hit.
type targets struct {
	list  []loc // root and path, any
	local bool  // or memory of this function
}

// certain: it is one memory, and nothing else.
func (t targets) certain() bool { return len(t.list) == 1 && !t.list[0].any && !t.local }

// hit returns the memory that pointers point to.
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

// reach returns all memory that is reached from values and is not of this function.
func (b *body) reach(ls []loc) []loc {
	out, _ := b.reachAll(ls)
	return out
}

// reachAll also returns the memory of this function that is passed on the way.
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
		path := l.path // of a copy, too: it may hold pointers
		l = loc{root: l.root, path: path, any: true, addr: true}
		if seen[l] {
			return
		}
		seen[l] = true
		out = append(out, l)
		for _, c := range b.cells[l.root] { // what was stored there
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

// flows notes what the function's results and the memory that it is given hold
// at its end.
func (b *body) flows(s *Effects) {
	for _, block := range b.fn.Blocks {
		ret, ok := block.Instrs[len(block.Instrs)-1].(*ssa.Return)
		if !ok {
			continue
		}
		for i, v := range ret.Results {
			if !isBasic(v.Type()) {
				for _, f := range b.expand(b.value(v)) {
					f.Result = i
					s.Results = append(s.Results, f)
				}
			}
		}
	}
	for r, cells := range b.cells {
		if r.kind != paramRoot && r.kind != freeRoot {
			continue
		}
		for _, c := range cells {
			for _, f := range b.expand([]loc{c.val}) {
				s.Stores = append(s.Stores, Stored{b.number(r), c.path, c.any, f})
			}
		}
	}
	if len(s.Results) > maxFlows {
		for i, f := range s.Results {
			s.Results[i] = f.anyOf()
		}
	}
	if len(s.Stores) > maxFlows {
		for i, st := range s.Stores {
			s.Stores[i] = Stored{Param: st.Param, Any: true, Flow: st.Flow.anyOf()}
		}
	}
	slices.SortFunc(s.Results, compareFlows)
	s.Results = slices.Compact(s.Results)
	slices.SortFunc(s.Stores, func(x, y Stored) int {
		return cmp.Or(cmp.Compare(x.Param, y.Param), cmp.Compare(x.Path, y.Path), compareBool(x.Any, y.Any), compareFlows(x.Flow, y.Flow))
	})
	s.Stores = slices.Compact(s.Stores)
}

// anyOf says less: anything of what a parameter reaches.
func (f Flow) anyOf() Flow {
	return Flow{Result: f.Result, Param: f.Param, Global: f.Global, Any: f.Param >= 0}
}

func compareFlows(x, y Flow) int {
	return cmp.Or(cmp.Compare(x.Result, y.Result), cmp.Compare(x.At, y.At), cmp.Compare(x.Param, y.Param), cmp.Compare(x.Global, y.Global),
		cmp.Compare(x.Path, y.Path), compareBool(x.Addr, y.Addr), compareBool(x.Any, y.Any))
}

// number is the number of a parameter or captured variable for callers.
func (b *body) number(r root) int {
	if r.kind == freeRoot {
		return r.n + len(b.fn.Params)
	}
	return r.n
}

// expand describes values for callers: of memory of this function it says what
// is in it.
func (b *body) expand(ls []loc) []Flow {
	var out []Flow
	seen, reached := map[root]bool{}, map[root][]loc{}
	var walk func(ls []loc, depth int)
	walk = func(ls []loc, depth int) {
		for _, l := range ls {
			switch l.root.kind {
			case paramRoot, freeRoot:
				out = append(out, Flow{At: l.at, Param: b.number(l.root), Path: l.path, Addr: l.addr, Any: l.any})
			case globalRoot:
				out = append(out, Flow{At: l.at, Param: globalFlow, Global: globalName(l.root.v), Path: l.path, Addr: l.addr, Any: l.any})
			case localRoot:
				out = append(out, Flow{At: l.at, Param: freshFlow})
				if seen[l.root] || depth > 4 || l.any || len(out) > maxFlows {
					if _, ok := reached[l.root]; !ok {
						reached[l.root] = b.reach([]loc{l})
					}
					for _, r := range reached[l.root] {
						r.at = l.at
						walk([]loc{r}, depth+1)
					}
					continue
				}
				seen[l.root] = true
				for _, c := range b.cells[l.root] {
					if rest, ok := cutPath(c.path, l.path); ok {
						walk([]loc{c.val.under(l.at + "*" + rest)}, depth+1)
					}
				}
				for _, v := range b.contents(l.root, l.path) {
					walk([]loc{v.under(l.at + "*")}, depth+1)
				}
			}
		}
	}
	walk(ls, 0)
	slices.SortFunc(out, compareFlows)
	return slices.Compact(out)
}
