package generate

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/dave/dst"
	"github.com/dave/dst/decorator"
	"github.com/dave/dst/dstutil"
	"golang.org/x/tools/go/packages"

	"github.com/intrahpc/intra/annotations"
)

// twin rewrites one file with sections.
type twin struct {
	c       *checked
	pkg     *packages.Package
	file    *annotations.File
	source  string // name of the source, without the folder
	text    []byte
	im      *imports
	have    map[string]bool // paths that the source imports under an explicit name
	idents  map[string]bool // every identifier of the source
	section string          // name of the section variable
	local   bytes.Buffer    // launchers of kernels that have no launcher elsewhere
	done    map[string]string
	diags   []Diagnostic
	dec     *decorator.Decorator
	replace map[dst.Node]func() dst.Node
}

func (t *twin) fail(pos token.Pos, format string, args ...any) {
	t.diags = append(t.diags, Diagnostic{t.c.fset.Position(pos), fmt.Sprintf(format, args...)})
}

// twinFile prints the twin of a file with sections.
func (c *checked) twinFile(pkg *packages.Package, file *annotations.File, text []byte) ([]byte, []Diagnostic, error) {
	t := &twin{c: c, pkg: pkg, file: file, source: filepath.Base(file.Name), text: text,
		have: map[string]bool{}, idents: map[string]bool{}, done: map[string]string{}, replace: map[dst.Node]func() dst.Node{}}
	ast.Inspect(file.Syntax, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			t.idents[id.Name] = true
		}
		return true
	})
	t.im = newImports(pkg.Types, file.Syntax, t.idents)
	for p := range t.im.names {
		t.have[p] = true
	}
	t.section = t.free("section", "intraSection")
	out, err := t.print()
	if err != nil {
		return nil, nil, fmt.Errorf("rewrite %s: %w", t.source, err)
	}
	return out, t.diags, nil
}

// free returns the first name that the source does not use.
func (t *twin) free(names ...string) string {
	for _, n := range names {
		if !t.idents[n] {
			t.idents[n] = true
			return n
		}
	}
	n := names[len(names)-1]
	for t.idents[n] {
		n += "0"
	}
	t.idents[n] = true
	return n
}

func (t *twin) print() ([]byte, error) {
	t.lineDirectives()
	t.nameTaken()
	t.dec = decorator.NewDecorator(t.c.fset)
	f, err := t.dec.DecorateFile(t.file.Syntax)
	if err != nil {
		return nil, err
	}
	if err := t.roundTrip(f); err != nil {
		return nil, err
	}
	for _, sec := range t.file.Sections {
		t.planSection(sec)
	}
	if len(t.diags) > 0 {
		return nil, nil
	}
	dstutil.Apply(f, nil, func(cur *dstutil.Cursor) bool {
		if r := t.replace[cur.Node()]; r != nil {
			cur.Replace(r())
		}
		return true
	})
	t.head(f)
	if err := t.declarations(f); err != nil {
		return nil, err
	}
	return t.finish(f)
}

// lineDirectives rejects sources with //line directives, which dst cannot reproduce.
func (t *twin) lineDirectives() {
	for _, g := range t.file.Syntax.Comments {
		for _, c := range g.List {
			if strings.HasPrefix(c.Text, "//line ") || strings.HasPrefix(c.Text, "/*line ") {
				t.fail(c.Pos(), "a file with //intra:section cannot hold //line directives")
			}
		}
	}
}

// sourceVar returns the name of the variable that embeds the source.
func sourceVar(source string) string {
	var b strings.Builder
	b.WriteString("intraSource")
	for part := range strings.FieldsFuncSeq(strings.TrimSuffix(source, ".go"), notWord) {
		for word := range strings.SplitSeq(part, "_") {
			if word != "" {
				b.WriteString(strings.ToUpper(word[:1]) + word[1:])
			}
		}
	}
	return b.String()
}

func (t *twin) nameTaken() {
	name := sourceVar(t.source)
	if obj := t.pkg.Types.Scope().Lookup(name); obj != nil {
		p := t.c.fset.Position(obj.Pos())
		t.fail(t.file.Syntax.Name.Pos(), "the twin of %s needs the name %s, which is declared at %s:%d; rename one", t.source, name, filepath.Base(p.Filename), p.Line)
	}
}

// planSection plans the rewriting of one section.
func (t *twin) planSection(sec *annotations.Section) {
	runtime := t.im.runtime()
	t.visible(sec.Stmt.Pos(), runtime, annotations.RuntimePath)
	option := func(name string) string { // package intra is imported only if a section has an option
		intra := t.im.intra()
		t.visible(sec.Stmt.Pos(), intra, annotations.IntraPath)
		return ", " + intra + "." + name
	}
	opts := fmt.Sprintf("%s.At(%q)", runtime, fmt.Sprintf("%s/%s:%d", t.folder(), t.source, t.line(sec.Stmt.Pos())))
	if sec.Sched != "" {
		opts += option(strings.ToUpper(sec.Sched[:1]) + sec.Sched[1:])
	}
	if sec.Keep {
		opts += option("Keep")
	}
	for _, l := range sec.Launches {
		launch := t.launch(l)
		t.replace[t.dec.Dst.Nodes[l.Stmt]] = func() dst.Node { return launch(t.dec.Dst.Nodes[l.Stmt].(dst.Stmt)) }
	}
	open, err1 := parseStmt(fmt.Sprintf("%s := %s.Section(%s)", t.section, sec.Process, opts))
	end, err2 := parseStmt(t.section + ".MustEnd()")
	if err1 != nil || err2 != nil {
		t.fail(sec.Dir.Pos, "cannot write the section on %s", sec.Process)
		return
	}
	node := t.dec.Dst.Nodes[sec.Stmt]
	t.replace[node] = func() dst.Node {
		open.Decorations().After, end.Decorations().Before = dst.NewLine, dst.NewLine
		open.Decorations().Before = dst.NewLine
		if block, ok := node.(*dst.BlockStmt); ok {
			block.List = append(append([]dst.Stmt{open}, block.List...), end)
			return block
		}
		st := node.(dst.Stmt)
		block := &dst.BlockStmt{List: []dst.Stmt{open, st, end}}
		from, to := st.Decorations(), block.Decorations()
		to.Before, to.After, to.Start, to.End = from.Before, from.After, from.Start, from.End
		from.Before, from.After, from.Start, from.End = dst.NewLine, dst.NewLine, nil, nil
		return block
	}
}

// visible rejects a source in which a name of the generated code has another meaning at pos.
func (t *twin) visible(pos token.Pos, name, path string) {
	_, obj := t.pkg.Types.Scope().Innermost(pos).LookupParent(name, pos)
	if obj == nil || obj.Parent() == t.pkg.Types.Scope() && path == "" {
		return
	}
	if pn, ok := obj.(*types.PkgName); ok && pn.Imported().Path() == path {
		return
	}
	p := t.c.fset.Position(obj.Pos())
	t.fail(pos, "the twin needs the name %s here, which is declared at %s:%d; rename one", name, filepath.Base(p.Filename), p.Line)
}

// launch plans the call of a launcher that replaces a kernel's call.
func (t *twin) launch(l *annotations.Launch) func(dst.Stmt) dst.Stmt {
	fun := t.launcherExpr(l)
	return func(old dst.Stmt) dst.Stmt {
		call := t.dec.Dst.Nodes[l.Call].(*dst.CallExpr)
		args := []dst.Expr{dst.NewIdent(t.section)}
		if recv := t.receiver(l, call); recv != nil {
			args = append(args, recv)
		}
		args = append(args, call.Args...)
		if l.Target != nil {
			target := t.dec.Dst.Nodes[l.Target].(dst.Expr)
			args = append(args, &dst.UnaryExpr{Op: token.AND, X: dst.Clone(target).(dst.Expr)})
		}
		var f dst.Expr = fun
		switch inst := unparen(call.Fun).(type) {
		case *dst.IndexExpr:
			inst.X = fun
			f = inst
		case *dst.IndexListExpr:
			inst.X = fun
			f = inst
		}
		call.Fun, call.Args, call.Ellipsis = f, args, false
		st := &dst.ExprStmt{X: call}
		st.Decs.NodeDecs = *old.Decorations()
		return st
	}
}

func unparen(e dst.Expr) dst.Expr {
	for {
		p, ok := e.(*dst.ParenExpr)
		if !ok {
			return e
		}
		e = p.X
	}
}

// receiver returns the receiver of a method call as an argument.
func (t *twin) receiver(l *annotations.Launch, call *dst.CallExpr) dst.Expr {
	recv := l.Callee.Func.Signature().Recv()
	if recv == nil {
		return nil
	}
	sel := ast.Unparen(l.Call.Fun).(*ast.SelectorExpr)
	x := unparen(call.Fun).(*dst.SelectorExpr).X
	s := t.pkg.TypesInfo.Selections[sel]
	typ := s.Recv()
	for _, i := range s.Index()[:len(s.Index())-1] {
		if p, ok := typ.Underlying().(*types.Pointer); ok {
			typ = p.Elem()
		}
		f := typ.Underlying().(*types.Struct).Field(i)
		x, typ = &dst.SelectorExpr{X: x, Sel: dst.NewIdent(f.Name())}, f.Type()
	}
	_, want := types.Unalias(recv.Type()).(*types.Pointer)
	_, got := typ.Underlying().(*types.Pointer)
	switch {
	case want && !got:
		return &dst.UnaryExpr{Op: token.AND, X: x}
	case got && !want:
		return &dst.StarExpr{X: x}
	}
	return x
}

// launcherExpr returns the launcher of a kernel: one of this package, an exported one of the
// kernel's package, or one generated for this file.
func (t *twin) launcherExpr(l *annotations.Launch) dst.Expr {
	fn := l.Callee.Func
	name := annotations.LauncherName(fn)
	if fn.Pkg() == t.pkg.Types {
		t.visible(l.Call.Pos(), name, "")
		return dst.NewIdent(name)
	}
	kernel, owner := t.c.kernelOf(fn)
	if kernel == nil {
		t.fail(l.Call.Pos(), "kernel %s is not among the sources that were loaded", annotations.FuncName(fn))
		return dst.NewIdent(name)
	}
	generated := owner.Module != nil && owner.Module.Main // intragen has generated the launcher, or will do so in this run
	declared, _ := fn.Pkg().Scope().Lookup(name).(*types.Func)
	if kernel.Exported() && (generated || declared != nil) {
		qualifier := t.im.qualifier(fn.Pkg())
		t.visible(l.Call.Pos(), qualifier, fn.Pkg().Path())
		return &dst.SelectorExpr{X: dst.NewIdent(qualifier), Sel: dst.NewIdent(name)}
	}
	if !kernel.Exported() {
		t.fail(l.Call.Pos(), "kernel %s has a receiver type that is not exported, so no launcher can be called here", annotations.FuncName(fn))
		return dst.NewIdent(name)
	}
	return dst.NewIdent(t.localLauncher(kernel))
}

// localLauncher prints a launcher into the twin, for a kernel of a package for which intragen
// was never run. The registered name contains the location, since other files may have such a
// launcher, too.
func (t *twin) localLauncher(k *annotations.Kernel) string {
	if name, ok := t.done[k.Name()]; ok {
		return name
	}
	pkgName := k.Func.Pkg().Name()
	suffix := strings.ToUpper(pkgName[:1]) + pkgName[1:] + annotations.BaseName(k.Func) + strings.TrimPrefix(sourceVar(t.source), "intraSource")
	l := newLauncher(t.im, k)
	l.name, l.taskVar = "launch"+suffix, "task"+suffix
	l.task = fmt.Sprintf("%s [%s/%s]", k.Name(), t.pkg.PkgPath, t.source)
	l.print(&t.local)
	t.done[k.Name()] = l.name
	return l.name
}

// head replaces the build line by that of the twin, and puts it under the header.
func (t *twin) head(f *dst.File) {
	var kept []string
	for _, d := range f.Decs.Start {
		if strings.HasPrefix(d, "//go:build ") || strings.HasPrefix(d, "// +build ") {
			continue
		}
		if d == "\n" && (len(kept) == 0 || kept[len(kept)-1] == "\n") {
			continue
		}
		kept = append(kept, d)
	}
	line := annotations.ConstraintLine(annotations.Constraint(t.file.Syntax), t.source, true)
	f.Decs.Start = append(dst.Decorations{annotations.Header(t.source), "\n", line, "\n"}, kept...)
}

// declarations adds imports, the embedded source, and local launchers.
func (t *twin) declarations(f *dst.File) error {
	name := sourceVar(t.source)
	text := fmt.Sprintf("package p\n\n//go:embed %s\nvar %s string\n\nvar _ = %s.Embedded(%q, %s, \"%x\")\n\nvar _ = %[3]s.Lines(%[7]q)\n%[8]s",
		t.source, name, t.im.runtime(), annotations.OutputName(t.source), name, sha256.Sum256(t.text), linesHere, t.local.String())
	added, err := decorator.Parse(text)
	if err != nil {
		return err
	}
	imports := t.im.block(t.have)
	if !t.importsEmbed() {
		imports = withEmbed(imports)
	}
	at := 0
	for i, d := range f.Decls {
		if g, ok := d.(*dst.GenDecl); ok && g.Tok == token.IMPORT {
			at = i + 1
		}
	}
	var first []dst.Decl
	if imports != "" {
		im, err := decorator.Parse("package p\n\n" + imports)
		if err != nil {
			return err
		}
		first = im.Decls
	}
	var decls []dst.Decl
	decls = append(decls, f.Decls[:at]...)
	decls = append(decls, first...)
	decls = append(decls, added.Decls...)
	f.Decls = append(decls, f.Decls[at:]...)
	for _, d := range f.Decls[at:] {
		if d.Decorations().Before == dst.None || d.Decorations().Before == dst.NewLine {
			d.Decorations().Before = dst.EmptyLine
		}
	}
	return nil
}

func (t *twin) importsEmbed() bool {
	for _, spec := range t.file.Syntax.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil && p == "embed" {
			return true
		}
	}
	return false
}
