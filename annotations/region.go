package annotations

import (
	"go/types"
	"slices"
	"strings"
)

// Region is memory that a launcher passes to the runtime.
type Region struct {
	Kind   Kind
	Form   Form
	Name   string   // name in the clause
	Param  *Param   // the parameter in which the region begins
	Fields []string // fields from there to the region
	Slice  *Bounds
	Op     string // operator of a reduction
}

// Regions lists the regions of a kernel's tasks in the order of the clauses, including the
// region of the result. If other clauses name fields of an item, the item is split into its
// remaining fields.
func (k *Kernel) Regions() []Region {
	var regions []Region
	for _, it := range k.Items {
		if it.Form == NoRegion {
			continue
		}
		var fields []string
		for _, f := range it.Item.Fields {
			fields = append(fields, f.Name)
		}
		r := Region{Kind: it.Kind, Form: it.Form, Name: it.Item.Text, Param: it.Param, Fields: fields, Slice: it.Item.Slice, Op: it.Op}
		inner := k.inside(it)
		if len(inner) == 0 {
			regions = append(regions, r)
			continue
		}
		regions = append(regions, k.split(r, it.typ, it.Item.Path(), inner)...)
	}
	return regions
}

// inside lists the paths of items that name fields of this item.
func (k *Kernel) inside(it *ItemInfo) []string {
	var paths []string
	for _, other := range k.Items {
		if other != it && other.Param == it.Param && strings.HasPrefix(other.Item.Path(), it.Item.Path()+".") {
			paths = append(paths, other.Item.Path())
		}
	}
	return paths
}

// split returns regions for those fields of r that no other clause names.
func (k *Kernel) split(r Region, t types.Type, path string, named []string) []Region {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	st, ok := t.Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	var regions []Region
	for f := range st.Fields() {
		at := path + "." + f.Name()
		if f.Name() == "_" || slices.Contains(named, at) || !f.Exported() && f.Pkg() != k.Func.Pkg() {
			continue
		}
		field := Region{Kind: r.Kind, Form: VarForm, Name: at, Param: r.Param, Fields: append(slices.Clip(r.Fields), f.Name())}
		if slices.ContainsFunc(named, func(n string) bool { return strings.HasPrefix(n, at+".") }) {
			regions = append(regions, k.split(field, f.Type(), at, named)...)
			continue
		}
		regions = append(regions, field)
	}
	return regions
}

// Argument is a part of a kernel's arguments in the clause in that contains pointers, and so
// has no region.
type Argument struct {
	Name    string
	Param   *Param
	Fields  []string
	Pointer bool // its value is one pointer, an interface, or a value of a type parameter
}

// Arguments lists the arguments that lead to memory. It omits functions, whose memory cannot
// be followed.
func (k *Kernel) Arguments() []Argument {
	var list []Argument
	for _, it := range k.Items {
		if it.Kind != In || it.Form != NoRegion || it.Param == k.Result || it.Item.Slice != nil || !leads(it.typ, map[types.Type]bool{}) {
			continue
		}
		a := Argument{Name: it.Item.Path(), Param: it.Param}
		for _, f := range it.Item.Fields {
			a.Fields = append(a.Fields, f.Name)
		}
		switch it.typ.Underlying().(type) {
		case *types.Pointer, *types.Map, *types.Interface:
			a.Pointer = true
		}
		list = append(list, a)
	}
	return list
}

// leads reports whether a value of a type may lead to memory that can be written.
func leads(t types.Type, seen map[types.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	if _, ok := types.Unalias(t).(*types.TypeParam); ok {
		return holdsPointer(t) != ""
	}
	if isProcess(t) {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer, *types.Map, *types.Interface, *types.Slice:
		return true
	case *types.Array:
		return leads(u.Elem(), seen)
	case *types.Struct:
		for f := range u.Fields() {
			if leads(f.Type(), seen) {
				return true
			}
		}
	}
	return false
}
