package annotations

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// forgotten finds code after a section with keep that certainly accesses what the tasks of the
// section write, without a Fetch in between. Such memory is current on one replica only.
//
// It follows the statements after the section, and after the statements around it, in the
// order in which they run. It ends at a call that may fetch something, and at memory that may
// be fetched under another name. So a right program is never refused.
type forgotten struct {
	*conflicts
	directives *Directives
	fn         *ast.FuncDecl
	kept       []launched
}

// forgotten checks a section with keep.
func (w *sectionWalk) forgotten(d *Directives, fn *ast.FuncDecl) {
	if !w.sec.Keep || len(w.errs) > 0 {
		return
	}
	c := &conflicts{sectionWalk: w, v: newSectionValues(w.info, fn, w.sec.Stmt), loops: map[ast.Node]*turns{}}
	for _, l := range w.sec.Launches {
		c.regions(l)
	}
	f := &forgotten{conflicts: c, directives: d, fn: fn}
	for _, r := range c.launched {
		if (r.kind == Out || r.kind == InOut) && !r.deep && !c.v.changed[r.obj] {
			f.kept = append(f.kept, r)
		}
	}
	f.follow()
}

// follow checks the code after the section, up to the end of the function. In a loop that
// always comes to the section, the code before it runs after it, too.
func (f *forgotten) follow() {
	around := nodesAround(f.fn, f.sec.Stmt)
	var inner ast.Node = f.sec.Stmt
	var before []ast.Stmt // the statements before the section in the innermost block
	always := true
	for _, n := range slices.Backward(around) {
		if len(f.kept) == 0 {
			return
		}
		switch n := n.(type) {
		case *ast.FuncLit, *ast.CommClause:
			return
		case *ast.BlockStmt:
			var leaves bool
			if before, leaves = f.list(n.List, inner); leaves {
				return
			}
		case *ast.CaseClause:
			always = false
			if _, leaves := f.list(n.Body, inner); leaves {
				return
			}
		case *ast.IfStmt:
			always = false
		case *ast.ForStmt:
			f.again(n, always, n.Post, n.Cond, before)
			always = true
		case *ast.RangeStmt:
			f.again(n, always, nil, nil, before)
			always = true
		}
		inner = n
	}
}

// again follows the next iteration of a loop up to the section. It first drops what an iteration
// may fetch that ends before the section, and what each iteration makes.
func (f *forgotten) again(loop ast.Node, always bool, post ast.Stmt, cond ast.Expr, before []ast.Stmt) {
	f.mayFetch(loop)
	f.drop(func(r *launched) bool { return declaredIn(r.obj, loop) })
	if !always {
		return
	}
	if post != nil {
		f.simple(post)
	}
	if cond != nil {
		f.simple(cond)
	}
	f.run(before)
}

// nodesAround lists the nodes around a statement, beginning with the outermost one.
func nodesAround(root, st ast.Node) (around []ast.Node) {
	ast.Inspect(root, func(n ast.Node) bool {
		if n == nil || n == st || st.Pos() < n.Pos() || n.End() < st.End() {
			return false
		}
		around = append(around, n)
		return true
	})
	return around
}

// list runs the statements of a list after one of them, and returns those before. It reports
// whether control certainly leaves the list.
func (f *forgotten) list(list []ast.Stmt, st ast.Node) (before []ast.Stmt, leaves bool) {
	for i, s := range list {
		if ast.Node(s) == st {
			return list[:i], f.run(list[i+1:])
		}
	}
	return nil, false
}

// run follows the statements of a list. It reports whether control certainly leaves the list.
func (f *forgotten) run(list []ast.Stmt) bool {
	for _, st := range list {
		if len(f.kept) == 0 || f.stmt(st) {
			return true
		}
	}
	return false
}

func (f *forgotten) stmt(st ast.Stmt) (leaves bool) {
	if _, section := f.directives.Sections[st]; section {
		f.section(st)
		return false
	}
	switch st := st.(type) {
	case *ast.LabeledStmt, *ast.GoStmt, *ast.SelectStmt:
		f.kept = nil // a label may be reached from elsewhere
	case *ast.BlockStmt:
		return f.run(st.List)
	case *ast.ReturnStmt, *ast.BranchStmt:
		f.simple(st)
		return true
	case *ast.IfStmt:
		f.simple(st.Init)
		f.simple(st.Cond)
		f.mayFetch(st.Body)
		f.mayFetch(st.Else)
	case *ast.SwitchStmt:
		f.simple(st.Init)
		f.simple(st.Tag)
		f.mayFetch(st.Body)
	case *ast.TypeSwitchStmt, *ast.CaseClause: // other clauses than that of the section
		f.mayFetch(st)
	case *ast.ForStmt:
		f.simple(st.Init)
		f.simple(st.Cond)
		f.run(st.Body.List)
		f.mayFetch(st)
	case *ast.RangeStmt:
		f.ranged(st)
	case *ast.DeferStmt: // runs later
	default:
		f.simple(st)
	}
	return false
}

func (f *forgotten) ranged(st *ast.RangeStmt) {
	if f.iterates(st) {
		f.kept = nil
		return
	}
	f.simple(st.X)
	t := f.toucher()
	t.ranged(st)
	f.judge(t.found)
	f.run(st.Body.List)
	f.mayFetch(st)
}

// iterates reports whether a loop calls a function of the program, or of another package than
// intra.
func (f *forgotten) iterates(st *ast.RangeStmt) bool {
	if _, function := coreType(f.info.TypeOf(st.X)).(*types.Signature); !function {
		return false
	}
	if call, ok := ast.Unparen(st.X).(*ast.CallExpr); ok {
		fn, _ := calledFunc(f.info, call)
		return fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != IntraPath
	}
	return true
}

// simple checks a statement or expression without statements in it.
func (f *forgotten) simple(n ast.Node) {
	if n == nil || len(f.kept) == 0 {
		return
	}
	f.mayFetch(n)
	t := f.toucher()
	t.walk(n)
	f.judge(t.found)
}

func (f *forgotten) toucher() *toucher {
	return &toucher{sectionWalk: f.sectionWalk, values: f.v, skip: map[ast.Node]bool{}, plain: true}
}

// judge reports accesses to memory that the section keeps.
func (f *forgotten) judge(touches []touch) {
	for i := range touches {
		t := &touches[i]
		if t.maybe || conditionally(t) {
			continue
		}
		for k := range f.kept {
			r := &f.kept[k]
			if !f.reaches(r, t) || f.conflicts.after(r, t) != inside {
				continue
			}
			does := "read"
			if t.write {
				does = "written"
			}
			name := displayPath(r.obj.Name(), r.path)
			f.errs = append(f.errs, &Error{t.at.Pos(), fmt.Sprintf("%s is %s here, and the section with keep at line %d leaves it where its tasks have run; call intra.Fetch(%s, %s) before",
				name, does, f.fset.Position(f.sec.Dir.Pos).Line, f.sec.Process, name)})
			f.drop(func(o *launched) bool { return o.obj == r.obj })
			break
		}
	}
}

// reaches reports whether an access is to elements that a task has written.
func (f *forgotten) reaches(r *launched, t *touch) bool {
	if r.obj != t.obj {
		return false
	}
	rest, ok := strings.CutPrefix(t.path, r.path)
	return ok && (rest == "" || rest[0] == '*' || rest[0] == '.')
}

// conditionally reports whether an access depends on a condition within its statement.
func conditionally(t *touch) bool {
	for _, n := range t.stack {
		switch n := n.(type) {
		case *ast.IfStmt, *ast.CaseClause, *ast.FuncLit:
			return true
		case *ast.BinaryExpr:
			if (n.Op == token.LAND || n.Op == token.LOR) && n.Y.Pos() <= t.at.Pos() {
				return true
			}
		}
	}
	return false
}

// drop ends the search for accesses to some of the memory.
func (f *forgotten) drop(of func(*launched) bool) {
	f.kept = slices.DeleteFunc(slices.Clone(f.kept), func(r launched) bool { return of(&r) })
}

// moves drops memory of which a statement changes the name.
func (f *forgotten) moves(n ast.Node) {
	assigned := func(e ast.Expr) {
		if id, ok := e.(*ast.Ident); ok && (id.Name == "_" || f.info.Defs[id] != nil) {
			return
		}
		p, ok := f.v.place(e)
		f.drop(func(r *launched) bool {
			return !ok || p.obj == r.obj && len(p.path) < len(r.path) && strings.HasPrefix(r.path, p.path)
		})
	}
	switch n := n.(type) {
	case *ast.AssignStmt:
		for _, e := range n.Lhs {
			assigned(e)
		}
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			for _, e := range []ast.Expr{n.Key, n.Value} {
				if e != nil {
					assigned(e)
				}
			}
		}
	}
}

// section follows another section: its control code, and then its tasks.
func (f *forgotten) section(st ast.Stmt) {
	sec, _, _ := f.sectionScope.resolve(f.directives, nil, st)
	w := &sectionWalk{sectionScope: f.sectionScope, sec: sec, targets: map[*ast.Ident]bool{}}
	f.control(st)
	f.judge(w.touches(newSectionValues(f.info, f.fn, st)))
	f.tasks(w)
}
