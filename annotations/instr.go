package annotations

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// instr records the effects of one instruction.
func (e *effects) instr(b *body, instr ssa.Instruction) {
	switch i := instr.(type) {
	case *ssa.Store:
		b.access(i, i.Addr, b.value(i.Addr), true, false, positionOf(i.Addr, i.Pos()))
	case *ssa.UnOp:
		switch i.Op {
		case token.MUL:
			b.access(i, i.X, b.value(i.X), false, false, positionOf(i.X, i.Pos()))
		case token.ARROW:
			b.forbid(i.Pos(), "receives from a channel")
		}
	case *ssa.MapUpdate:
		b.access(i, nil, b.value(i.Map), true, false, i.Pos())
	case *ssa.Lookup:
		b.access(i, nil, b.value(i.X), false, false, i.Pos())
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
		e.call(b, i, i.Pos())
	case *ssa.Call:
		e.call(b, i, placeOf(i))
	case *ssa.Defer:
		e.call(b, i, i.Pos())
	case *ssa.MakeClosure:
		e.kept(b, i)
	}
}

// placeOf returns the position of a call. If a loop calls its iterator, that is the position
// of the loop.
func placeOf(call *ssa.Call) token.Pos {
	if pos := call.Pos(); pos.IsValid() {
		return pos
	}
	for _, arg := range call.Call.Args {
		if body, ok := arg.(*ssa.MakeClosure); ok {
			return body.Fn.Pos()
		}
	}
	return call.Call.Value.Pos()
}

// kept records the effects of a closure that is passed to unknown code.
func (e *effects) kept(b *body, mc *ssa.MakeClosure) {
	for r, cells := range b.cells {
		if r.kind == localRoot {
			continue
		}
		for _, c := range cells {
			if c.val.root.v == mc {
				fn := mc.Fn.(*ssa.Function)
				args := make([][]loc, len(fn.Params))
				e.callee(b, mc, &target{fn: fn, args: append(args, b.arguments(nil, mc.Bindings)...)}, true, fn.Pos())
				return
			}
		}
	}
}

func (b *body) forbid(pos token.Pos, what string) {
	b.impure = append(b.impure, Impurity{What: what, pos: pos})
}

func (b *body) access(instr ssa.Instruction, addr ssa.Value, pointers []loc, write, maybe bool, pos token.Pos) {
	t := b.hit(pointers)
	for _, l := range t.list {
		b.events = append(b.events, event{instr: instr, root: l.root, path: l.path, write: write, maybe: maybe || !t.certain(), addr: addr, pos: pos, exposed: !write})
	}
}

func (b *body) builtin(instr ssa.Instruction, name string, args []ssa.Value, pos token.Pos) {
	switch name {
	case "copy":
		b.access(instr, nil, b.value(args[1]), false, false, pos)
		b.access(instr, nil, b.value(args[0]), true, false, pos)
	case "clear", "delete":
		b.access(instr, nil, b.value(args[0]), true, false, pos)
	case "append":
		if s, ok := args[0].(*ssa.Slice); ok && s.Max != nil {
			return // x[:n:n] makes append copy the elements
		}
		b.access(instr, nil, b.value(args[0]), true, true, pos) // if there is room, append writes into the array
		if len(args) > 1 {
			b.access(instr, nil, b.value(args[1]), false, false, pos)
		}
	case "print", "println":
		b.forbid(pos, "calls "+name)
	case "close":
		b.forbid(pos, "closes a channel")
	case "recover":
	}
}

// positionOf returns the position of an address in the source.
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
