package annotations

import (
	"fmt"
	"go/token"
)

// possible notes what is not certain. The flag -v lists it.
func (c *kernelCheck) possible(pos token.Pos, class, format string, args ...any) {
	if p, ok := c.starts[pos]; ok {
		pos = p
	}
	msg := fmt.Sprintf(format, args...) + "; run with -check to see whether it does"
	if c.once(class, msg) {
		c.findings = append(c.findings, finding{pos: pos, msg: msg, possible: true})
	}
}

// unsure lists an access that is possible and would be an error.
func (c *kernelCheck) unsure(r *resolved, ev *event) {
	if ev.root.kind != paramRoot {
		return
	}
	p := c.k.Params[ev.root.n]
	it := c.k.match(ev.root.n, ev.path)
	switch {
	case it == nil, it.Kind == InOut, it.Kind == Reduce:
		return
	case it.Kind == In && !ev.write && !ev.unknown, it.Kind != In && ev.write:
		return
	case it.Kind != In && !c.exposedUnsure(ev):
		return
	}
	does := "write"
	if it.Kind != In {
		does = "read"
	}
	via := " where the analysis cannot tell what is accessed"
	switch {
	case ev.unknown && ev.via != "":
		via = " through " + ev.via + ", into which the analysis does not look"
	case ev.via != "":
		via = " in " + ev.via
	}
	name := p.Var.Name()
	c.possible(ev.pos, "may "+does+name, "task %s may %s %s%s, but %s is in %s", c.name, does, displayPath(name, ev.path), via, it.Item.Path(), it.Kind)
}

// exposedUnsure tells whether a possible read may come before a write.
func (c *kernelCheck) exposedUnsure(ev *event) bool { return ev.unknown || ev.exposed }
