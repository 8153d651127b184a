package annotations

import (
	"fmt"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"
)

// Control checks the code outside of kernels. Every replica runs this code, and its effects
// must be the same in all replicas. Some values differ between replicas: Control reports them
// if they leave the replica, or become part of its state. It ignores lines that contain
// //intra:allow, or directly follow it.
var Control = &analysis.Analyzer{
	Name: "intracontrol",
	Doc: `find what makes replicas differ outside of kernels

The time, the process-wide random source and p.Replica() differ between the
replicas of a rank, and so does the order of a map. The analyzer reports them
where they reach a message, a kernel, a field of a state type or standard output,
or decide whether one of these is reached. It follows values within a function.
Outside of intra.Once it also reports files that every replica would write.`,
	Requires: []*analysis.Analyzer{Analyzer, buildssa.Analyzer},
	Run:      runControl,
}

// allowDirective suppresses reports of Control.
const allowDirective = "//intra:allow"

func runControl(pass *analysis.Pass) (any, error) {
	if !slices.ContainsFunc(pass.Pkg.Imports(), func(p *types.Package) bool { return p.Path() == IntraPath || p.Path() == commPath }) {
		return nil, nil
	}
	c := &control{pass: pass, kernels: map[types.Object]bool{}, saved: map[*types.Var]bool{}, allowed: map[string]bool{}, reported: map[token.Pos]bool{}}
	for _, f := range pass.ResultOf[Analyzer].(*Package).Files {
		for _, k := range f.Kernels {
			c.kernels[k.Func] = true
		}
		for _, s := range f.States {
			c.saves(s)
		}
	}
	skip := map[*token.File]bool{}
	for _, f := range pass.Files {
		file := pass.Fset.File(f.Package)
		skip[file] = IsGenerated(f) || strings.HasSuffix(file.Name(), "_test.go")
		for _, g := range f.Comments {
			for _, comment := range g.List {
				if word, _, _ := strings.Cut(comment.Text, " "); word == allowDirective {
					c.allowed[c.line(comment.Pos(), 0)], c.allowed[c.line(comment.Pos(), 1)] = true, true
				}
			}
		}
	}
	for _, fn := range pass.ResultOf[buildssa.Analyzer].(*buildssa.SSA).SrcFuncs {
		if fn.Blocks == nil || skip[pass.Fset.File(fn.Pos())] || c.isKernel(fn) || readsOnce(fn) {
			continue
		}
		c.check(fn)
	}
	return nil, nil
}

// control is the state of a run of Control.
type control struct {
	pass    *analysis.Pass
	kernels map[types.Object]bool
	saved   map[*types.Var]bool // fields of state types that are part of the state
	allowed map[string]bool     // lines with allowDirective, as file:line

	reported map[token.Pos]bool // only one report is made for each position
}

func (c *control) saves(s *State) {
	st, ok := s.Type.Type().Underlying().(*types.Struct)
	if !ok {
		return
	}
	for f := range st.Fields() {
		if slices.ContainsFunc(s.Fields, func(x StateField) bool { return x.Name == f.Name() }) {
			c.saved[f] = true
		}
	}
}

func (c *control) isKernel(fn *ssa.Function) bool {
	for ; fn != nil; fn = fn.Parent() {
		if fn.Object() != nil && c.kernels[fn.Object()] {
			return true
		}
	}
	return false
}

// readsOnce reports whether fn runs inside a call of Once, and so on one replica only.
func readsOnce(fn *ssa.Function) bool {
	for ; fn.Parent() != nil; fn = fn.Parent() {
		for _, b := range fn.Parent().Blocks {
			for _, instr := range b.Instrs {
				call, ok := instr.(*ssa.Call)
				if !ok || !isOnce(call) {
					continue
				}
				for _, arg := range call.Call.Args {
					if m, ok := arg.(*ssa.MakeClosure); ok {
						arg = m.Fn
					}
					if arg == fn {
						return true
					}
				}
			}
		}
	}
	return false
}

func isOnce(call *ssa.Call) bool {
	f := targetOf(call)
	return f != nil && f.Pkg() != nil && f.Pkg().Path() == IntraPath && strings.HasPrefix(f.Name(), "Once")
}

// targetOf returns the function or method that a call names. It returns nil if that is
// unknown.
func targetOf(call ssa.CallInstruction) *types.Func {
	if call.Common().IsInvoke() {
		return call.Common().Method
	}
	fn := call.Common().StaticCallee()
	if fn == nil {
		return nil
	}
	if o := fn.Origin(); o != nil {
		fn = o
	}
	f, _ := fn.Object().(*types.Func)
	return f
}

// origin is the reason why a value differs between replicas.
type origin struct {
	what string
	pos  token.Pos
}

// differing describes why the result of a call differs between replicas. It returns "" if the
// result does not differ.
func differing(call *ssa.Call) string {
	f := targetOf(call)
	if f == nil || f.Pkg() == nil {
		return ""
	}
	method := f.Signature().Recv() != nil
	switch f.Pkg().Path() {
	case "time":
		if !method && slices.Contains([]string{"Now", "Since", "Until"}, f.Name()) {
			return "time." + f.Name()
		}
	case "math/rand", "math/rand/v2":
		if !method && !strings.HasPrefix(f.Name(), "New") {
			return "the process-wide random source (" + f.Pkg().Name() + "." + f.Name() + ")"
		}
	case "crypto/rand":
		return "crypto/rand." + f.Name()
	case IntraPath:
		if method && f.Name() == "Replica" {
			return "p.Replica()"
		}
	}
	return ""
}

// slot is a local variable, or a field of one.
type slot struct {
	of    ssa.Value
	field int // number of the field; -1: the whole variable
}

// slotAt returns the local variable to which an address belongs.
func slotAt(addr ssa.Value) (slot, bool) {
	field := -1
	for {
		switch a := addr.(type) {
		case *ssa.Alloc:
			return slot{a, field}, true
		case *ssa.FieldAddr:
			addr, field = a.X, a.Field
		case *ssa.IndexAddr:
			addr, field = a.X, -1
		default:
			return slot{}, false
		}
	}
}

// spread contains the values of one function that differ between replicas.
type spread struct {
	values  map[ssa.Value]*origin
	slots   map[slot]*origin
	changed bool
}

func (s *spread) add(v ssa.Value, o *origin) {
	if o != nil && s.values[v] == nil {
		s.values[v], s.changed = o, true
	}
}

// stored returns the origin of the value that is stored at an address.
func (s *spread) stored(addr ssa.Value) *origin {
	at, ok := slotAt(addr)
	if !ok {
		return nil
	}
	if at.field >= 0 {
		if o := s.slots[at]; o != nil {
			return o
		}
		return s.slots[slot{at.of, -1}]
	}
	for k, o := range s.slots {
		if k.of == at.of {
			return o
		}
	}
	return nil
}

func (s *spread) step(instr ssa.Instruction) {
	switch i := instr.(type) {
	case *ssa.Store:
		if o := s.values[i.Val]; o != nil {
			if at, ok := slotAt(i.Addr); ok && s.slots[at] == nil {
				s.slots[at], s.changed = o, true
			}
		}
		return
	case *ssa.Call:
		if what := differing(i); what != "" {
			s.add(i, &origin{what, i.Pos()})
			return
		}
		if f := targetOf(i); isOnce(i) || f != nil && f.Pkg() != nil && f.Pkg().Path() == commPath {
			return
		}
	case *ssa.UnOp:
		if i.Op == token.MUL {
			s.add(i, s.stored(i.X))
		}
	case *ssa.Slice:
		s.add(i, s.stored(i.X))
	case *ssa.Alloc, *ssa.MakeClosure, *ssa.FieldAddr, *ssa.IndexAddr:
		return
	}
	v, ok := instr.(ssa.Value)
	if !ok {
		return
	}
	for _, p := range instr.Operands(nil) {
		if *p != nil {
			s.add(v, s.values[*p])
		}
	}
}

// check reports the places of a function where a differing value reaches a call, the state, or
// the condition of a branch.
func (c *control) check(fn *ssa.Function) {
	s := &spread{values: map[ssa.Value]*origin{}, slots: map[slot]*origin{}}
	for s.changed = true; s.changed; {
		s.changed = false
		for _, b := range fn.Blocks {
			for _, instr := range b.Instrs {
				s.step(instr)
			}
		}
	}
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			switch i := instr.(type) {
			case *ssa.Call:
				c.writes(i, s)
				if what, from := c.sink(i); what != "" {
					for _, arg := range i.Call.Args[min(from, len(i.Call.Args)):] {
						if o := s.values[arg]; o != nil {
							c.report(i.Pos(), o, what+" gets")
							break
						}
					}
				}
			case *ssa.Store:
				if a, ok := i.Addr.(*ssa.FieldAddr); ok && s.values[i.Val] != nil && c.saved[fieldVar(a)] {
					c.report(i.Pos(), s.values[i.Val], fmt.Sprintf("the field %s, which is part of the state, gets", fieldVar(a).Name()))
				}
			case *ssa.If:
				if o := s.values[i.Cond]; o != nil {
					for k, to := range b.Succs {
						if !leavesLoop(b, to, b.Succs[1-k]) {
							c.branch(to, o, "whether it is called depends on")
						}
					}
				}
			case *ssa.Next:
				if r, ok := i.Iter.(*ssa.Range); ok && !i.IsString {
					if _, ok := r.X.Type().Underlying().(*types.Map); ok && len(b.Succs) > 0 {
						c.branch(b.Succs[0], &origin{"the order of a map", r.Pos()}, "it is called in")
					}
				}
			}
		}
	}
}

// leavesLoop reports whether the edge to one of a block's two successors leaves a loop. The
// code after the loop is reached in any case.
func leavesLoop(from, to, other *ssa.BasicBlock) bool {
	return reaches(other, from) && !reaches(to, from)
}

func reaches(from, to *ssa.BasicBlock) bool {
	seen := map[*ssa.BasicBlock]bool{}
	var walk func(b *ssa.BasicBlock) bool
	walk = func(b *ssa.BasicBlock) bool {
		if b == to {
			return true
		}
		if seen[b] {
			return false
		}
		seen[b] = true
		return slices.ContainsFunc(b.Succs, walk)
	}
	return walk(from)
}

func fieldVar(a *ssa.FieldAddr) *types.Var {
	p, ok := coreType(a.X.Type()).(*types.Pointer)
	if !ok {
		return nil
	}
	st, ok := coreType(p.Elem()).(*types.Struct)
	if !ok {
		return nil
	}
	return st.Field(a.Field)
}

// branch reports effects in code that only the edge to a block reaches.
func (c *control) branch(to *ssa.BasicBlock, o *origin, how string) {
	if len(to.Preds) != 1 {
		return
	}
	for _, b := range to.Parent().Blocks {
		if !to.Dominates(b) {
			continue
		}
		for _, instr := range b.Instrs {
			if call, ok := instr.(*ssa.Call); ok {
				if what, _ := c.sink(call); what != "" {
					c.report(call.Pos(), o, what+": "+how)
					return // one report is enough
				}
			}
		}
	}
}

// sink describes an effect of a call that must be the same on all replicas. It returns "" if
// there is none. first is the number of the first argument that matters.
func (c *control) sink(call *ssa.Call) (what string, first int) {
	f := targetOf(call)
	if f == nil || f.Pkg() == nil {
		return "", 0
	}
	name := f.Pkg().Name() + "." + LocalName(f)
	switch f.Pkg().Path() {
	case commPath:
		if slices.Contains([]string{"Rank", "Size", "Group", "Free"}, f.Name()) {
			return "", 0
		}
		return name, 1
	case IntraPath:
		if f.Name() == "SafePoint" {
			return name, 1
		}
	case "fmt":
		switch {
		case strings.HasPrefix(f.Name(), "Print"):
			return name, 0
		case strings.HasPrefix(f.Name(), "Fprint") && len(call.Call.Args) > 0 && isStdout(call.Call.Args[0]):
			return name + " to standard output", 1
		}
	}
	if c.kernels[f] {
		return "the kernel " + LocalName(f), 0
	}
	return "", 0
}

// isStdout reports whether v is os.Stdout.
func isStdout(v ssa.Value) bool {
	if m, ok := v.(*ssa.MakeInterface); ok {
		v = m.X
	}
	load, ok := v.(*ssa.UnOp)
	if !ok {
		return false
	}
	g, ok := load.X.(*ssa.Global)
	return ok && g.Pkg != nil && g.Pkg.Pkg.Path() == "os" && g.Name() == "Stdout"
}

func (c *control) report(pos token.Pos, o *origin, how string) {
	if c.reported[pos] || c.allowed[c.line(pos, 0)] || c.allowed[c.line(o.pos, 0)] {
		return
	}
	c.reported[pos] = true
	at := c.pass.Fset.Position(o.pos)
	c.pass.Reportf(pos, "%s %s (%s:%d), which differs between the replicas of a rank: let intra.Once read it, or say %s if that is meant",
		how, o.what, filepath.Base(at.Filename), at.Line, allowDirective)
}

// line names the line that is below lines after a position.
func (c *control) line(pos token.Pos, below int) string {
	at := c.pass.Fset.Position(pos)
	return fmt.Sprintf("%s:%d", at.Filename, at.Line+below)
}
