package annotations

import (
	"go/types"
	"slices"
)

// elementwise records the slices that an elementwise clause names.
func (r *resolved) elementwise(c Clause) {
	k := r.kernel
	if k.Elementwise != nil {
		r.errorf(c.Pos, "kernel %s has two elementwise clauses; name all slices in one", k.Func.Name())
		return
	}
	for _, item := range c.Items {
		p := k.lookup(item.Root.Name)
		switch {
		case p == nil:
			r.errorf(item.Pos(), "clause elementwise: %s is not a parameter of %s%s", item.Root.Name, k.Func.Name(), didYouMean(item.Root.Name, k.names()))
		case len(item.Fields) > 0 || item.Slice != nil || !isSlice(p.Var.Type()) || p.Recv || p == k.Result:
			r.errorf(item.Pos(), "clause elementwise: %s is not a parameter that is a slice; name those whose elements belong together, by their bare names", item.Text)
		default:
			k.Elementwise = append(k.Elementwise, p)
			continue
		}
		r.broken = true
		return
	}
}

// checkElementwise checks that a kernel with an elementwise clause writes only whole slices
// that the clause names. The items must be resolved before.
func (r *resolved) checkElementwise() {
	k := r.kernel
	if len(k.Elementwise) == 0 || r.broken {
		return
	}
	written := false
	for _, it := range k.Items {
		if it.Kind == In {
			continue
		}
		whole := it.Form == SliceForm && it.Item.Slice == nil && len(it.Item.Fields) == 0
		if it.Kind != Out && it.Kind != InOut || !whole || !slices.Contains(k.Elementwise, it.Param) {
			r.errorf(it.Item.Pos(), "clause elementwise: kernel %s has %s(%s); elementwise is for a kernel that writes nothing but slices named in it", k.Func.Name(), it.Kind, it.Item.Text)
			return
		}
		written = true
	}
	if !written && len(r.missing) == 0 {
		r.errorf(k.Decl.Name.Pos(), "clause elementwise: kernel %s writes nothing; leave elementwise out", k.Func.Name())
	}
}

func isSlice(t types.Type) bool {
	_, ok := coreType(t).(*types.Slice)
	return ok
}
