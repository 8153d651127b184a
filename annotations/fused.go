package annotations

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// Second is the second body of a kernel: it does the same and besides stores
// the result in one more slice.
type Second struct {
	Name Ident       // as the clause fused has it
	Func *types.Func // nil if there is none of that name that fits
	Decl *ast.FuncDecl
	Elem types.Type // of the slice, with the type parameters of the kernel
}

// second = name ")" .
func (p *clauseParser) second(c *Clause) bool {
	id, ok := p.ident("of a function")
	if !ok {
		return false
	}
	c.Items = []Item{{Root: id, Text: id.Name}}
	if p.tok != token.RPAREN {
		p.errorf(p.off, "found %s, want ) after the one name in clause fused: a function of the package, or a method of the same receiver", p.found())
		return false
	}
	p.next()
	return true
}

// second takes the name that a fused clause holds.
func (r *resolved) second(c Clause) {
	k := r.kernel
	if k.Second != nil {
		r.errorf(c.Pos, "kernel %s has two fused clauses; a kernel has one second body", k.Func.Name())
		return
	}
	k.Second = &Second{Name: c.Items[0].Root}
}

// resolveSecond finds the function of the fused clause. It needs the items,
// since the result has to be one slice.
func (r *resolved) resolveSecond(info *types.Info, files []*ast.File) {
	k := r.kernel
	if k.Second == nil || r.broken {
		return
	}
	s, name := k.Second, k.Second.Name.Name
	result := r.onlyResult()
	if result == nil {
		return
	}
	fn, sig := r.lookupSecond()
	if fn == nil {
		return
	}
	want := k.secondSignature(result)
	if !fits(sig, want) {
		alike := ""
		if fn.Signature().TypeParams().Len()+k.Func.Signature().TypeParams().Len() > 0 {
			alike = ", with type parameters like its own"
		}
		r.errorf(s.Name.Pos, "clause fused: %s is %s; want %s, as for %s and one more slice for %s%s", name, r.typeString(fn.Signature()), r.typeString(want), k.Func.Name(), result.Item.Path(), alike)
		return
	}
	file, decl := declaration(info, files, fn)
	if decl == nil || mentionsTag(Constraint(file)) {
		r.errorf(s.Name.Pos, "clause fused: %s is in a file that depends on the build tag %s; move it to a file without, so that every build has it", name, Tag)
		return
	}
	s.Func, s.Decl, s.Elem = fn, decl, elementOf(result.typ)
}

// onlyResult finds the one region that a task of the kernel writes.
func (r *resolved) onlyResult() *ItemInfo {
	k := r.kernel
	var written []*ItemInfo
	for _, it := range k.Items {
		if it.Kind == Out || it.Kind == InOut || it.Kind == Reduce {
			written = append(written, it)
		}
	}
	at := k.Second.Name.Pos
	switch {
	case len(written) == 0:
		if len(r.missing) == 0 {
			r.errorf(at, "clause fused: kernel %s writes nothing that could be stored twice; leave fused out", k.Func.Name())
		}
		return nil
	case len(written) > 1:
		r.errorf(at, "clause fused: kernel %s writes both %s and %s; fused is for a kernel that writes one slice", k.Func.Name(), written[0].Item.Text, written[1].Item.Text)
		return nil
	}
	it := written[0]
	switch {
	case it.Form != SliceForm:
		r.errorf(at, "clause fused: %s, which kernel %s writes, is not a slice; fused is for a kernel that writes one slice", it.Item.Text, k.Func.Name())
	case it.Item.Slice != nil && it.Item.Slice.Cols != nil:
		r.errorf(at, "clause fused: %s, which kernel %s writes, is a block of rows and columns; fused is for a kernel that writes one slice", it.Item.Text, k.Func.Name())
	case it.Kind != Out:
		r.errorf(at, "clause fused: %s is in %s; fused is for a kernel whose result is in out", it.Item.Text, it.Kind)
	default:
		return it
	}
	return nil
}

// lookupSecond finds the function, or the method of the same receiver, and its
// signature in terms of the kernel's type parameters.
func (r *resolved) lookupSecond() (*types.Func, *types.Signature) {
	k, name := r.kernel, r.kernel.Second.Name
	pkg, scope := k.Func.Pkg(), k.Func.Pkg().Scope()
	if recv := k.Func.Signature().Recv(); recv != nil {
		var names []string
		if n := receiverType(recv); n != nil {
			for m := range n.Origin().Methods() {
				names = append(names, m.Name())
			}
		}
		obj, index, _ := types.LookupFieldOrMethod(recv.Type(), true, pkg, name.Name)
		fn, ok := obj.(*types.Func)
		if !ok || len(index) != 1 {
			r.errorf(name.Pos, "clause fused: %s has no method %s%s; the second body of a method is a method of the same receiver", r.typeString(recv.Type()), name.Name, didYouMean(name.Name, names))
			return nil, nil
		}
		if _, pointer := types.Unalias(recv.Type()).(*types.Pointer); pointer != isPointer(fn.Signature().Recv().Type()) {
			r.errorf(name.Pos, "clause fused: the receiver of %s is a %s, that of kernel %s a %s; give both the same", name.Name, r.typeString(fn.Signature().Recv().Type()), k.Func.Name(), r.typeString(recv.Type()))
			return nil, nil
		}
		return fn.Origin(), fn.Signature()
	}
	fn, ok := scope.Lookup(name.Name).(*types.Func)
	if !ok {
		names := slices.DeleteFunc(scope.Names(), func(n string) bool {
			_, isFunc := scope.Lookup(n).(*types.Func)
			return !isFunc || n == k.Func.Name()
		})
		r.errorf(name.Pos, "clause fused: %s is not a function of package %s%s", name.Name, pkg.Name(), didYouMean(name.Name, names))
		return nil, nil
	}
	sig := fn.Signature()
	if sig.TypeParams().Len() != k.Func.Signature().TypeParams().Len() {
		return fn, nil
	}
	if sig.TypeParams().Len() > 0 {
		var args []types.Type
		for tp := range k.Func.Signature().TypeParams().TypeParams() {
			args = append(args, tp)
		}
		inst, err := types.Instantiate(nil, sig, args, true)
		if err != nil {
			return fn, nil
		}
		sig = inst.(*types.Signature)
	}
	return fn, sig
}

func isPointer(t types.Type) bool {
	_, ok := types.Unalias(t).(*types.Pointer)
	return ok
}

// secondSignature is what the second body of a kernel takes.
func (k *Kernel) secondSignature(result *ItemInfo) *types.Signature {
	sig := k.Func.Signature()
	params := slices.Collect(sig.Params().Variables())
	name := result.Item.Root.Name
	if n := len(result.Item.Fields); n > 0 {
		name = result.Item.Fields[n-1].Name
	}
	last := types.NewVar(token.NoPos, k.Func.Pkg(), freeName(k, name+"2"), types.NewSlice(elementOf(result.typ)))
	return types.NewSignatureType(nil, nil, nil, types.NewTuple(append(params, last)...), nil, false)
}

// elementOf is the element type of a region in the form of a slice.
func elementOf(t types.Type) types.Type {
	switch u := coreType(t).(type) {
	case *types.Slice:
		return u.Elem()
	case *types.Array:
		return u.Elem()
	case *types.Pointer:
		return elementOf(u.Elem())
	}
	return nil
}

// fits compares parameter types. The last may be a slice type with a name.
func fits(got, want *types.Signature) bool {
	if got == nil || got.Variadic() || got.Results().Len() > 0 || got.Params().Len() != want.Params().Len() {
		return false
	}
	last := want.Params().Len() - 1
	for i := range last {
		if !types.Identical(got.Params().At(i).Type(), want.Params().At(i).Type()) {
			return false
		}
	}
	return types.AssignableTo(want.Params().At(last).Type(), got.Params().At(last).Type()) && isSlice(got.Params().At(last).Type())
}

func isSlice(t types.Type) bool {
	_, ok := coreType(t).(*types.Slice)
	return ok
}

func declaration(info *types.Info, files []*ast.File, fn *types.Func) (*ast.File, *ast.FuncDecl) {
	for _, f := range files {
		for _, d := range f.Decls {
			if fd, ok := d.(*ast.FuncDecl); ok && info.Defs[fd.Name] == fn {
				return f, fd
			}
		}
	}
	return nil, nil
}

// asKernel is the second body with the clauses of its kernel, each about the
// parameter in the same place, and its last parameter in out.
func (s *Second) asKernel(k *Kernel) *Kernel {
	second := &Kernel{Func: s.Func, Decl: s.Decl, Dir: k.Dir}
	sig := s.Func.Signature()
	if recv := sig.Recv(); recv != nil {
		second.Params = append(second.Params, &Param{Var: recv, Recv: true})
	}
	for v := range sig.Params().Variables() {
		second.Params = append(second.Params, &Param{Var: v, Index: len(second.Params)})
	}
	for _, it := range k.Items {
		i := slices.Index(k.Params, it.Param)
		if i < 0 {
			continue
		}
		own, v := *it, second.Params[i].Var
		own.Param = second.Params[i]
		own.Item.Text = v.Name() + it.Item.Text[len(it.Item.Root.Name):]
		own.Item.Root = Ident{v.Name(), v.Pos()}
		second.Items = append(second.Items, &own)
	}
	last := second.Params[len(second.Params)-1]
	second.Items = append(second.Items, &ItemInfo{Kind: Out, Param: last, Form: SliceForm, path: "*", typ: last.Var.Type(),
		Item: Item{Root: Ident{last.Var.Name(), last.Var.Pos()}, Text: last.Var.Name()}})
	return second
}

// checkSecond compares what the second body of a kernel does with the clauses
// of the kernel.
func checkSecond(k *Kernel, b *body) []finding {
	second := k.Second.asKernel(k)
	c := &kernelCheck{k: second, name: second.Func.Name(), secondOf: k.Func.Name()}
	return c.check(&resolved{kernel: second}, b)
}
