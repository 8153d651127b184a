package annotations

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// ProtectMethod is the name of the method that a type with //intra:state gets. The method
// registers the fields of a value as state of a process.
const ProtectMethod = "Protect"

// State is an annotated struct type whose fields can be saved.
type State struct {
	Type   *types.TypeName
	Spec   *ast.TypeSpec
	Dir    Directive // the first directive
	Fields []StateField
}

// StateField is a field that is part of the state.
type StateField struct {
	Name string
	How  StateForm
}

// StateForm is the way in which a field is registered as state.
type StateForm uint8

// The forms of registration.
const (
	AddressForm StateForm = iota // by its address
	PointerForm                  // by its value, which is a pointer
	NestedForm                   // by its own Protect method
)

// ParseState parses the text after "//intra:state". pos is the position of its first
// character. It returns the fields to skip.
func ParseState(text string, pos token.Pos) (skip []Ident, errs []*Error) {
	p := newClauseParser(text, pos)
	for p.tok != token.EOF && len(p.errs) == 0 {
		p.skipClause(&skip)
	}
	return skip, p.errs
}

// skipClause parses: "skip" "(" name { "," name } ")" .
func (p *clauseParser) skipClause(skip *[]Ident) {
	name, ok := p.word()
	if !ok || name != "skip" {
		p.errorf(p.off, "found %s, want skip(field, …): every other field is saved", p.found())
		return
	}
	p.next()
	if !p.expect(token.LPAREN, "after skip") {
		return
	}
	for {
		id, ok := p.ident("of a field")
		if !ok {
			return
		}
		*skip = append(*skip, id)
		if p.tok != token.COMMA {
			break
		}
		p.next()
	}
	p.expect(token.RPAREN, "or , in clause skip")
}

// stateScope is the context for resolving the state types of a package.
type stateScope struct {
	info        *types.Info
	pkg         *types.Package
	handwritten func(token.Pos) bool
	ours        func(path string) bool       // reports whether a package is in the same module
	foreign     func(*types.TypeName) bool   // reports whether a type of another package is a state type
	states      map[*types.TypeName]struct{} // state types of this package
	errs        []*Error
}

func (sc *stateScope) errorf(pos token.Pos, format string, args ...any) {
	sc.errs = append(sc.errs, &Error{pos, fmt.Sprintf(format, args...)})
}

// resolve resolves the directives of one type. It returns nil if there is an error.
func (sc *stateScope) resolve(spec *ast.TypeSpec, dirs []Directive) *State {
	before := len(sc.errs)
	obj, ok := sc.info.Defs[spec.Name].(*types.TypeName)
	if !ok {
		sc.errorf(dirs[0].Pos, "%s has no type: it does not compile", spec.Name.Name)
		return nil
	}
	named, _ := obj.Type().(*types.Named)
	var st *types.Struct
	if named != nil {
		st, _ = named.Underlying().(*types.Struct)
	}
	if obj.IsAlias() || st == nil {
		sc.errorf(dirs[0].Pos, "//intra:state belongs to a struct type of its own, which %s is not; register other variables with intra.Protect", obj.Name())
		return nil
	}
	s := &State{Type: obj, Spec: spec, Dir: dirs[0]}
	skip := sc.skipped(st, dirs)
	if len(sc.errs) > before {
		return nil
	}
	for f := range st.Fields() {
		if f.Name() == "_" || skip[f.Name()] {
			continue
		}
		how, why := sc.form(f.Type())
		if why != "" {
			sc.errorf(f.Pos(), "field %s of %s cannot be saved: %s; leave it out with //intra:state skip(%s) if it can be made again%s", f.Name(), obj.Name(), why, f.Name(), sc.cure(f.Type()))
			continue
		}
		s.Fields = append(s.Fields, StateField{f.Name(), how})
	}
	sc.nameTaken(named)
	if len(sc.errs) == before && len(s.Fields) == 0 {
		sc.errorf(dirs[0].Pos, "%s has no field to save", obj.Name())
	}
	if len(sc.errs) > before {
		return nil
	}
	return s
}

// skipped resolves the skip clauses.
func (sc *stateScope) skipped(st *types.Struct, dirs []Directive) map[string]bool {
	skip := map[string]bool{}
	for _, d := range dirs {
		names, errs := ParseState(d.Args, d.ArgsPos)
		sc.errs = append(sc.errs, errs...)
		for _, n := range names {
			fields := fieldNames(st)
			switch {
			case !slices.Contains(fields, n.Name):
				sc.errorf(n.Pos, "clause skip: there is no field %s%s", n.Name, didYouMean(n.Name, fields))
			case skip[n.Name]:
				sc.errorf(n.Pos, "clause skip names %s twice", n.Name)
			}
			skip[n.Name] = true
		}
	}
	return skip
}

// form returns how a field of type t is registered, or why it cannot be registered.
func (sc *stateScope) form(t types.Type) (how StateForm, why string) {
	_, pointer := types.Unalias(t).(*types.Pointer)
	switch {
	case sc.isState(t):
		return NestedForm, ""
	case pointer && marshals(t):
		return PointerForm, ""
	case !pointer && marshals(types.NewPointer(t)):
		return AddressForm, ""
	}
	if s, ok := coreType(t).(*types.Slice); ok {
		if why := holdsPointer(s.Elem()); why != "" {
			return 0, "of its elements, " + why
		}
		return AddressForm, ""
	}
	return AddressForm, holdsPointer(t)
}

// cure suggests a change that makes a field of type t registrable.
func (sc *stateScope) cure(t types.Type) string {
	if isProcess(t) {
		return ""
	}
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := types.Unalias(t).(*types.Named)
	if !ok {
		return ""
	}
	name := types.TypeString(named, types.RelativeTo(sc.pkg))
	owner := named.Obj().Pkg()
	if _, ok := named.Underlying().(*types.Struct); ok && owner != nil && (owner == sc.pkg || sc.ours(owner.Path())) {
		return fmt.Sprintf(", or give %s //intra:state or the methods MarshalBinary and UnmarshalBinary", name)
	}
	return ""
}

// isState reports whether values of t, or values to which t points, have a Protect method or
// will get one.
func (sc *stateScope) isState(t types.Type) bool {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := types.Unalias(t).(*types.Named)
	if !ok {
		return false
	}
	obj := named.Origin().Obj()
	if _, ok := sc.states[obj]; ok {
		return true
	}
	if obj.Pkg() != nil && obj.Pkg() != sc.pkg && sc.foreign(obj) {
		return true
	}
	m, index, _ := types.LookupFieldOrMethod(types.NewPointer(named), true, sc.pkg, ProtectMethod)
	fn, ok := m.(*types.Func)
	if !ok || len(index) > 1 { // the method of an embedded field does not cover the other fields
		return false
	}
	sig := fn.Signature()
	return sig.Params().Len() == 2 && sig.Results().Len() == 0 && isProcess(sig.Params().At(0).Type()) &&
		types.Identical(sig.Params().At(1).Type(), types.Typ[types.String])
}

// marshals reports whether t has the methods MarshalBinary and UnmarshalBinary.
func marshals(t types.Type) bool {
	bytes := types.NewSlice(types.Typ[types.Byte])
	err := types.Universe.Lookup("error").Type()
	has := func(name string, params, results []types.Type) bool {
		m, _, _ := types.LookupFieldOrMethod(t, false, nil, name)
		fn, ok := m.(*types.Func)
		if !ok {
			return false
		}
		sig := fn.Signature()
		return sameTypes(sig.Params(), params) && sameTypes(sig.Results(), results)
	}
	return has("MarshalBinary", nil, []types.Type{bytes, err}) && has("UnmarshalBinary", []types.Type{bytes}, []types.Type{err})
}

func sameTypes(t *types.Tuple, want []types.Type) bool {
	if t.Len() != len(want) {
		return false
	}
	for i := range want {
		if !types.Identical(t.At(i).Type(), want[i]) {
			return false
		}
	}
	return true
}

// nameTaken rejects a type that already has a field or method with the name ProtectMethod.
func (sc *stateScope) nameTaken(named *types.Named) {
	for m := range named.Methods() {
		if m.Name() == ProtectMethod && sc.handwritten(m.Pos()) {
			sc.errorf(m.Pos(), "//intra:state makes the method %s of %s, which is declared here; rename it or take the directive away", ProtectMethod, named.Obj().Name())
		}
	}
	st := named.Underlying().(*types.Struct)
	for f := range st.Fields() {
		if f.Name() == ProtectMethod {
			sc.errorf(f.Pos(), "//intra:state makes a method %s of %s; rename the field", ProtectMethod, named.Obj().Name())
		}
	}
}

// StateTypes returns the names of the types with //intra:state in a file.
func StateTypes(fset *token.FileSet, f *ast.File) []string {
	var names []string
	for spec := range FindDirectives(fset, f).States {
		names = append(names, spec.Name.Name)
	}
	slices.Sort(names)
	return names
}
