package annotations

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// tasks drops the memory that the tasks of another section make current. Of memory that it
// divides into blocks, a section with keep makes only the block of each task current.
func (f *forgotten) tasks(w *sectionWalk) {
	c := &conflicts{sectionWalk: w, v: newSectionValues(f.info, f.fn, w.sec.Stmt), loops: map[ast.Node]*turns{}}
	for _, l := range w.sec.Launches {
		known := len(c.launched)
		c.regions(l)
		args := 0
		for _, it := range l.Callee.Items {
			if all := arguments(l); it.Param < len(all) && holdsPointer(f.info.TypeOf(all[it.Param])) != "" {
				args++
			}
		}
		if len(c.launched)-known < args {
			f.kept = nil // some argument is not followed
		}
	}
	for i := range c.launched {
		q := &c.launched[i]
		if q.deep {
			continue // memory behind pointers is not fetched
		}
		f.drop(func(r *launched) bool {
			if q.obj == r.obj && q.path == r.path && w.sec.Keep && q.kind == In && slices.ContainsFunc(q.stack, func(n ast.Node) bool {
				covers, known := c.covers(n, q)
				return covers && known
			}) {
				return false
			}
			return !f.apart(&q.place, r)
		})
	}
}

// apart reports whether two places are certainly different memory: different arrays that the
// function has made.
func (f *forgotten) apart(p *place, r *launched) bool {
	own := func(obj types.Object, path string) bool {
		def := f.v.defined[obj]
		return path == "*" && !f.v.moving[obj] && def != nil && f.makes(def)
	}
	path := p.under("*").path
	if strings.HasSuffix(p.path, "*") {
		path = p.path
	}
	return p.obj != r.obj && own(p.obj, path) && own(r.obj, r.path)
}

// makes reports whether an expression allocates a slice.
func (f *forgotten) makes(e ast.Expr) bool {
	if makesNew(f.info, e) {
		return true
	}
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return false
	}
	fn, _ := calledFunc(f.info, call)
	return fn != nil && fn.Pkg() != nil && fn.Pkg().Path() == IntraPath && fn.Name() == "Alloc"
}

// mayFetch drops memory that code may make current, or give another name.
func (f *forgotten) mayFetch(n ast.Node) {
	if n == nil {
		return
	}
	ast.Inspect(n, func(n ast.Node) bool {
		if st, ok := n.(ast.Stmt); ok && st != f.sec.Stmt {
			if _, section := f.directives.Sections[st]; section {
				sec, _, _ := f.sectionScope.resolve(f.directives, nil, st)
				f.control(st)
				f.tasks(&sectionWalk{sectionScope: f.sectionScope, sec: sec, targets: map[*ast.Ident]bool{}})
				return false
			}
		}
		return f.node(n)
	})
}

// control is mayFetch for the control code of a section. A call of a kernel fetches nothing.
func (f *forgotten) control(st ast.Stmt) { ast.Inspect(st, f.node) }

// node drops the memory that a statement or call itself may make current, or give another name.
func (f *forgotten) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncLit:
		return false
	case *ast.GoStmt, *ast.SelectStmt:
		f.kept = nil
	case *ast.RangeStmt:
		if f.moves(n); f.iterates(n) {
			f.kept = nil
		}
	case ast.Stmt:
		f.moves(n)
	case *ast.CallExpr:
		f.call(n)
	}
	return len(f.kept) > 0
}

// never lists functions of packages intra and comm that fetch nothing.
var never = set("Blocks BlocksOf Blocks2D Tiles Alloc Process.Tasks Process.Rank Process.Size Process.Replica Process.World Process.Context " +
	"Process.Restored Process.Progress Process.SafePoint Once OnceBytes Comm.Rank Comm.Size Comm.Barrier AllreduceValue")

// call drops memory that a call may make current.
func (f *forgotten) call(call *ast.CallExpr) {
	if tv, ok := f.info.Types[call.Fun]; ok && tv.IsType() {
		return
	}
	fn, id := calledFunc(f.info, call)
	if fn == nil {
		if _, builtin := f.info.Uses[idOrNil(id)].(*types.Builtin); !builtin {
			f.kept = nil
		}
		return
	}
	if f.callee(fn) != nil {
		return // a kernel
	}
	switch {
	case fn.Pkg() != nil && (fn.Pkg().Path() == IntraPath || fn.Pkg().Path() == commPath):
		if !never[LocalName(fn)] {
			f.fetches(call)
		}
		return
	case isStandard(fn.Pkg()): // fetches nothing, but may call back
		for _, arg := range call.Args {
			if _, function := coreType(f.info.TypeOf(arg)).(*types.Signature); function {
				f.kept = nil
			}
		}
		return
	}
	e := f.effects(fn)
	if e == nil || e.Unknown != "" || len(e.Calls) > 0 || slices.ContainsFunc(e.Impure, func(i Impurity) bool { return i.Message || strings.HasPrefix(i.What, "calls intra.") }) {
		f.kept = nil
		return
	}
	args := call.Args
	if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && fn.Signature().Recv() != nil {
		args = append([]ast.Expr{sel.X}, args...)
	}
	for _, a := range e.Accesses { // the function may give the memory another name
		if !a.Write || a.Param >= len(args) {
			continue
		}
		p, ok := f.v.place(args[a.Param])
		f.drop(func(r *launched) bool {
			at := p.under(a.Path).path
			return !ok || p.obj == r.obj && len(at) < len(r.path) && strings.HasPrefix(r.path, strings.TrimRight(at, "*"))
		})
	}
	if len(e.Globals) > 0 {
		f.drop(func(r *launched) bool { return r.obj.Parent() == f.pkg.Scope() || r.obj.Pkg() != f.pkg })
	}
}

// fetches drops the memory that a call of package intra or comm may make current: its
// arguments, and what may be the same.
func (f *forgotten) fetches(call *ast.CallExpr) {
	all := true
	for _, arg := range call.Args {
		if t := f.info.TypeOf(arg); t == nil || holdsPointer(t) == "" || isProcess(t) {
			continue
		} else if _, slice := coreType(t).(*types.Slice); !slice {
			continue
		}
		p, ok := f.v.place(arg)
		if !ok {
			f.kept = nil
			return
		}
		all = false
		f.drop(func(r *launched) bool { return !f.apart(&p, r) })
	}
	if all {
		f.kept = nil // Settle, and calls of which the checks do not know what they fetch
	}
}
