package annotations

import (
	"slices"

	"golang.org/x/tools/go/ssa"
)

// passGuard translates a set of parameters that decide about an access in a callee into the
// caller's parameters. decided means that one of the arguments is a constant. The analysis
// does not evaluate whether the access then happens.
func (b *body) passGuard(c *target, guard uint64) (mask uint64, decided bool) {
	for i, v := range c.vals {
		if i < 64 && guard&(1<<i) != 0 {
			if _, ok := v.(*ssa.Const); ok {
				return 0, true
			}
			mask |= b.deps(v, 0)
		}
	}
	return mask, false
}

// deps returns the parameters on which a value depends, as a bit mask.
func (b *body) deps(v ssa.Value, depth int) uint64 {
	if depth > 6 {
		return 0
	}
	switch v := v.(type) {
	case *ssa.Parameter:
		if i := slices.Index(b.fn.Params, v); i >= 0 && i < 64 {
			return 1 << i
		}
	case *ssa.BinOp:
		return b.deps(v.X, depth+1) | b.deps(v.Y, depth+1)
	case *ssa.UnOp:
		return b.deps(v.X, depth+1)
	case *ssa.Convert:
		return b.deps(v.X, depth+1)
	case *ssa.ChangeType:
		return b.deps(v.X, depth+1)
	case *ssa.Phi:
		var mask uint64
		for _, edge := range v.Edges {
			mask |= b.deps(edge, depth+2)
		}
		return mask
	}
	return 0
}

// guards returns the parameters that decide whether an instruction runs. It ignores the
// conditions of loops.
func (b *body) guards(instr ssa.Instruction) uint64 {
	var mask uint64
	block := instr.Block()
	for d := block.Idom(); d != nil; d = d.Idom() {
		cond, ok := d.Instrs[len(d.Instrs)-1].(*ssa.If)
		if !ok || b.flow.reach(block, true)[d] && !b.flow.reach(d.Succs[1], true)[d] {
			continue // the condition of a loop around the instruction
		}
		for _, s := range d.Succs {
			if s.Dominates(block) && len(s.Preds) == 1 {
				mask |= b.deps(cond.Cond, 0)
			}
		}
	}
	return mask
}
