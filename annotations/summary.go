package annotations

import (
	"cmp"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// flows records the contents of the function's results, and of its caller's memory, when the
// function returns.
func (b *body) flows(s *Effects) {
	for _, block := range b.fn.Blocks {
		ret, ok := block.Instrs[len(block.Instrs)-1].(*ssa.Return)
		if !ok {
			continue
		}
		for i, v := range ret.Results {
			if !isBasic(v.Type()) {
				for _, f := range b.expand(b.value(v)) {
					f.Result = i
					s.Results = append(s.Results, f)
				}
			}
		}
	}
	for r, cells := range b.cells {
		if r.kind != paramRoot && r.kind != freeRoot {
			continue
		}
		for _, c := range cells {
			for _, f := range b.expand([]loc{c.val}) {
				s.Stores = append(s.Stores, Stored{b.number(r), c.path, c.any, f})
			}
		}
	}
	if len(s.Results) > maxFlows {
		for i, f := range s.Results {
			s.Results[i] = f.anyOf()
		}
	}
	if len(s.Stores) > maxFlows {
		for i, st := range s.Stores {
			s.Stores[i] = Stored{Param: st.Param, Any: true, Flow: st.Flow.anyOf()}
		}
	}
	slices.SortFunc(s.Results, compareFlows)
	s.Results = slices.Compact(s.Results)
	slices.SortFunc(s.Stores, func(x, y Stored) int {
		return cmp.Or(cmp.Compare(x.Param, y.Param), cmp.Compare(x.Path, y.Path), compareBool(x.Any, y.Any), compareFlows(x.Flow, y.Flow))
	})
	s.Stores = slices.Compact(s.Stores)
}

// anyOf returns a less precise flow: anything that is reachable from the parameter.
func (f Flow) anyOf() Flow {
	return Flow{Result: f.Result, Param: f.Param, Global: f.Global, Any: f.Param >= 0}
}

func compareFlows(x, y Flow) int {
	return cmp.Or(cmp.Compare(x.Result, y.Result), cmp.Compare(x.At, y.At), cmp.Compare(x.Param, y.Param), cmp.Compare(x.Global, y.Global),
		cmp.Compare(x.Path, y.Path), compareBool(x.Addr, y.Addr), compareBool(x.Any, y.Any))
}

// number returns the number under which callers know a parameter or captured variable.
func (b *body) number(r root) int {
	if r.kind == freeRoot {
		return r.n + len(b.fn.Params)
	}
	return r.n
}

// expand describes values for callers. It replaces memory of this function by its contents.
func (b *body) expand(ls []loc) []Flow {
	var out []Flow
	seen, reached := map[root]bool{}, map[root][]loc{}
	var walk func(ls []loc, depth int)
	walk = func(ls []loc, depth int) {
		for _, l := range ls {
			switch l.root.kind {
			case paramRoot, freeRoot:
				out = append(out, Flow{At: l.at, Param: b.number(l.root), Path: l.path, Addr: l.addr, Any: l.any})
			case globalRoot:
				out = append(out, Flow{At: l.at, Param: globalFlow, Global: globalName(l.root.v), Path: l.path, Addr: l.addr, Any: l.any})
			case localRoot:
				out = append(out, Flow{At: l.at, Param: freshFlow})
				if seen[l.root] || depth > 4 || l.any || len(out) > maxFlows {
					if _, ok := reached[l.root]; !ok {
						reached[l.root] = b.reach([]loc{l})
					}
					for _, r := range reached[l.root] {
						r.at = l.at
						walk([]loc{r}, depth+1)
					}
					continue
				}
				seen[l.root] = true
				for _, c := range b.cells[l.root] {
					if rest, ok := cutPath(c.path, l.path); ok {
						walk([]loc{c.val.under(l.at + "*" + rest)}, depth+1)
					}
				}
				for _, v := range b.contents(l.root, l.path) {
					walk([]loc{v.under(l.at + "*")}, depth+1)
				}
			}
		}
	}
	walk(ls, 0)
	slices.SortFunc(out, compareFlows)
	return slices.Compact(out)
}
