package annotations

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// finding is a diagnostic about a kernel, with the clauses that would fix the problem.
type finding struct {
	pos   token.Pos
	msg   string
	cured []*ItemInfo // the clauses that fix it; nil: no fix is offered

	possible bool // the problem is not certain, so it is only listed
}

// checkKernel compares the effects of a kernel with its clauses. b is nil if there is no
// body.
func checkKernel(r *resolved, b *body) []finding {
	k := r.kernel
	c := &kernelCheck{k: k, name: k.Func.Name()}
	return c.check(r, b)
}

func (c *kernelCheck) check(r *resolved, b *body) []finding {
	c.starts, c.reported = starts(c.k.Decl), map[string]bool{}
	if b != nil {
		c.body = b
		c.events = slices.Clone(b.events)
		slices.SortStableFunc(c.events, func(x, y event) int { return cmp.Compare(x.pos, y.pos) })
	}
	c.missing(r)
	if b == nil {
		return c.findings
	}
	for _, imp := range b.impure {
		via := ""
		if imp.Chain != "" {
			via = " (in " + imp.Chain + ")"
		}
		if imp.Maybe {
			c.possible(imp.pos, "impure "+imp.What, "task %s may reach code that %s%s", c.name, imp.What, via)
			continue
		}
		c.report(imp.pos, nil, "task %s %s%s", c.name, imp.What, via)
	}
	for i := range c.events {
		c.event(r, &c.events[i])
	}
	c.neverWritten()
	c.folds()
	return c.findings
}

type kernelCheck struct {
	k        *Kernel
	name     string
	body     *body // nil if there is no body
	events   []event
	starts   map[token.Pos]token.Pos
	findings []finding
	reported map[string]bool
}

func (c *kernelCheck) report(pos token.Pos, cured []*ItemInfo, format string, args ...any) {
	if p, ok := c.starts[pos]; ok {
		pos = p
	}
	c.findings = append(c.findings, finding{pos: pos, msg: fmt.Sprintf(format, args...), cured: cured})
}

// once reports whether this is the first finding of a class about a name.
func (c *kernelCheck) once(class, name string) bool {
	id := class + " " + name
	if c.reported[id] {
		return false
	}
	c.reported[id] = true
	return true
}

// starts maps the position of an instruction to the beginning of its expression. The position
// of an instruction may be that of a bracket or a selected name.
func starts(decl *ast.FuncDecl) map[token.Pos]token.Pos {
	m := map[token.Pos]token.Pos{}
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IndexExpr:
			m[n.Lbrack] = n.Pos()
		case *ast.SelectorExpr:
			m[n.Sel.Pos()] = n.Pos()
		case *ast.CallExpr:
			m[n.Lparen] = n.Pos()
		}
		return true
	})
	return m
}

// match returns the most specific item that covers a path.
func (k *Kernel) match(param int, path string) *ItemInfo {
	var best *ItemInfo
	for _, it := range k.Items {
		if it.Param != k.Params[param] || !strings.HasPrefix(path, it.path) {
			continue
		}
		if rest := path[len(it.path):]; rest != "" && rest[0] != '*' && rest[0] != '.' {
			continue
		}
		if best == nil || len(it.path) > len(best.path) {
			best = it
		}
	}
	return best
}

func (c *kernelCheck) event(r *resolved, ev *event) {
	via := ""
	if ev.via != "" {
		via = " in " + ev.via
	}
	switch {
	case ev.unknown || ev.maybe:
		c.unsure(r, ev)
		return
	case ev.root.kind == globalRoot:
		if name := globalName(ev.root.v); ev.write && c.once("global", name) {
			c.report(ev.pos, nil, "task %s writes the package variable %s%s; the other replicas do not get it: pass it as a pointer and name it in a clause", c.name, strings.TrimPrefix(name, c.k.Func.Pkg().Name()+"."), via)
		}
		return
	case ev.root.kind != paramRoot:
		return
	}
	p := c.k.Params[ev.root.n]
	name := p.Var.Name()
	if slices.ContainsFunc(r.missing, func(m missing) bool { return m.param == p }) || r.broken {
		return
	}
	it := c.k.match(ev.root.n, ev.path)
	shown := displayPath(name, ev.path)
	if it == nil {
		c.uncovered(ev, p, shown, via)
		return
	}
	item := it.Item.Path()
	switch {
	case ev.write && it.Kind == In && slices.ContainsFunc(c.k.Items, func(o *ItemInfo) bool { return o.Param == p && o.path == ev.path+"*" }):
		if c.once("header", shown) {
			c.report(ev.pos, nil, "task %s assigns %s itself%s, but its clause names the elements only; work on a copy of the slice, as in v := %[2]s", c.name, shown, via)
		}
	case ev.write && it.Kind == In && ev.path != it.path && shown != item && holdsPointerAt(c.k, it):
		if c.once("field", shown) {
			c.report(ev.pos, nil, "task %s writes %s%s, but no clause but in(%s) names it; add out(%[2]s), or inout(%[2]s) if it is also read", c.name, shown, via, item)
		}
	case ev.write && it.Kind == In:
		if c.once("in", item) {
			want := Out
			if c.anyExposed(ev.root.n, it) {
				want = InOut
			}
			c.report(ev.pos, c.moved(it, want), "task %s writes %s%s, but %s is in in; want %[5]s(%[4]s)", c.name, shown, via, item, want)
		}
	case !ev.write && ev.exposed && it.Kind == Out:
		if !c.unwritten(it) && c.once("out", item) {
			c.report(ev.pos, c.moved(it, InOut), "task %s reads %s%s before it is written, but %s is in out; want inout(%s)", c.name, shown, via, item, it.Item.Text)
		}
	case !ev.write && ev.exposed && it.Kind == Scratch:
		if c.once("scratch", item) {
			c.report(ev.pos, c.moved(it, InOut), "task %s reads %s%s before it is written, but scratch memory means nothing on entry; want in or inout(%s)", c.name, shown, via, it.Item.Text)
		}
	}
}

// holdsPointerAt reports whether an item can be in the clause in and not in out, because it
// contains pointers. Then a fix has to name its fields instead.
func holdsPointerAt(k *Kernel, it *ItemInfo) bool { return it.Form == NoRegion }

// uncovered reports an access to a part of a parameter that no clause names.
func (c *kernelCheck) uncovered(ev *event, p *Param, shown, via string) {
	for _, it := range c.k.Items {
		if it.Param == p && !ev.write && strings.HasPrefix(it.path, ev.path) {
			return // the read only follows pointers to a part that a clause names
		}
	}
	class, clause := "reads", "in"
	if ev.write {
		class, clause = "writes", "out"
	}
	if c.once(class, shown) {
		c.report(ev.pos, nil, "task %s %s %s%s, which no clause names; add %s(%[3]s)", c.name, class, shown, via, clause)
	}
}

func (c *kernelCheck) anyExposed(param int, it *ItemInfo) bool {
	return slices.ContainsFunc(c.events, func(ev event) bool {
		return ev.root.kind == paramRoot && ev.root.n == param && !ev.write && !ev.maybe && ev.exposed && c.k.match(param, ev.path) == it
	})
}

// neverWritten reports items of out and inout that the kernel certainly never writes.
func (c *kernelCheck) neverWritten() {
	for _, it := range c.k.Items {
		if c.unwritten(it) {
			c.report(it.Item.Pos(), c.moved(it, In), "%s is in %s, but %s never writes it; want in(%[1]s)", it.Item.Path(), it.Kind, c.name)
		}
	}
}

// unwritten reports whether an item is in a clause for written memory, and is certainly not
// written.
func (c *kernelCheck) unwritten(it *ItemInfo) bool {
	if it.Kind != Out && it.Kind != InOut && it.Kind != Reduce || it.Param == c.k.Result || c.k.Decl.Body == nil {
		return false
	}
	i := slices.Index(c.k.Params, it.Param)
	return !slices.ContainsFunc(c.events, func(ev event) bool {
		return ev.root.kind == paramRoot && ev.root.n == i && (ev.write || ev.unknown) && overlap(ev.path, it.path)
	})
}

// moved returns the items with one of them moved to another clause.
func (c *kernelCheck) moved(it *ItemInfo, to Kind) []*ItemInfo {
	items := slices.Clone(c.k.Items)
	for i, old := range items {
		if old == it {
			moved := *old
			moved.Kind, moved.Op = to, ""
			items[i] = &moved
		}
	}
	return items
}

// fix rewrites the clauses of a kernel. A kernel with several directives gets no fix, since
// only its author can decide which line to change.
func fix(k *Kernel, dirs []Directive, items []*ItemInfo) []analysis.SuggestedFix {
	if items == nil || len(dirs) != 1 {
		return nil
	}
	text := renderClauses(items)
	if len(k.Elementwise) > 0 {
		var names []string
		for _, p := range k.Elementwise {
			names = append(names, p.Var.Name())
		}
		text += fmt.Sprintf(" %s(%s)", Elementwise, strings.Join(names, ", "))
	}
	end := dirs[0].ArgsPos + token.Pos(len(dirs[0].Args))
	if _, comment, ok := strings.Cut(dirs[0].Args, "//"); ok {
		text += " //" + comment
	}
	pos := dirs[0].ArgsPos
	if dirs[0].Args == "" {
		pos = dirs[0].Pos + token.Pos(len("//intra:task"))
		end, text = pos, " "+text
	}
	return []analysis.SuggestedFix{{
		Message:   "write " + strings.TrimSpace(text),
		TextEdits: []analysis.TextEdit{{Pos: pos, End: end, NewText: []byte(text)}},
	}}
}

func renderClauses(items []*ItemInfo) string {
	type group struct {
		kind Kind
		op   string
	}
	var order []group
	names := map[group][]string{}
	for _, kind := range []Kind{In, Out, InOut, Reduce, Scratch} {
		for _, it := range items {
			if g := (group{kind, it.Op}); it.Kind == kind {
				if names[g] == nil {
					order = append(order, g)
				}
				names[g] = append(names[g], it.Item.Text)
			}
		}
	}
	var clauses []string
	for _, g := range order {
		list := strings.Join(names[g], ", ")
		if g.kind == Reduce {
			list = g.op + ": " + list
		}
		clauses = append(clauses, fmt.Sprintf("%s(%s)", g.kind, list))
	}
	return strings.Join(clauses, " ")
}
