package annotations

import (
	"fmt"
	"go/types"
	"slices"
	"strings"
)

// missing reports parameters that no clause names, with the fitting clause. A suggested fix
// names only parameters whose clause follows from certain accesses.
func (c *kernelCheck) missing(r *resolved) {
	if len(r.missing) == 0 || r.broken {
		return
	}
	var inferred []*ItemInfo
	doubts := map[*Param]string{}
	for _, m := range r.missing {
		items, doubt := c.infer(m)
		inferred = append(inferred, items...)
		doubts[m.param] = doubt
	}
	var cured []*ItemInfo
	if inferred != nil {
		cured = append(slices.Clone(c.k.Items), inferred...)
		order := func(it *ItemInfo) int {
			if i := slices.Index(c.k.Params, it.Param); i >= 0 {
				return i
			}
			return len(c.k.Params)
		}
		slices.SortStableFunc(cured, func(a, b *ItemInfo) int { return order(a) - order(b) })
	}
	for i, m := range r.missing {
		fix := cured
		if i > 0 {
			fix = nil
		}
		cure := "; by its body the kernel needs " + renderClauses(inferred)
		if doubt := doubts[m.param]; doubt != "" {
			cure = "; the analysis " + doubt + ": name it in in, out, inout, reduce or scratch"
		}
		if m.param == c.k.Result {
			cure += fmt.Sprintf("; a partial result of a sum is reduce(+: %s)", m.name)
		}
		c.report(r.kernel.Dir.Pos, fix, "%s of kernel %s is in no clause%s", m.name, c.name, cure)
	}
}

// infer derives the clauses of a parameter from the body. If they are uncertain, it returns
// the reason, as a text that completes "the analysis …".
func (c *kernelCheck) infer(m missing) (items []*ItemInfo, doubt string) {
	item := func(kind Kind, text string) *ItemInfo {
		return &ItemInfo{Kind: kind, Param: m.param, Item: Item{Root: Ident{Name: m.name}, Text: text}}
	}
	if m.param.Index < 0 {
		return []*ItemInfo{item(Out, m.name)}, ""
	}
	if onlyRead(m.param.Var.Type()) {
		return []*ItemInfo{item(In, m.name)}, ""
	}
	if c.body == nil {
		if c.k.Decl.Body == nil {
			return nil, fmt.Sprintf("could not look into %s, whose body is not Go", c.name)
		}
		return nil, fmt.Sprintf("could not look into %s, which does not compile", c.name)
	}
	n := slices.Index(c.k.Params, m.param)
	var written []string
	var doubtful []*event // writes that are not certain
	for i := range c.events {
		switch ev := &c.events[i]; {
		case ev.root.kind != paramRoot || ev.root.n != n:
		case ev.unknown || ev.write && ev.maybe:
			doubtful = append(doubtful, ev)
		case ev.write:
			written = append(written, ev.path)
		}
	}
	slices.Sort(written)
	written = slices.Compact(written)
	// One clause covers the whole parameter, if its type can be sent.
	probe := &resolved{kernel: c.k}
	whole := &ItemInfo{Kind: Out, Param: m.param, Item: Item{Root: Ident{Name: m.name}, Text: m.name}}
	sendable := probe.memory(Clause{Kind: Out}, whole, m.param.Var.Type(), "")
	for _, ev := range doubtful {
		covered := func(path string) bool { return !ev.unknown && strings.HasPrefix(ev.path, path) }
		if len(written) > 0 && sendable || slices.ContainsFunc(written, covered) {
			continue // the memory is written in any case
		}
		if ev.unknown {
			return nil, "could not look into " + ev.into
		}
		return nil, "cannot tell whether the kernel writes it at " + lineOf(c.body.fset, ev.pos)
	}
	switch {
	case len(written) == 0:
		return []*ItemInfo{item(In, m.name)}, ""
	case sendable:
		return []*ItemInfo{item(c.writtenKind(n, ""), m.name)}, ""
	}
	items = append(items, item(In, m.name))
	for _, path := range written {
		items = append(items, item(c.writtenKind(n, path), displayPath(m.name, path)))
	}
	return items, ""
}

// onlyRead reports whether parameters of a type can only be in the clause in.
func onlyRead(t types.Type) bool {
	switch coreType(t).(type) {
	case *types.Signature, *types.Interface, *types.Map, *types.Chan:
		return true
	}
	return holdsPointer(t) == ""
}

// writtenKind returns the kind of clause for memory that is written. That is Out only if the
// kernel certainly reads nothing but its own writes. InOut is always correct.
func (c *kernelCheck) writtenKind(param int, path string) Kind {
	for i := range c.events {
		r := &c.events[i]
		if r.root.kind != paramRoot || r.root.n != param || r.write {
			continue
		}
		if r.unknown && overlap(r.path, path) || !r.unknown && strings.HasPrefix(r.path, path) && !c.writtenBefore(r) {
			return InOut
		}
	}
	return Out
}

// writtenBefore reports whether exactly the element that r reads is certainly written before.
func (c *kernelCheck) writtenBefore(r *event) bool {
	return r.addr != nil && slices.ContainsFunc(c.events, func(w event) bool {
		return w.write && !w.maybe && w.addr != nil && w.root == r.root && w.path == r.path &&
			key(w.addr) == key(r.addr) && c.body.flow.dominates(w.instr, r.instr)
	})
}
