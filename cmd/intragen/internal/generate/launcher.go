package generate

import (
	"bytes"
	"fmt"
	"go/format"
	"go/types"
	"slices"
	"strings"

	"github.com/intrahpc/intra/annotations"
	"github.com/intrahpc/intra/internal/base/clauses"
)

// launcherFile prints the registrations and launchers of one file's kernels, and the methods
// of its state types. source is the name of the file, and text is its content.
func launcherFile(pkg *types.Package, f *annotations.File, source, text string) ([]byte, error) {
	im := newImports(pkg, f.Syntax, nil)
	var body bytes.Buffer
	for _, k := range f.Kernels {
		l := newLauncher(im, k)
		l.print(&body)
	}
	for _, st := range f.States {
		newProtector(im, st).print(&body)
	}
	var b bytes.Buffer
	fmt.Fprintln(&b, annotations.Header(source))
	b.WriteByte('\n')
	if line := annotations.ConstraintLine(annotations.Constraint(f.Syntax), source, false); line != "" {
		fmt.Fprintf(&b, "%s\n\n", line)
	}
	embedded := ""
	if len(f.Kernels) > 0 {
		name := sourceVar(source)
		embedded = fmt.Sprintf("\n//go:embed %s\nvar %s string\n\nvar _ = %s.Clauses(%q, %[2]s, %[5]q)\n",
			source, name, im.runtime(), annotations.OutputName(source), clauses.Fingerprint(text))
	}
	fmt.Fprintf(&b, "package %s\n\n", pkg.Name())
	if imports := im.block(nil); embedded != "" {
		b.WriteString(withEmbed(imports))
	} else {
		b.WriteString(imports)
	}
	b.WriteString(embedded)
	b.Write(body.Bytes())
	printed, err := format.Source(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("print launchers of %s: %w", source, err)
	}
	return printed, nil
}

// launcher prints one launcher.
type launcher struct {
	im      *imports
	k       *annotations.Kernel
	name    string            // name of the launcher's function
	taskVar string            // name of the variable with the registration
	task    string            // registered name of the task
	local   map[string]string // names of parameters in the launcher
	section string
	cell    string
	region  string
	lo, hi  string // names of the bounds of a part's elements; "" without a clause elementwise
	slot    string // variable with the memory of the launch
	args    string // variable with the arguments in that memory
	argType string
	parts   map[*annotations.Param]part
}

// part contains the names that replace a parameter of the clause reduce in a launcher.
type part struct{ name, region string }

func newLauncher(im *imports, k *annotations.Kernel) *launcher {
	l := &launcher{
		im: im, k: k,
		name:    annotations.LauncherName(k.Func),
		taskVar: annotations.TaskVarName(k.Func),
		task:    k.Name(),
		local:   map[string]string{},
	}
	l.names()
	return l
}

// names chooses names for the parameters. The chosen names hide no names that the body uses.
func (l *launcher) names() {
	k := l.k
	reserved := map[string]bool{k.Func.Name(): true, l.taskVar: true, l.im.intra(): true, l.im.reserve(annotations.RuntimePath, runtimeName): true}
	all := k.Params
	if k.Result != nil {
		all = append(slices.Clip(all), k.Result)
		reserved[k.Op] = true
		for _, word := range strings.FieldsFunc(l.im.typeString(k.Result.Var.Type()), notWord) {
			reserved[word] = true
		}
	}
	reserve := func(text string) {
		for _, word := range strings.FieldsFunc(text, notWord) {
			reserved[word] = true
		}
	}
	for _, p := range k.Params {
		reserve(l.im.typeString(p.Var.Type()))
	}
	for _, r := range k.Regions() {
		if b := r.Slice; b != nil {
			l.reserveBounds(reserve, b.Lo, b.Hi)
			if b.Cols != nil {
				l.reserveBounds(reserve, b.Cols.Lo, b.Cols.Hi, b.Cols.Of)
			}
		}
	}
	if k.Func.Pkg() != l.im.pkg {
		reserved[l.im.qualifier(k.Func.Pkg())] = true
	}
	if l.hasRecv() {
		delete(reserved, k.Func.Name())
	}
	taken := map[string]bool{}
	for _, p := range all {
		taken[p.Var.Name()] = true
	}
	for _, p := range all {
		name := p.Var.Name()
		for reserved[name] || name != p.Var.Name() && taken[name] {
			name += "_"
		}
		taken[name] = true
		l.local[p.Var.Name()] = name
	}
	pick := func(candidates ...string) string {
		for _, c := range candidates {
			if !taken[c] && !reserved[c] {
				taken[c] = true
				return c
			}
		}
		c := candidates[len(candidates)-1]
		for taken[c] || reserved[c] {
			c += "_"
		}
		taken[c] = true
		return c
	}
	l.section = pick("s", "sec", "section")
	l.cell = pick("cell")
	l.region = pick("region")
	l.slot, l.args, l.argType = pick("slot", "launch"), pick("a", "args"), pick("arguments")
	if len(k.Elementwise) > 0 {
		if l.lo, l.hi = pick("lo", "from"), "to"; l.lo == "lo" {
			l.hi = "hi"
		}
		l.hi = pick(l.hi, "end")
	}
	l.parts = map[*annotations.Param]part{}
	for _, r := range k.Regions() {
		if r.Kind == annotations.Reduce && r.Param != k.Result {
			name := r.Param.Var.Name()
			l.parts[r.Param] = part{pick(name + "Part"), pick(name + "Region")}
		}
	}
}

func (l *launcher) reserveBounds(reserve func(string), bounds ...*annotations.Bound) {
	for _, b := range bounds {
		if b == nil {
			continue
		}
		reserve(b.Text)
		for _, pkg := range b.Packages {
			reserve(l.im.qualifier(pkg))
		}
	}
}

func notWord(r rune) bool {
	return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

func (l *launcher) hasRecv() bool { return l.k.Func.Signature().Recv() != nil }

func (l *launcher) print(b *bytes.Buffer) {
	k, intra := l.k, l.im.intra()
	fmt.Fprintf(b, "\nvar %s = %s.Register(%q)\n\n", l.taskVar, intra, l.task)
	fmt.Fprintf(b, "// %s launches %s as a task of %s.\n", l.name, annotations.LocalName(k.Func), l.section)
	fmt.Fprintf(b, "func %s%s(%s) {\n", l.name, l.typeParams(), l.params())
	if k.ResultKind() == annotations.Reduce {
		fmt.Fprintf(b, "\t%s, %s := %s.Reduce(%s, %q, %s, %s)\n", l.cell, l.region, intra, l.section,
			k.Result.Var.Name(), l.local[k.Result.Var.Name()], l.op())
	}
	for _, r := range k.Regions() {
		if p, ok := l.parts[r.Param]; ok && r.Kind == annotations.Reduce {
			fmt.Fprintf(b, "\t%s, %s := %s\n", p.name, p.region, l.reduce(r))
		}
	}
	fmt.Fprintf(b, "\ttype %s struct {\n", l.argType)
	fields := l.fields()
	set, values := make([]string, len(fields)), make([]string, len(fields))
	for i, f := range fields {
		fmt.Fprintf(b, "\t\t%s %s\n", f.name, f.typ)
		set[i], values[i] = l.args+"."+f.name, f.name
	}
	fmt.Fprintf(b, "\t}\n\t%s := %s.Slot[%s](%s, %s)\n", l.slot, l.im.runtime(), l.argType, l.section, l.taskVar)
	if len(fields) > 0 {
		fmt.Fprintf(b, "\t%s := &%s.Arguments\n", l.args, l.slot)
	}
	fmt.Fprintf(b, "\tif %s.Body == nil {\n", l.slot)
	if len(k.Elementwise) > 0 {
		fmt.Fprintf(b, "\t\t%s.Part = func(%s, %s int) { %s }\n", l.slot, l.lo, l.hi, l.callKernel(true))
	}
	regions := l.regions()
	if len(regions) > 0 {
		fmt.Fprintf(b, "\t\t%s.Regions = []%s.Region{\n", l.slot, intra)
		for _, r := range regions {
			fmt.Fprintf(b, "\t\t\t%s,\n", r.make)
		}
		b.WriteString("\t\t}\n")
	}
	fmt.Fprintf(b, "\t\t%s.Body = func() { %s }\n", l.slot, l.call()) // last: it shows that the slot is complete
	b.WriteString("\t}\n")
	if len(fields) > 0 { // an assignment of the whole struct would be made by a copy, which takes longer
		fmt.Fprintf(b, "\t%s = %s\n", strings.Join(set, ", "), strings.Join(values, ", "))
	}
	for i, r := range regions {
		switch {
		case r.constant:
		case r.slice != "":
			fmt.Fprintf(b, "\t%s.Set(&%s.Regions[%d], %s)\n", l.im.runtime(), l.slot, i, r.slice)
		default:
			fmt.Fprintf(b, "\t%s.Regions[%d] = %s\n", l.slot, i, r.make)
		}
	}
	fmt.Fprintf(b, "\t%s.LaunchKept(%s, %s.Body, %[3]s.Regions)\n}\n", l.section, l.taskVar, l.slot)
}

// typeParams returns the type parameters of the function, or of its receiver's type.
func (l *launcher) typeParams() string {
	sig := l.k.Func.Signature()
	list := sig.TypeParams()
	if sig.RecvTypeParams().Len() > 0 {
		list = sig.RecvTypeParams()
	}
	if list.Len() == 0 {
		return ""
	}
	var parts []string
	for tp := range list.TypeParams() {
		parts = append(parts, tp.Obj().Name()+" "+l.im.typeString(tp.Constraint()))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// params returns the parameters of the launcher: the section, the receiver, the parameters of
// the kernel, and a pointer for the result. Consecutive parameters of one type share it.
func (l *launcher) params() string {
	list := []field{{l.section, "*" + l.im.intra() + ".Section"}}
	for _, p := range l.k.Params {
		list = append(list, field{l.local[p.Var.Name()], l.im.typeString(p.Var.Type())})
	}
	if r := l.k.Result; r != nil {
		list = append(list, field{l.local[r.Var.Name()], "*" + l.im.typeString(r.Var.Type())})
	}
	var b strings.Builder
	for i, p := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(p.name)
		if i+1 == len(list) || list[i+1].typ != p.typ {
			b.WriteString(" " + p.typ)
		}
	}
	return b.String()
}

// field is a parameter of a launcher, or an argument that the launcher stores.
type field struct{ name, typ string }

// fields returns the arguments that the body of a task needs.
func (l *launcher) fields() []field {
	var list []field
	for _, p := range l.k.Params {
		if part, ok := l.parts[p]; ok {
			list = append(list, field{part.name, ""})
			continue
		}
		list = append(list, field{l.local[p.Var.Name()], l.im.typeString(p.Var.Type())})
	}
	for _, r := range l.k.Regions() {
		if part, ok := l.parts[r.Param]; ok && r.Kind == annotations.Reduce {
			i := slices.IndexFunc(list, func(f field) bool { return f.name == part.name })
			list[i].typ = fmt.Sprintf("*%s.Partial[%s]", l.im.runtime(), l.im.typeString(r.ReduceElem()))
		}
	}
	switch r := l.k.Result; l.k.ResultKind() {
	case annotations.Reduce:
		list = append(list, field{l.cell, "*" + l.im.typeString(r.Var.Type())})
	case annotations.Out:
		list = append(list, field{l.local[r.Var.Name()], "*" + l.im.typeString(r.Var.Type())})
	}
	return list
}

// op returns the operator of a reduction as a function.
func (l *launcher) op() string {
	k := l.k
	t := l.im.typeString(k.Result.Var.Type())
	switch k.Op {
	case "+", "*", "&&", "||", "&", "|", "^":
		return fmt.Sprintf("func(a, b %s) %[1]s { return a %s b }", t, k.Op)
	}
	if k.Func.Pkg().Scope().Lookup(k.Op) == nil { // the operator is the builtin min or max
		return fmt.Sprintf("func(a, b %s) %[1]s { return %s(a, b) }", t, k.Op)
	}
	if k.Func.Pkg() != l.im.pkg {
		return l.im.qualifier(k.Func.Pkg()) + "." + k.Op
	}
	return k.Op
}

// reduce prints the code that allocates the memory of a task for a parameter of the clause
// reduce.
func (l *launcher) reduce(r annotations.Region) string {
	fun, v := "ReduceSlice", l.local[r.Param.Var.Name()]
	if r.Form == annotations.PtrForm {
		if isArrayPointer(r.Param) {
			v += "[:]"
		} else {
			fun = "ReduceVar"
		}
	}
	return fmt.Sprintf("%s.%s(%s, %q, %s, %s)", l.im.runtime(), fun, l.section, r.Name, v, l.opOf(r))
}

// opNames maps operators to those of package runtime.
var opNames = map[string]string{"+": "OpAdd", "*": "OpMul", "min": "OpMin", "max": "OpMax", "&&": "OpAnd", "||": "OpOr", "&": "OpBitAnd", "|": "OpBitOr", "^": "OpBitXor"}

func (l *launcher) opOf(r annotations.Region) string {
	pkg, t := l.k.Func.Pkg(), l.im.typeString(r.ReduceElem())
	if name := opNames[r.Op]; name != "" && pkg.Scope().Lookup(r.Op) == nil {
		return fmt.Sprintf("%s.%s[%s]()", l.im.runtime(), name, t)
	}
	fun := r.Op
	if pkg != l.im.pkg {
		fun = l.im.qualifier(pkg) + "." + fun
	}
	return fmt.Sprintf("%s.OpFunc[%s](%s)", l.im.runtime(), t, fun)
}

func isArrayPointer(p *annotations.Param) bool {
	ptr, ok := p.Var.Type().Underlying().(*types.Pointer)
	if !ok {
		return false
	}
	_, ok = ptr.Elem().Underlying().(*types.Array)
	return ok
}

// argument returns the argument that the kernel gets for a parameter.
func (l *launcher) argument(p *annotations.Param) string {
	part, ok := l.parts[p]
	switch {
	case !ok:
		return l.args + "." + l.local[p.Var.Name()]
	case isArrayPointer(p):
		return fmt.Sprintf("(%s)(%s.%s.Slice())", l.im.typeString(p.Var.Type()), l.args, part.name)
	}
	if _, pointer := p.Var.Type().Underlying().(*types.Pointer); pointer {
		return l.args + "." + part.name + ".Var()"
	}
	return l.args + "." + part.name + ".Slice()"
}

func (l *launcher) call() string {
	k := l.k
	call := l.callKernel(false)
	switch k.ResultKind() {
	case annotations.Reduce:
		return fmt.Sprintf("*%s.%s = %s", l.args, l.cell, call)
	case annotations.Out:
		return fmt.Sprintf("*%s.%s = %s", l.args, l.local[k.Result.Var.Name()], call)
	}
	return call
}

// elements returns the slice expression for elements lo to hi of a parameter, if the parameter
// is in the clause elementwise.
func (l *launcher) elements(p *annotations.Param, cut bool) string {
	if !cut || !slices.Contains(l.k.Elementwise, p) {
		return ""
	}
	return fmt.Sprintf("[%s:%s]", l.lo, l.hi)
}

// callKernel prints the call of the kernel with the launcher's parameters. With cut, the call
// covers only elements lo to hi.
func (l *launcher) callKernel(cut bool) string {
	k := l.k
	var args []string
	fun := k.Func.Name()
	if k.Func.Pkg() != l.im.pkg && !l.hasRecv() {
		fun = l.im.qualifier(k.Func.Pkg()) + "." + fun
	}
	for i, p := range k.Params {
		name := l.argument(p)
		switch {
		case p.Recv:
			fun = name + "." + fun
			continue
		case i == len(k.Params)-1 && k.Func.Signature().Variadic():
			name += l.elements(p, cut) + "..."
		default:
			name += l.elements(p, cut)
		}
		args = append(args, name)
	}
	// Go does not infer type arguments from results alone.
	if tps := k.Func.Signature().TypeParams(); tps.Len() > 0 {
		var names []string
		for tp := range tps.TypeParams() {
			names = append(names, tp.Obj().Name())
		}
		fun += "[" + strings.Join(names, ", ") + "]"
	}
	return fmt.Sprintf("%s(%s)", fun, strings.Join(args, ", "))
}

var regionFuncs = map[annotations.Kind]string{annotations.In: "In", annotations.Out: "Out", annotations.InOut: "InOut", annotations.Scratch: "Scratch"}
