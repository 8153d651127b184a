package annotations

import (
	"cmp"
	"fmt"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// loc describes the possible content of a part of a value: a copy of the memory at path (addr
// false), or the address of path (addr true). The part is named by a path from the value: ""
// is the value itself, ".s*" the target of its field s, and "#1" the second of several
// results. With any, the part may also contain anything that is reachable from there.
type loc struct {
	at   string
	root root
	path string
	addr bool
	any  bool
}

// cell is a part of memory into which a function may store a value.
type cell struct {
	path string
	any  bool // the value may also be stored anywhere beyond path
	val  loc
}

// memory returns the path of the memory to which the value points.
func (l loc) memory() string {
	if l.addr {
		return l.path
	}
	return l.path + "*"
}

// Bounds on the precision. A value that exceeds them is represented with any set.
const (
	maxSteps = 12
	maxLocs  = 24
	maxFlows = 48
)

// to returns l with path and addr replaced.
func (l loc) to(path string, addr bool) loc {
	if l.any {
		return l
	}
	if steps := strings.Count(path, ".") + strings.Count(path, "*"); steps > maxSteps || repeats(path) {
		return loc{at: l.at, root: l.root, path: l.path, addr: l.addr, any: true}
	}
	return loc{at: l.at, root: l.root, path: path, addr: addr}
}

// repeats reports whether a path passes the same field behind a pointer for the third time. A
// walk through a list has such a path.
func repeats(path string) bool {
	i := strings.LastIndexByte(path, '.')
	return i >= 0 && strings.Count(path, strings.TrimRight(path[i:], "*")+"*") > 2
}

// under returns l for a larger value. l describes a part of it, and prefix is the path to the
// value that l described before.
func (l loc) under(prefix string) loc {
	l.at = prefix + l.at
	if strings.Count(l.at, ".")+strings.Count(l.at, "*") > maxSteps {
		l.at, l.any = prefix[:strings.IndexAny(prefix+"*", ".*")], true
	}
	return l
}

func compareLocs(x, y loc) int {
	if c := cmp.Or(cmp.Compare(x.root.kind, y.root.kind), cmp.Compare(x.root.n, y.root.n), cmp.Compare(x.at, y.at)); c != 0 {
		return c
	}
	if x.root.v != y.root.v {
		if c := cmp.Compare(x.root.v.Name(), y.root.v.Name()); c != 0 {
			return c
		}
		return cmp.Compare(fmt.Sprintf("%p", x.root.v), fmt.Sprintf("%p", y.root.v))
	}
	return cmp.Or(cmp.Compare(x.path, y.path), compareBool(x.addr, y.addr), compareBool(x.any, y.any))
}

func fresh(v ssa.Value) []loc { return []loc{{root: root{kind: localRoot, v: v}, addr: true}} }

// normal sorts and merges locs. If there are too many, it keeps one loc for each root and part
// of a tuple, with any set.
func normal(ls []loc) []loc {
	slices.SortFunc(ls, compareLocs)
	ls = slices.Compact(ls)
	if len(ls) <= maxLocs {
		return ls
	}
	var few []loc
	for _, l := range ls {
		at := l.at[:max(0, strings.IndexAny(l.at+"*", ".*"))]
		few = append(few, loc{at: at, root: l.root, any: true})
	}
	slices.SortFunc(few, compareLocs)
	return slices.Compact(few)
}

// tuple returns the locs as a part of a tuple, if the expression is one (is).
func tuple(ls []loc, is bool, part string) []loc {
	if !is {
		return ls
	}
	out := slices.Clone(ls)
	for i := range out {
		out[i] = out[i].under(part)
	}
	return out
}

// field returns the possible contents of a field of a value.
func field(ls []loc, step string) []loc {
	var out []loc
	for _, l := range ls {
		switch rest, ok := cutPath(l.at, step); {
		case l.at == "" && (l.any || step[0] == '#'):
			out = append(out, l)
		case l.at == "" && !l.addr:
			out = append(out, l.to(l.path+step, false))
		case ok:
			l.at = rest
			out = append(out, l)
		}
	}
	return out
}

// cutPath removes a path from the beginning of another one.
func cutPath(path, prefix string) (string, bool) {
	rest, ok := strings.CutPrefix(path, prefix)
	return rest, ok && (rest == "" || strings.IndexByte(".*#", rest[0]) >= 0)
}

// fieldAddr returns the possible addresses of a field.
func fieldAddr(ls []loc, step string) []loc {
	var out []loc
	for _, l := range ls {
		switch rest, ok := cutPath(l.at, "*"+step); {
		case l.at == "":
			out = append(out, l.to(l.memory()+step, true))
		case ok:
			l.at = "*" + rest
			out = append(out, l)
		}
	}
	return out
}

// addresses returns the possible addresses of the elements of a slice or an array. ls
// describes the slice, or the pointer to the array.
func addresses(ls []loc) []loc {
	out := slices.Clone(ls)
	for i, l := range out {
		if l.at == "" {
			out[i] = l.to(l.memory(), true)
		}
	}
	return out
}

// steps splits a path into its steps.
func steps(path string) []string {
	var list []string
	for path != "" {
		n := 1
		for path[0] != '*' && n < len(path) && strings.IndexByte(".*#", path[n]) < 0 {
			n++
		}
		list, path = append(list, path[:n]), path[n:]
	}
	return list
}

func isBasic(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Kind() != types.UnsafePointer
}

func fieldName(t types.Type, i int) string {
	if p, ok := coreType(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	if st, ok := coreType(t).(*types.Struct); ok {
		return st.Field(i).Name()
	}
	return "?"
}
