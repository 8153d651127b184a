package annotations

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// unhurried looks at a section without waiting: it reduces nothing, and what
// comes after it in the function does not use elements of what its tasks write
// before something settles that, nor write what they read. Only the plain cases
// are seen: elements and ranges of the very variable that a task is given, in
// the order of the source.
func (w *sectionWalk) unhurried(d *Directives, fn *ast.FuncDecl) {
	if !w.sec.NoWait || len(w.errs) > 0 {
		return
	}
	u := &unhurried{sectionWalk: w, d: d, line: w.fset.Position(w.sec.Dir.Pos).Line, written: map[string]bool{}, read: map[string]bool{}}
	for _, l := range w.sec.Launches {
		if l.Callee.Result == Reduce || len(l.Callee.Reduces) > 0 {
			w.errorf(l.Stmt.Pos(), "//intra:section with nowait reduces: a sum that is not complete means nothing; leave nowait out, or the sum")
			return
		}
		if l.Target != nil {
			u.written[base(l.Target)] = true
		}
		for i, arg := range arguments(l) {
			if slices.Contains(l.Callee.Writes, i) {
				u.written[base(arg)] = true
			} else if _, ok := coreType(w.info.TypeOf(arg)).(*types.Slice); ok {
				u.read[base(arg)] = true
			}
		}
	}
	delete(u.written, "")
	delete(u.read, "")
	if fn != nil && fn.Body != nil {
		u.after(fn.Body)
	}
}

// unhurried follows what a function does after a section without waiting.
type unhurried struct {
	*sectionWalk
	d             *Directives
	line          int             // of the section
	written, read map[string]bool // expressions that its tasks are given, as they are written
	settled       bool
}

// base is the variable or field that an argument is cut from, as it is written.
func base(e ast.Expr) string {
	switch x := ast.Unparen(e).(type) {
	case *ast.Ident, *ast.SelectorExpr:
		return types.ExprString(x)
	case *ast.SliceExpr:
		return base(x.X)
	case *ast.IndexExpr:
		return base(x.X)
	case *ast.UnaryExpr:
		if x.Op == token.AND {
			return base(x.X)
		}
	}
	return ""
}

// after looks through what follows the section in every list of statements that
// it is in, from the innermost outwards; and of a loop, what comes before it.
func (u *unhurried) after(body *ast.BlockStmt) {
	var around []ast.Node
	ast.Inspect(body, func(n ast.Node) bool {
		if n == nil || n.Pos() > u.sec.Stmt.Pos() || n.End() < u.sec.Stmt.End() {
			return false
		}
		around = append(around, n)
		return n != ast.Node(u.sec.Stmt)
	})
	slices.Reverse(around)
	for i, n := range around {
		if u.settled {
			return
		}
		switch n := n.(type) {
		case *ast.FuncLit:
			return
		case *ast.BlockStmt:
			u.follow(n.List, func(st ast.Stmt) bool { return st.Pos() >= u.sec.Stmt.End() })
			if i+1 < len(around) && !u.settled {
				switch around[i+1].(type) {
				case *ast.ForStmt, *ast.RangeStmt:
					u.follow(n.List, func(st ast.Stmt) bool { return st.End() <= u.sec.Stmt.Pos() })
				}
			}
		case *ast.CaseClause:
			u.follow(n.Body, func(st ast.Stmt) bool { return st.Pos() >= u.sec.Stmt.End() })
		}
	}
}

func (u *unhurried) follow(list []ast.Stmt, in func(ast.Stmt) bool) {
	for _, st := range list {
		if in(st) && !u.settled {
			u.look(st)
		}
	}
}

// look goes through one statement up to what settles the section.
func (u *unhurried) look(st ast.Stmt) {
	writes := map[ast.Expr]bool{}
	ast.Inspect(st, func(n ast.Node) bool {
		if u.settled {
			return false
		}
		switch n := n.(type) {
		case ast.Stmt:
			if _, ok := u.d.Sections[n]; ok {
				u.section(n)
				return false
			}
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, l := range n.Lhs {
					writes[ast.Unparen(l)] = true
				}
			case *ast.IncDecStmt:
				writes[ast.Unparen(n.X)] = true
			case *ast.RangeStmt:
				if name := base(n.X); n.Value != nil && u.written[name] {
					u.tooEarly(n.X, name, "read")
				}
			}
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			u.settled = u.settles(n)
			if b, ok := u.info.Uses[idOrNil(callee(n))].(*types.Builtin); ok && b.Name() == "copy" && len(n.Args) == 2 {
				u.use(n.Args[0], true)
				u.use(n.Args[1], false)
			}
		case *ast.IndexExpr:
			u.use(n, writes[n])
		}
		return !u.settled
	})
}

func callee(call *ast.CallExpr) *ast.Ident {
	id, _ := ast.Unparen(call.Fun).(*ast.Ident)
	return id
}

// use looks at a use of elements.
func (u *unhurried) use(e ast.Expr, write bool) {
	name := base(e)
	switch {
	case name == "", u.settled:
	case write && (u.written[name] || u.read[name]):
		u.tooEarly(e, name, "written")
	case u.written[name]:
		u.tooEarly(e, name, "read")
	}
}

func (u *unhurried) tooEarly(e ast.Expr, name, what string) {
	u.settled = true // once is enough
	u.errorf(e.Pos(), "%s is %s here, while tasks of the section at line %d, which does not wait, may still be using %s; settle them before (%s.Settle)",
		types.ExprString(e), what, u.line, name, u.sec.Process)
}

// section: one that names what the tasks write settles them, before it begins.
func (u *unhurried) section(st ast.Stmt) {
	ast.Inspect(st, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok && u.written[base(e)] {
			u.settled = true
		}
		return !u.settled
	})
}

// settles: the call waits for all sections.
func (u *unhurried) settles(call *ast.CallExpr) bool {
	fn, _ := calledFunc(u.info, call)
	if fn == nil || fn.Pkg() == nil {
		return false
	}
	switch fn.Pkg().Path() {
	case commPath:
		return !slices.Contains([]string{"Rank", "Size"}, fn.Name())
	case IntraPath:
		return strings.HasPrefix(fn.Name(), "Once") || slices.Contains([]string{"Settle", "SafePoint"}, fn.Name())
	}
	return u.messages != nil && u.messages(fn) != ""
}
