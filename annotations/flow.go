package annotations

import (
	"fmt"
	"go/constant"
	"go/token"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// flow determines the order in which instructions can run.
type flow struct {
	any     map[*ssa.BasicBlock]map[*ssa.BasicBlock]bool // blocks that are reachable over one or more edges
	forward map[*ssa.BasicBlock]map[*ssa.BasicBlock]bool // like any, without edges back to loop heads
	index   map[ssa.Instruction]int
}

func newFlow(fn *ssa.Function) *flow {
	f := &flow{
		any:     map[*ssa.BasicBlock]map[*ssa.BasicBlock]bool{},
		forward: map[*ssa.BasicBlock]map[*ssa.BasicBlock]bool{},
		index:   map[ssa.Instruction]int{},
	}
	for _, b := range fn.Blocks {
		for i, instr := range b.Instrs {
			f.index[instr] = i
		}
	}
	return f
}

func (f *flow) reach(from *ssa.BasicBlock, back bool) map[*ssa.BasicBlock]bool {
	memo := f.forward
	if back {
		memo = f.any
	}
	if seen := memo[from]; seen != nil {
		return seen
	}
	seen := map[*ssa.BasicBlock]bool{}
	work := []*ssa.BasicBlock{from}
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		for _, s := range b.Succs {
			if !seen[s] && (back || !s.Dominates(b)) {
				seen[s] = true
				work = append(work, s)
			}
		}
	}
	memo[from] = seen
	return seen
}

// before reports whether x can run before y. With back, another iteration of a loop may lie
// between them.
func (f *flow) before(x, y ssa.Instruction, back bool) bool {
	if x.Block() == y.Block() && f.index[x] < f.index[y] {
		return true
	}
	return f.reach(x.Block(), back)[y.Block()]
}

// dominates reports whether x runs before y on every path to y.
func (f *flow) dominates(x, y ssa.Instruction) bool {
	if x.Block() == y.Block() {
		return f.index[x] < f.index[y]
	}
	return x.Block().Dominates(y.Block())
}

// exposedRead reports whether a read certainly may happen before the first write of the same
// memory. An earlier write is one that can run before the read, with two exceptions: the read
// precedes it in the same iteration of the loop, and it writes the same element (w[i] += …) or
// an element that the loop reaches earlier (w[i] = w[i+1]).
func (b *body) exposedRead(r *event) bool {
	for i := range b.events {
		w := &b.events[i]
		if !w.write && !w.unknown || w.root != r.root || !overlap(w.path, r.path) || w.instr == r.instr {
			continue
		}
		if b.flow.before(w.instr, r.instr, false) {
			return false
		}
		if b.flow.before(w.instr, r.instr, true) && !(b.flow.dominates(r.instr, w.instr) && sameOrAhead(w.addr, r.addr)) {
			return false
		}
	}
	return true
}

func overlap(p, q string) bool { return strings.HasPrefix(p, q) || strings.HasPrefix(q, p) }

// sameOrAhead reports whether r is the same element as w, or an element that the loop around
// them reaches later.
func sameOrAhead(w, r ssa.Value) bool {
	if w == nil || r == nil {
		return false
	}
	if key(w) == key(r) {
		return true
	}
	wi, ok1 := elementIndex(w)
	ri, ok2 := elementIndex(r)
	if !ok1 || !ok2 {
		return false
	}
	wb, wo := linear(wi)
	rb, ro := linear(ri)
	phi, ok := wb.(*ssa.Phi)
	if !ok || wb != rb {
		return false
	}
	step := int64(0)
	for _, e := range phi.Edges {
		if base, off := linear(e); base == phi && off != 0 {
			if step != 0 && (step > 0) != (off > 0) {
				return false
			}
			step = off
		}
	}
	return step > 0 && ro >= wo || step < 0 && ro <= wo
}

func elementIndex(v ssa.Value) (ssa.Value, bool) {
	for {
		switch a := v.(type) {
		case *ssa.FieldAddr:
			v = a.X
			continue
		case *ssa.IndexAddr:
			return a.Index, true
		}
		return nil, false
	}
}

// linear splits v into a base and a constant offset.
func linear(v ssa.Value) (base ssa.Value, offset int64) {
	for {
		op, ok := v.(*ssa.BinOp)
		if !ok || op.Op != token.ADD && op.Op != token.SUB {
			return v, offset
		}
		c, ok := op.Y.(*ssa.Const)
		x := op.X
		if !ok && op.Op == token.ADD {
			c, ok = op.X.(*ssa.Const)
			x = op.Y
		}
		if !ok || c.Value == nil || c.Value.Kind() != constant.Int {
			return v, offset
		}
		if op.Op == token.ADD {
			offset += c.Int64()
		} else {
			offset -= c.Int64()
		}
		v = x
	}
}

// key returns a string for a value. Values that are computed in the same way from the same
// values have equal strings.
func key(v ssa.Value) string {
	switch v := v.(type) {
	case *ssa.IndexAddr:
		return key(v.X) + "[" + key(v.Index) + "]"
	case *ssa.FieldAddr:
		return fmt.Sprintf("%s.%d", key(v.X), v.Field)
	case *ssa.Const:
		return v.String()
	case *ssa.Convert:
		return key(v.X)
	case *ssa.ChangeType:
		return key(v.X)
	case *ssa.UnOp:
		if v.Op == token.MUL {
			return "*" + key(v.X)
		}
	case *ssa.BinOp:
		return "(" + key(v.X) + v.Op.String() + key(v.Y) + ")"
	case *ssa.Slice:
		s := key(v.X) + "["
		for _, x := range []ssa.Value{v.Low, v.High} {
			if x != nil {
				s += key(x)
			}
			s += ":"
		}
		return s + "]"
	}
	return fmt.Sprintf("%p", v)
}
