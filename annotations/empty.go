package annotations

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// nothing reports a section that calls no kernel, so that every replica runs all of it. It
// reports each call that may be meant as a launch. If there is no such call, it reports the
// directive.
func (w *sectionWalk) nothing() {
	wrong := false // the section calls a kernel with a wrong directive, which is reported elsewhere
	ast.Inspect(w.sec.Stmt, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || w.info.Types[call.Fun].IsType() || w.info.Types[call.Fun].IsBuiltin() {
			return true
		}
		if _, literal := ast.Unparen(call.Fun).(*ast.FuncLit); literal {
			return true // only calls of the section itself count
		}
		fn, _ := calledFunc(w.info, call)
		wrong = wrong || fn != nil && w.annotated(fn)
		if fn == nil || w.ours(fn) {
			w.errorf(call.Pos(), "//intra:section launches nothing: %s", w.why(call, fn))
		}
		return true
	})
	switch {
	case wrong:
		w.errs = nil
	case len(w.errs) == 0:
		w.errorf(w.sec.Dir.Pos, "//intra:section launches nothing: it calls no function that has an //intra:task directive; put the work into one, or leave the section out")
	}
}

// ours reports whether a function may be the user's own, and so a kernel. It is not if it
// belongs to the standard library or to this module.
func (w *sectionWalk) ours(fn *types.Func) bool {
	if fn.Pkg() == nil || slices.Contains([]string{IntraPath, RuntimePath, commPath}, fn.Pkg().Path()) {
		return false
	}
	root, _, _ := strings.Cut(fn.Pkg().Path(), "/")
	own, _, _ := strings.Cut(w.pkg.Path(), "/")
	return fn.Pkg() == w.pkg || root == own || strings.Contains(root, ".")
}

// why returns why a call is not a launch, and how it could become one. fn is nil if the called
// function is a value.
func (w *sectionWalk) why(call *ast.CallExpr, fn *types.Func) string {
	name := types.ExprString(ast.Unparen(call.Fun))
	switch {
	case fn == nil:
		return name + " is a function value, which is called at once on every replica; call the kernel by its name"
	case fn.Signature().Recv() != nil && types.IsInterface(fn.Signature().Recv().Type()):
		return name + " is a method of an interface, which is called at once on every replica; call the kernel on the type that has it"
	}
	return name + " has no //intra:task directive, so every replica runs all of it; annotate it, or write the calls of the kernels in it here"
}
