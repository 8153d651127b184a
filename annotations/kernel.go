package annotations

import (
	"go/ast"
	"go/types"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kernel is an annotated function with resolved clauses.
type Kernel struct {
	Func   *types.Func
	Decl   *ast.FuncDecl
	Dir    Directive // the first directive
	Params []*Param  // the receiver, then the parameters in order
	Result *Param    // nil if there is no result
	Items  []*ItemInfo
	Op     string // operator of the reduce clause that names the result

	Elementwise []*Param // slices in the elementwise clause; nil if there is no such clause
}

// Param is a receiver, parameter or result of a kernel.
type Param struct {
	Var   *types.Var
	Index int // index in Kernel.Params; -1 for the result
	Recv  bool
}

// Form determines how the region of an item is made.
type Form uint8

// The forms of regions.
const (
	NoRegion   Form = iota // the memory contains pointers or is scratch: nothing is sent
	SliceForm              // the elements of a slice
	VarForm                // a variable whose address is taken
	PtrForm                // the variable that a pointer points to
	ResultForm             // the result
)

// ItemInfo is a resolved item.
type ItemInfo struct {
	Kind  Kind
	Item  Item
	Param *Param
	Form  Form
	Op    string     // operator of a reduce clause
	path  string     // path of the memory that the item covers, from the parameter; see effects.go
	typ   types.Type // type of the named variable
}

// Name returns the name of the kernel in reports: the import path, a dot, and LocalName.
func (k *Kernel) Name() string { return FuncName(k.Func) }

// FuncName returns the name of any function in the form of [Kernel.Name].
func FuncName(f *types.Func) string {
	f = f.Origin()
	path := ""
	if f.Pkg() != nil {
		path = f.Pkg().Path() + "."
	}
	return path + LocalName(f)
}

// LocalName returns the name of a function within its package. For a method it is preceded
// by the receiver's type and a dot.
func LocalName(f *types.Func) string {
	if recv := f.Signature().Recv(); recv != nil {
		if n := receiverType(recv); n != nil {
			return n.Obj().Name() + "." + f.Name()
		}
	}
	return f.Name()
}

func receiverType(recv *types.Var) *types.Named {
	t := types.Unalias(recv.Type())
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	n, _ := t.(*types.Named)
	return n
}

// Exported reports whether other packages can name the kernel.
func (k *Kernel) Exported() bool { return exportedFunc(k.Func) }

func exportedFunc(f *types.Func) bool {
	if recv := f.Signature().Recv(); recv != nil {
		if n := receiverType(recv); n == nil || !n.Obj().Exported() {
			return false
		}
	}
	return f.Exported()
}

// BaseName returns the part of generated names that identifies a kernel: Waxpby, IonsPush.
func BaseName(f *types.Func) string {
	var b strings.Builder
	for part := range strings.SplitSeq(LocalName(f), ".") {
		b.WriteString(upperFirst(part))
	}
	return b.String()
}

// LauncherName returns the name of the function that launches f as a task.
func LauncherName(f *types.Func) string {
	if exportedFunc(f) {
		return "Launch" + BaseName(f)
	}
	return "launch" + BaseName(f)
}

// TaskVarName returns the name of the variable that holds f's registration.
func TaskVarName(f *types.Func) string { return "task" + BaseName(f) }

func upperFirst(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// ResultKind returns the kind of the clause that names the result: Out or Reduce. It returns 0
// if there is no result.
func (k *Kernel) ResultKind() Kind {
	for _, it := range k.Items {
		if k.Result != nil && it.Param == k.Result {
			return it.Kind
		}
	}
	return 0
}
