package annotations

import (
	"cmp"
	"fmt"
	"go/token"
	"go/types"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// Memory is named by a path from a root. The steps of a path are ".f" for the field f, and "*"
// for the target of a pointer or the contents of a slice, map or interface. An index is not a
// step. For a parameter g *Grid, "*.z*" names the elements of the slice g.z, and "*.z" names
// the slice header itself.

type rootKind uint8

const (
	paramRoot  rootKind = iota + 1 // a parameter of the function; it has a number
	freeRoot                       // a captured variable; it has a number
	globalRoot                     // a package variable
	localRoot                      // memory made in this function
)

type root struct {
	kind rootKind
	n    int
	v    ssa.Value
}

// event is an access to memory by an instruction.
type event struct {
	instr   ssa.Instruction
	root    root
	path    string
	write   bool
	unknown bool   // unknown code may read and write the memory
	into    string // the unknown code, and its call site
	maybe   bool   // the access may be to other memory, or may not happen
	guard   uint64
	addr    ssa.Value
	pos     token.Pos
	via     string // the called function that makes the access; "" if this function does
	exposed bool   // the event is a read that certainly may happen before the first write
	whole   bool   // a callee sets the package variable as a whole
}

// set reports whether the event writes a whole variable, or a field of it.
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

// Access is an access of a function to memory of its caller.
type Access struct {
	Param   int // number of the parameter, the receiver first; captured variables follow
	Path    string
	Write   bool
	Exposed bool   // the memory is read before it is written
	Unknown bool   // the memory is passed on to unknown code
	Into    string // the unknown code, and its call site
	Maybe   bool   // the access is not certain
	// Guard contains a bit for each parameter that decides whether the access happens.
	Guard uint64
}

// Flow describes one part of a value that a function makes: it is memory of the caller, or a
// copy of such memory.
type Flow struct {
	Result int    // number of the result; unused for a store
	At     string // the part, as a path from the value
	Param  int    // number as in Access; or one of the kinds below
	Global string // name of a package variable
	Path   string
	Addr   bool // the part is the address of Path, and not a copy of its contents
	Any    bool // the part may also be anything that is reachable from there
}

const (
	freshFlow  = -1 // new memory
	globalFlow = -2
)

// Stored means that a function stores a value in memory of its caller.
type Stored struct {
	Param int
	Path  string // path of that memory
	Any   bool
	Flow  Flow
}

// Impurity is an action that a task must not perform.
type Impurity struct {
	What    string // description, like "calls time.Now" or "ranges over a map"
	Message bool   // the action is message passing
	Maybe   bool   // not certain: the action is in a library, which may never perform it
	Chain   string // call chain, if the action is in a called function
	pos     token.Pos
}

// Effects contains the known effects of a function. It is part of a fact, so all its lists are
// sorted.
type Effects struct {
	Func     string // name of the function within the package
	Accesses []Access
	Globals  []string // package variables written
	Sets     []string // package variables that are written as a whole, or in a field
	Reads    []string // package variables read
	Results  []Flow
	Stores   []Stored
	Calls    []int // parameters that are or contain functions which this function calls
	Impure   []Impurity

	// Unknown describes code or memory that the analysis could not follow, with its place; ""
	// if it has followed all that the function does.
	Unknown string
}

// effects computes the effects of the functions of one package.
type effects struct {
	pkg    *ssa.Package
	fset   *token.FileSet
	known  func(*types.Func) *Effects // returns the effects of a function of another package; nil if they are unknown
	kernel func(*types.Func) bool     // reports whether a function is a kernel
	ours   func(path string) bool     // reports whether a package is in the same module
	memo   map[*ssa.Function]*body

	open, recursive map[*ssa.Function]bool
	rounds          map[*ssa.Function]int
	order           []*ssa.Function // functions in the order in which their analysis began
	limits          limits
}

// body is the analysis of one function's body.
type body struct {
	fn      *ssa.Function
	fset    *token.FileSet
	events  []event
	impure  []Impurity
	calls   []int
	unknown string // as in Effects
	effects *Effects
	values  map[ssa.Value][]loc
	cells   map[root][]cell
	changed bool
	size    int  // number of values and cells
	opaque  bool // the body is too large to follow
	flow    *flow
}

// of returns the analysis of fn. It returns nil if fn has no body. If fn is being analysed
// (recursion), it returns the present, incomplete result, and records that this result was
// used.
func (e *effects) of(fn *ssa.Function) *body {
	if o := fn.Origin(); o != nil {
		fn = o
	}
	if b, ok := e.memo[fn]; ok {
		if e.open[fn] {
			e.recursive[fn] = true
		}
		return b
	}
	if fn.Blocks == nil {
		return nil
	}
	var known *body
	e.open[fn] = true
	for {
		from := len(e.order)
		e.order = append(e.order, fn)
		e.rounds[fn]++
		e.memo[fn] = &body{fn: fn, fset: e.fset, effects: &Effects{}}
		if known != nil {
			e.memo[fn] = known
		}
		b := e.compute(fn)
		stable := !e.recursive[fn] || known != nil && reflect.DeepEqual(b.effects, known.effects)
		known = b
		if stable {
			break
		}
		if e.rounds[fn] >= e.limits.rounds {
			known.unknownToAll()
			break
		}
		for _, f := range e.order[from:] { // these functions may have used an earlier, incomplete result
			if !e.open[f] {
				delete(e.memo, f)
			}
		}
		e.order = e.order[:from]
	}
	delete(e.open, fn)
	delete(e.recursive, fn)
	e.memo[fn] = known
	return known
}

// limits bound the effort. If a function exceeds them, its effects are unknown.
type limits struct {
	rounds   int // evaluations of a recursive function
	size     int // values and cells of a function
	passes   int // passes over a function
	accesses int // accesses in a summary
}

var defaultLimits = limits{rounds: 4, size: 500, passes: 20, accesses: 200}

func (e *effects) compute(fn *ssa.Function) *body {
	b := &body{fn: fn, fset: e.fset, values: map[ssa.Value][]loc{}, cells: map[root][]cell{}, flow: newFlow(fn)}
	e.evaluate(b)
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
	b.summarize(e.limits)
	if b.opaque {
		b.unknownToAll()
	}
	return b
}

// unknownToAll summarises a body that exceeds the limits. Such a function may read and write
// all of its arguments, and no access is certain.
func (b *body) unknownToAll() {
	for i := range b.events {
		b.events[i].maybe = b.events[i].maybe || b.events[i].root.kind != globalRoot
	}
	s := b.effects
	into := b.tooLong()
	s.Unknown = into
	for i := range s.Accesses {
		s.Accesses[i].Maybe = true
	}
	for n := range len(b.fn.Params) + len(b.fn.FreeVars) {
		if n < len(b.fn.Params) && isBasic(b.fn.Params[n].Type()) {
			continue
		}
		s.Accesses = append(s.Accesses, Access{Param: n, Unknown: true, Into: into})
		for i := range b.fn.Signature.Results().Len() {
			if !isBasic(b.fn.Signature.Results().At(i).Type()) {
				s.Results = append(s.Results, Flow{Result: i, Param: freshFlow}, Flow{Result: i, Param: n, Any: true})
			}
		}
		s.Calls = append(s.Calls, n)
	}
	slices.SortFunc(s.Results, compareFlows)
	s.Results = slices.Compact(s.Results)
	first := b.fn.Blocks[0].Instrs[0]
	for _, l := range b.wild() {
		b.events = append(b.events, event{instr: first, root: l.root, unknown: true, into: into, pos: b.fn.Pos()})
	}
}

// tooLong describes a function that exceeds the limits.
func (b *body) tooLong() string {
	return fmt.Sprintf("all of %s at %s, which is too long to follow", b.fn.Name(), lineOf(b.fset, b.fn.Pos()))
}

// lineOf formats a position for messages.
func lineOf(fset *token.FileSet, pos token.Pos) string {
	p := fset.Position(pos)
	return fmt.Sprintf("%s:%d", filepath.Base(p.Filename), p.Line)
}

// summarize computes the effects for callers of the function.
func (b *body) summarize(l limits) {
	s := &Effects{}
	for i := range b.events {
		ev := &b.events[i]
		switch ev.root.kind {
		case paramRoot, freeRoot:
			n := ev.root.n
			if ev.root.kind == freeRoot {
				n += len(b.fn.Params)
			}
			s.Accesses = append(s.Accesses, Access{Param: n, Path: ev.path, Write: ev.write, Exposed: ev.exposed, Unknown: ev.unknown, Into: ev.into, Maybe: ev.maybe, Guard: ev.guard | b.guards(ev.instr)})
		case globalRoot:
			name := globalName(ev.root.v)
			if ev.maybe || ev.unknown {
				b.unfollowed("what it does with the package variable " + name)
				break
			}
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
			compareBool(x.Exposed, y.Exposed), compareBool(x.Unknown, y.Unknown), compareBool(x.Maybe, y.Maybe), cmp.Compare(x.Guard, y.Guard), cmp.Compare(x.Into, y.Into))
	})
	s.Accesses = slices.Compact(s.Accesses)
	if len(s.Accesses) > l.accesses {
		for i, a := range s.Accesses {
			s.Accesses[i] = Access{Param: a.Param, Unknown: true, Into: b.tooLong()}
		}
		s.Accesses = slices.Compact(s.Accesses)
	}
	for _, names := range []*[]string{&s.Globals, &s.Sets, &s.Reads} {
		slices.Sort(*names)
		*names = slices.Compact(*names)
	}
	b.flows(s)
	slices.Sort(b.calls)
	s.Calls = slices.Compact(b.calls)
	slices.SortFunc(s.Impure, func(x, y Impurity) int {
		return cmp.Or(cmp.Compare(x.What, y.What), cmp.Compare(x.Chain, y.Chain), compareBool(x.Maybe, y.Maybe))
	})
	s.Impure = slices.Compact(s.Impure)
	s.Unknown = b.unknown
	b.effects = s
}

// unfollowed records something that the analysis cannot follow. The first one is kept.
func (b *body) unfollowed(what string) {
	if b.unknown == "" {
		b.unknown = what
	}
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
