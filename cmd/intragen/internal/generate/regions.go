package generate

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/intrahpc/intra/annotations"
)

// region is a region of a launcher.
type region struct {
	make string // the code that makes the region
	// constant means that the memory of the region lies in the arguments that the launcher keeps.
	constant bool
	// slice is the code of the slice that a launch sets as the region's memory. If it is "", a
	// launch makes the whole region.
	slice string
}

func (l *launcher) regions() []region {
	var list []region
	elementwise := len(l.k.Elementwise) > 0
	for _, r := range l.k.Regions() {
		if p, ok := l.parts[r.Param]; ok {
			list = append(list, region{make: p.region})
			continue
		}
		if r.Kind == annotations.Reduce {
			list = append(list, region{make: l.region})
			continue
		}
		fun := regionFuncs[r.Kind]
		expr := l.local[r.Param.Var.Name()]
		for _, f := range r.Fields {
			expr += "." + f
		}
		if r.Slice != nil && r.Slice.Cols != nil {
			list = append(list, region{make: fmt.Sprintf("%s.%sBlock(%q, %s, %s)", l.im.runtime(), fun, r.Name, expr, l.block(r.Slice, expr))})
			continue
		}
		if r.Slice != nil && r.Slice.Calls() {
			list = append(list, region{make: fmt.Sprintf("%s.Window(%q, %s)", l.im.runtime(), r.Name, l.window(r.Slice, expr+"[:]"))})
			continue
		}
		whole := ""
		if r.Slice != nil {
			whole = expr + "[:]"
			expr += "[" + l.bound(r.Slice.Lo) + ":" + l.bound(r.Slice.Hi) + "]"
		}
		var next region
		switch r.Form {
		case annotations.VarForm:
			fun += "Var"
			if next.constant = l.kept(r.Param, r.Fields); next.constant {
				expr = l.args + "." + expr
			}
			expr = "&" + expr
		case annotations.PtrForm, annotations.ResultForm:
			fun += "Var"
		default:
			next.slice = expr
		}
		next.make = fmt.Sprintf("%s.%s(%q, %s)", l.im.intra(), fun, r.Name, expr)
		if whole != "" {
			next = region{make: fmt.Sprintf("%s.Part(%s, %s)", l.im.runtime(), whole, next.make)}
		}
		if elementwise && r.Kind != annotations.In {
			next = region{make: fmt.Sprintf("%s.Elementwise(%s, %s.Part)", l.im.runtime(), next.make, l.slot)}
			elementwise = false
		}
		list = append(list, next)
	}
	for _, a := range l.k.Arguments() {
		expr := strings.Join(append([]string{l.local[a.Param.Var.Name()]}, a.Fields...), ".")
		if !a.Pointer && len(a.Fields) > 0 { // the body may write the field itself
			if l.kept(a.Param, a.Fields) {
				expr = l.args + "." + expr
			}
			expr = "&" + expr
		}
		list = append(list, region{make: fmt.Sprintf("%s.Reach(%q, %s)", l.im.runtime(), a.Name, expr)})
	}
	return list
}

// kept reports whether a field of a parameter lies in the arguments that the launcher keeps. It
// does not if a pointer leads to it: each launch may pass another pointer.
func (l *launcher) kept(p *annotations.Param, fields []string) bool {
	t := p.Var.Type()
	for _, name := range fields {
		f, _, indirect := types.LookupFieldOrMethod(t, true, l.k.Func.Pkg(), name)
		if indirect {
			return false
		}
		t = f.Type()
	}
	return true
}

// block prints three expressions for a block: its rows, its columns, and the length of a row.
func (l *launcher) block(b *annotations.Bounds, matrix string) string {
	width := l.bound(b.Cols.Of)
	return strings.Join([]string{l.boundOr(b.Lo, "0"), l.boundOr(b.Hi, fmt.Sprintf("len(%s)/(%s)", matrix, width)),
		l.boundOr(b.Cols.Lo, "0"), l.boundOr(b.Cols.Hi, width), width}, ", ")
}

// window prints a slice and the bounds of a part of it.
func (l *launcher) window(b *annotations.Bounds, slice string) string {
	return strings.Join([]string{slice, l.boundOr(b.Lo, "0"), l.boundOr(b.Hi, "len("+slice+")")}, ", ")
}

// boundOr prints a bound, or what a missing bound means.
func (l *launcher) boundOr(b *annotations.Bound, missing string) string {
	if b == nil {
		return missing
	}
	return l.bound(b)
}

// bound prints a bound. It uses the launcher's names for the parameters.
func (l *launcher) bound(b *annotations.Bound) string {
	if b == nil {
		return ""
	}
	var edits []*ast.Ident
	ast.Inspect(b.Expr, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			ast.Inspect(n.X, func(m ast.Node) bool {
				if id, ok := m.(*ast.Ident); ok {
					edits = append(edits, id)
				}
				return true
			})
			return false
		case *ast.Ident:
			edits = append(edits, n)
		}
		return true
	})
	text := b.Text
	slices.SortFunc(edits, func(x, y *ast.Ident) int { return int(y.Pos() - x.Pos()) })
	for _, id := range edits {
		name := id.Name
		if local, ok := l.local[name]; ok {
			name = local
		} else if pkg := b.Packages[name]; pkg != nil {
			name = l.im.qualifier(pkg)
		} else if l.k.Func.Pkg() != l.im.pkg && l.k.Func.Pkg().Scope().Lookup(name) != nil {
			name = l.im.qualifier(l.k.Func.Pkg()) + "." + name
		}
		text = text[:id.Pos()-1] + name + text[id.End()-1:]
	}
	return text
}
