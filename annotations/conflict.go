package annotations

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// launched is memory that a task of a section uses.
type launched struct {
	place
	launch *Launch
	stack  []ast.Node // nodes around the launch
	write  bool
	kind   Kind
	param  int  // number of the parameter in which it is passed; -1: the result
	deep   bool // only the memory behind pointers in a value is used
}

// conflicts finds code of a section that accesses memory of the section's tasks. From the
// launch of a task to the end of the section, no other code may write memory that the task
// reads, or access memory that it writes. Certain violations are errors. Possible violations
// are listed.
func (w *sectionWalk) conflicts(fn ast.Node) {
	if len(w.sec.Launches) == 0 || fn == nil {
		return
	}
	c := &conflicts{sectionWalk: w, v: newSectionValues(w.info, fn, w.sec.Stmt), loops: map[ast.Node]*turns{}}
	for _, l := range w.sec.Launches {
		c.regions(l)
	}
	if len(c.launched) == 0 {
		return
	}
	reported := map[token.Pos]bool{}
	var listed []*Error
	for _, t := range w.touches(c.v) {
		for i := range c.launched {
			r := &c.launched[i]
			if reported[t.at.Pos()] || !c.meets(r, &t) {
				continue
			}
			switch msg, how := c.judge(r, &t); how {
			case inside:
				reported[t.at.Pos()] = true
				w.errs = append(w.errs, &Error{t.at.Pos(), msg})
			case maybeInside:
				listed = append(listed, &Error{t.at.Pos(), msg})
			}
		}
	}
	for _, e := range listed {
		if !reported[e.Pos] {
			reported[e.Pos] = true
			w.listed = append(w.listed, e)
		}
	}
}

type conflicts struct {
	*sectionWalk
	v        *sectionValues
	launched []launched
	loops    map[ast.Node]*turns
}

// regions adds the memory that a launch uses.
func (c *conflicts) regions(l *Launch) {
	var stack, found []ast.Node
	ast.Inspect(c.sec.Stmt, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		if n == ast.Node(l.Stmt) {
			found = slices.Clone(stack)
		}
		stack = append(stack, n)
		return found == nil
	})
	if l.Target != nil {
		if _, variable := ast.Unparen(l.Target).(*ast.Ident); !variable {
			if p, ok := c.v.place(l.Target); ok {
				c.launched = append(c.launched, launched{place: p, launch: l, stack: found, write: true, kind: l.Callee.Result, param: -1})
			}
		}
	}
	args := arguments(l)
	for _, it := range l.Callee.Items {
		if it.Param >= len(args) || l.Callee.Func.Signature().Variadic() && it.Param >= len(args)-1 && !l.Call.Ellipsis.IsValid() {
			continue
		}
		arg := args[it.Param]
		t := c.info.TypeOf(arg)
		if t == nil || holdsPointer(t) == "" && !isReceiverAddress(l, it.Param, t) {
			continue // the task gets a copy
		}
		p, ok := c.v.place(arg)
		if !ok {
			continue
		}
		if isReceiverAddress(l, it.Param, t) {
			p.addr = true
		}
		r := launched{launch: l, stack: found, write: it.Kind != In, kind: it.Kind, param: it.Param}
		r.place = p.under(it.Path)
		if !strings.Contains(it.Path, "*") {
			r.deep = true
			if it.Kind != In {
				continue
			}
		}
		if it.Cut {
			lo, hi := c.bound(it.Lo, l, args), c.bound(it.Hi, l, args)
			if it.Lo == "" {
				lo = &affine{}
			}
			if r.cut {
				if r.lo == nil {
					lo, hi = nil, nil
				} else {
					lo, hi = sumOf(lo, r.lo), sumOf(hi, r.lo)
				}
			}
			r.cut, r.cutAt, r.lo, r.hi = true, r.path, lo, hi
			if it.Columns {
				r.lo, r.hi = nil, nil
			}
		}
		c.launched = append(c.launched, r)
	}
}

// isReceiverAddress reports whether a launch passes the address of a variable as the receiver.
func isReceiverAddress(l *Launch, param int, t types.Type) bool {
	recv := l.Callee.Func.Signature().Recv()
	if recv == nil || param != 0 {
		return false
	}
	_, wants := recv.Type().Underlying().(*types.Pointer)
	_, has := t.Underlying().(*types.Pointer)
	return wants && !has
}

func sumOf(a, b *affine) *affine {
	if a == nil || b == nil {
		return nil
	}
	sum := a.plus(*b, 1)
	return &sum
}

// bound evaluates a bound of a clause for the arguments of a launch.
func (c *conflicts) bound(text string, l *Launch, args []ast.Expr) *affine {
	if text == "" {
		return nil
	}
	e, err := parser.ParseExpr(text)
	if err != nil {
		return nil
	}
	sig := l.Callee.Func.Signature()
	var of func(e ast.Expr) (affine, bool)
	of = func(e ast.Expr) (affine, bool) {
		switch e := ast.Unparen(e).(type) {
		case *ast.BasicLit:
			var n int64
			_, err := fmt.Sscan(e.Value, &n)
			return affine{c: n}, err == nil
		case *ast.Ident:
			first := 0
			if sig.Recv() != nil {
				first = 1
			}
			for i := range sig.Params().Len() {
				if sig.Params().At(i).Name() == e.Name && i+first < len(args) {
					return c.v.sum(args[i+first])
				}
			}
		case *ast.BinaryExpr:
			return combine(e, of)
		}
		return affine{}, false
	}
	if a, ok := of(e); ok {
		return &a
	}
	return nil
}

// meets reports whether an access may be to memory of a task.
func (c *conflicts) meets(r *launched, t *touch) bool {
	if r.obj != t.obj || !r.write && !t.write {
		return false
	}
	rest, ok := strings.CutPrefix(t.path, r.path)
	if !ok || rest != "" && rest[0] != '*' && rest[0] != '.' || r.deep && !strings.Contains(rest, "*") {
		return false
	}
	for i := range c.launched { // another item of the launch may name the memory more precisely
		o := &c.launched[i]
		if o.launch == r.launch && o.param == r.param && o != r && len(o.path) > len(r.path) && strings.HasPrefix(t.path, o.path) {
			return false
		}
	}
	return true
}

// judge describes the problem with an access, and how certain the problem is.
func (c *conflicts) judge(r *launched, t *touch) (msg string, how relation) {
	kernel := r.launch.Callee.Func.Name()
	how = outside
	turn := ""
	sure := !t.maybe && !c.v.changed[r.obj]
	if c.v.changed[r.obj] && c.v.renewed[r.obj] {
		return "", outside
	}
	if t.at.Pos() >= r.launch.Stmt.End() && !apart(r.stack, t.stack) {
		how = c.after(r, t)
	}
	for _, loop := range common(r.stack, t.stack) {
		if how == inside || declaredIn(r.obj, loop) {
			continue
		}
		switch later := c.turns(loop).meets(r, t); later {
		case inside:
			how, turn = inside, " by an earlier turn of the loop"
		case maybeInside:
			if how == outside {
				how, turn = maybeInside, " by an earlier turn of the loop"
			}
		}
	}
	if how == inside && !sure {
		how = maybeInside
	}
	via := ""
	if t.via != "" {
		via = " by " + t.via
	}
	may := ""
	if how == maybeInside {
		may = "may be "
	}
	uses := "uses"
	does, cure := "written", "write it after the section"
	if turn != "" {
		cure = "give each task memory of its own, or write it before the section"
	}
	if !t.write {
		does, cure, uses = "used", "it has its value after the section", "writes"
	}
	if may == "" {
		may = "is "
	}
	msg = fmt.Sprintf("%s %s%s here%s after a task of kernel %s that %s it was launched%s; %s", t.text, may, does, via, kernel, uses, turn, cure)
	if how == maybeInside {
		msg += runCheck + "is"
	}
	return msg, how
}

// after judges an access after the launch, in the same iteration of all loops around both.
func (c *conflicts) after(r *launched, t *touch) relation {
	for _, n := range r.stack { // a loop that has launched tasks for all of the memory
		if covers, ok := c.covers(n, r); ok && covers && !slices.Contains(t.stack, n) {
			whole := r.place
			whole.cut = false
			return t.within(whole, t.some)
		}
		if isLoop(n) && !slices.Contains(t.stack, n) && c.variesIn(r.place, n) {
			return maybeInside
		}
	}
	return t.within(r.place, t.some)
}

// variesIn reports whether the bounds of a place depend on variables that a loop declares, or
// are unknown.
func (c *conflicts) variesIn(p place, loop ast.Node) bool {
	if !p.cut {
		return false
	}
	if p.lo == nil || p.hi == nil {
		return true
	}
	return slices.ContainsFunc(p.terms(), func(name string) bool { return termIn(name, loop) })
}

// termIn reports whether a loop declares the variable with that name.
func termIn(name string, loop ast.Node) bool {
	_, pos, ok := strings.Cut(name, "@")
	if !ok {
		return false
	}
	var at int
	fmt.Sscan(pos, &at)
	return int(loop.Pos()) <= at && at < int(loop.End())
}

// covers reports whether a loop over the blocks of a whole slice launches r for each block.
func (c *conflicts) covers(n ast.Node, r *launched) (covers, known bool) {
	loop, ok := n.(*ast.RangeStmt)
	if !ok {
		return false, false
	}
	turn := c.turns(loop)
	if turn.lo == "" || turn.all == nil || conditional(r.stack, loop) {
		return false, false
	}
	p, ok := c.v.place(turn.all)
	if !ok || p.cut || p.obj != r.obj || p.under("*").path != r.cutAt {
		return false, false
	}
	exact := func(a *affine, name string) bool {
		return a != nil && a.c == 0 && len(a.terms) == 1 && a.terms[name] == 1
	}
	return exact(r.lo, turn.lo) && exact(r.hi, turn.hi), true
}

// apart reports whether two statements are in different branches of one statement, of which
// only one branch runs.
func apart(a, b []ast.Node) bool {
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			continue
		}
		if i == 0 {
			return false
		}
		switch s := a[i-1].(type) {
		case *ast.IfStmt:
			return a[i] != ast.Node(s.Cond) && b[i] != ast.Node(s.Cond) && a[i] != s.Init && b[i] != s.Init
		case *ast.BlockStmt:
			_, clause := a[i].(*ast.CaseClause)
			return clause
		}
		return false
	}
	return false
}

func isLoop(n ast.Node) bool {
	switch n.(type) {
	case *ast.ForStmt, *ast.RangeStmt:
		return true
	}
	return false
}

// common lists the loops around both statements, beginning with the innermost one.
func common(a, b []ast.Node) []ast.Node {
	var loops []ast.Node
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			break
		}
		if isLoop(a[i]) {
			loops = append(loops, a[i])
		}
	}
	slices.Reverse(loops)
	return loops
}

// conditional reports whether a statement in a loop depends on a condition within the loop.
func conditional(stack []ast.Node, loop ast.Node) bool {
	for i := len(stack) - 1; i >= 0 && stack[i] != loop; i-- {
		switch stack[i].(type) {
		case *ast.IfStmt, *ast.CaseClause, *ast.ForStmt, *ast.RangeStmt, *ast.FuncLit:
			return true
		}
	}
	return false
}
