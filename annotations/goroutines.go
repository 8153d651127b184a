package annotations

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// The goroutines of a task have to end before the task does. A later write would be lost, or
// become part of the next section. The analysis recognises the end only of goroutines that a
// group starts and awaits in one function.

// groupCall returns the name of f if f is a method of a group of goroutines. Otherwise it
// returns "".
func groupCall(f *types.Func) string {
	if f.Pkg() == nil || f.Signature().Recv() == nil {
		return ""
	}
	switch f.Pkg().Path() + "." + LocalName(f) {
	case "sync.WaitGroup.Go", "golang.org/x/sync/errgroup.Group.Go":
		return "Go"
	case "sync.WaitGroup.Wait", "golang.org/x/sync/errgroup.Group.Wait":
		return "Wait"
	case "sync.WaitGroup.Add", "sync.WaitGroup.Done":
		return f.Name()
	}
	return ""
}

// group records the effect of calling a method of a group of goroutines.
func (e *effects) group(b *body, instr ssa.Instruction, method string, args []ssa.Value, pos token.Pos) {
	if method != "Go" {
		return
	}
	if !b.awaited(instr, args[0]) {
		b.forbid(pos, "starts a goroutine that may outlive it: call Wait of the same sync.WaitGroup on every way to its end")
	}
	list, rest := e.callees(b, &ssa.CallCommon{Value: args[1]})
	for i := range list {
		e.callee(b, instr, &list[i], len(list) > 1 || rest != "", pos)
	}
	if rest != "" {
		for _, l := range b.reach(b.value(args[1])) {
			b.events = append(b.events, event{instr: instr, root: l.root, path: l.path, unknown: true, into: rest + " at " + lineOf(b.fset, pos), pos: pos})
		}
	}
}

// awaited reports whether every path from the instruction to the end of the function waits for
// the group.
func (b *body) awaited(start ssa.Instruction, group ssa.Value) bool {
	waits := func(i ssa.Instruction) bool {
		c, ok := i.(ssa.CallInstruction)
		if !ok {
			return false
		}
		fn := c.Common().StaticCallee()
		if fn == nil {
			return false
		}
		obj, _ := fn.Object().(*types.Func)
		return obj != nil && groupCall(obj) == "Wait" && b.same(c.Common().Args[0], group)
	}
	for _, block := range b.fn.Blocks {
		for _, i := range block.Instrs {
			if _, ok := i.(*ssa.Defer); ok && waits(i) && b.flow.dominates(i, start) {
				return true
			}
		}
	}
	seen := map[*ssa.BasicBlock]bool{}
	var ends func(block *ssa.BasicBlock, from int) bool // reports whether a path ends without waiting
	ends = func(block *ssa.BasicBlock, from int) bool {
		for _, i := range block.Instrs[from:] {
			if waits(i) {
				return false
			}
			if _, ok := i.(*ssa.Return); ok {
				return true
			}
		}
		return slices.ContainsFunc(block.Succs, func(s *ssa.BasicBlock) bool {
			if seen[s] {
				return false
			}
			seen[s] = true
			return ends(s, 0)
		})
	}
	return !ends(start.Block(), b.flow.index[start]+1)
}

// same reports whether two values are certainly the address of one variable of this
// function.
func (b *body) same(x, y ssa.Value) bool {
	p, q := b.value(x), b.value(y)
	return len(p) == 1 && slices.Equal(p, q) && p[0].root.kind == localRoot
}
