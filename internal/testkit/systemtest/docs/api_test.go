package docs

import (
	"fmt"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
)

// Packages that programs import must not expose types that programs cannot name, or should
// not use: types of internal/, and the messages between replicas.
func TestExportedNamesShowNoInternalTypes(t *testing.T) {
	cfg := &packages.Config{Dir: root, Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports}
	loaded, err := packages.Load(cfg, ".", "./comm", "./kernels", "./intratest")
	require.NoError(t, err)
	require.Len(t, loaded, 4)
	for _, p := range loaded {
		require.Empty(t, p.Errors, p.PkgPath)
		require.NotEmpty(t, p.Types.Scope().Names(), p.PkgPath)
		require.Empty(t, exposed(p.Types), p.PkgPath)
	}
}

// The walk finds types in every place where a program can meet them, and in no other
// place.
func TestExposed(t *testing.T) {
	in := types.NewPackage(module+"internal/hidden", "hidden")
	hidden := named(in, "Type", types.NewStruct(nil, nil))
	for name, c := range map[string]struct {
		object func(p *types.Package) types.Object
		want   []string
	}{
		"variable":     {func(p *types.Package) types.Object { return types.NewVar(token.NoPos, p, "V", types.NewSlice(hidden)) }, []string{"V shows internal/hidden.Type"}},
		"not exported": {func(p *types.Package) types.Object { return types.NewVar(token.NoPos, p, "v", hidden) }, nil},
		"result": {func(p *types.Package) types.Object {
			out := types.NewTuple(types.NewVar(token.NoPos, p, "", types.NewPointer(hidden)))
			return types.NewFunc(token.NoPos, p, "F", types.NewSignatureType(nil, nil, nil, nil, out, false))
		}, []string{"F shows internal/hidden.Type"}},
		"field": {func(p *types.Package) types.Object {
			fields := []*types.Var{types.NewField(token.NoPos, p, "own", hidden, false), types.NewField(token.NoPos, p, "Shown", hidden, false)}
			return named(p, "T", types.NewStruct(fields, nil)).Obj()
		}, []string{"T.Shown shows internal/hidden.Type"}},
		"field of a type that is not exported": {func(p *types.Package) types.Object {
			inner := named(p, "inner", types.NewStruct([]*types.Var{types.NewField(token.NoPos, p, "Shown", hidden, false)}, nil))
			return types.NewVar(token.NoPos, p, "V", inner)
		}, []string{"V.Shown shows internal/hidden.Type"}},
		"method": {func(p *types.Package) types.Object {
			n := named(p, "T", types.NewStruct(nil, nil))
			in := types.NewTuple(types.NewVar(token.NoPos, p, "", hidden))
			sig := types.NewSignatureType(types.NewVar(token.NoPos, p, "", n), nil, nil, in, nil, false)
			n.AddMethod(types.NewFunc(token.NoPos, p, "M", sig))
			n.AddMethod(types.NewFunc(token.NoPos, p, "m", sig))
			return n.Obj()
		}, []string{"T.M shows internal/hidden.Type"}},
		"alias": {func(p *types.Package) types.Object {
			obj := types.NewTypeName(token.NoPos, p, "A", nil)
			types.NewAlias(obj, hidden)
			return obj
		}, []string{"A shows internal/hidden.Type"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := types.NewPackage(module+"comm", "comm")
			p.Scope().Insert(c.object(p))
			require.Equal(t, c.want, exposed(p))
		})
	}
}

func named(p *types.Package, name string, underlying types.Type) *types.Named {
	return types.NewNamed(types.NewTypeName(token.NoPos, p, name, nil), underlying, nil)
}

// exposed returns the exported names of a package, including fields and methods, whose
// types mention a type that programs should not meet.
func exposed(p *types.Package) []string {
	w := &walk{own: p, seen: make(map[types.Type]bool)}
	for _, name := range p.Scope().Names() {
		if o := p.Scope().Lookup(name); o.Exported() {
			w.look(name, o.Type())
		}
	}
	return w.found
}

// walk visits the types that a program meets when it uses a package. It does not look into
// types of other packages.
type walk struct {
	own   *types.Package
	seen  map[types.Type]bool
	found []string
}

func (w *walk) look(name string, t types.Type) {
	if t == nil || w.seen[t] {
		return
	}
	switch t := t.(type) {
	case *types.Alias:
		w.owned(name, t.Obj())
		w.look(name, t.Rhs())
	case *types.Named:
		for arg := range t.TypeArgs().Types() {
			w.look(name, arg)
		}
		if !w.owned(name, t.Obj()) {
			return
		}
		w.seen[t] = true
		w.look(name, t.Underlying())
		for m := range t.Methods() {
			if m.Exported() {
				w.look(name+"."+m.Name(), m.Type())
			}
		}
	case *types.Pointer:
		w.look(name, t.Elem())
	case *types.Slice:
		w.look(name, t.Elem())
	case *types.Array:
		w.look(name, t.Elem())
	case *types.Chan:
		w.look(name, t.Elem())
	case *types.Map:
		w.look(name, t.Key())
		w.look(name, t.Elem())
	case *types.Tuple:
		for v := range t.Variables() {
			w.look(name, v.Type())
		}
	case *types.Signature:
		for p := range t.TypeParams().TypeParams() {
			w.look(name, p.Constraint())
		}
		w.look(name, t.Params())
		w.look(name, t.Results())
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() {
				w.look(name+"."+f.Name(), f.Type())
			}
		}
	case *types.Interface:
		for m := range t.Methods() {
			if m.Exported() {
				w.look(name+"."+m.Name(), m.Type())
			}
		}
		for e := range t.EmbeddedTypes() {
			w.look(name, e)
		}
	case *types.Union:
		for term := range t.Terms() {
			w.look(name, term.Type())
		}
	}
}

// owned reports whether a type belongs to the package. It records a type that is not meant
// for programs.
func (w *walk) owned(name string, o *types.TypeName) bool {
	if o.Pkg() == nil || o.Pkg() == w.own {
		return o.Pkg() != nil
	}
	path := o.Pkg().Path()
	if strings.HasPrefix(path, module) && (strings.Contains(path, "/internal/") || path == module+"transport/sdr") {
		w.found = append(w.found, fmt.Sprintf("%s shows %s.%s", name, strings.TrimPrefix(path, module), o.Name()))
	}
	return false
}
