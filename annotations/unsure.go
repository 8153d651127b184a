package annotations

import (
	"fmt"
	"go/token"
	"slices"
)

// possible records a problem that is not certain. With -v the analyzer lists it.
func (c *kernelCheck) possible(pos token.Pos, class, format string, args ...any) {
	if p, ok := c.starts[pos]; ok {
		pos = p
	}
	msg := fmt.Sprintf(format, args...) + runCheck + "does"
	if c.once(class, msg) {
		c.findings = append(c.findings, finding{pos: pos, msg: msg, possible: true})
	}
}

// unsure records an access that is not certain, and would be an error if it happened.
func (c *kernelCheck) unsure(r *resolved, ev *event) {
	if ev.root.kind != paramRoot {
		return
	}
	p := c.k.Params[ev.root.n]
	if holdsPointer(p.Var.Type()) == "" {
		return
	}
	i := slices.IndexFunc(c.k.Items, func(it *ItemInfo) bool { return c.breaks(it, ev) })
	if i < 0 {
		return
	}
	it := c.k.Items[i]
	does := "write"
	if it.Kind != In {
		does = "read"
	}
	via := " where the analysis cannot tell what is accessed"
	switch {
	case ev.unknown:
		via = " through " + ev.into + ", into which the analysis does not look"
	case ev.via != "":
		via = " in " + ev.via
	}
	name := p.Var.Name()
	c.possible(ev.pos, "may "+does+name, "task %s may %s %s%s, but %s is in %s", c.name, does, displayPath(name, ev.path), via, it.Item.Path(), it.Kind)
}

// breaks reports whether an access would violate the clause of an item if it happened.
func (c *kernelCheck) breaks(it *ItemInfo, ev *event) bool {
	switch {
	case it.Param != c.k.Params[ev.root.n], ev.unknown && !overlap(ev.path, it.path), !ev.unknown && c.k.match(ev.root.n, ev.path) != it:
		return false
	case it.Kind == In:
		return ev.write || ev.unknown
	case it.Kind == InOut, it.Kind == Reduce:
		return false
	}
	return !ev.write && (ev.unknown || ev.exposed)
}
