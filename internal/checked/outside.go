package checked

import (
	"fmt"
	"slices"

	"github.com/intrahpc/intra/update"
)

// gap is memory of an argument of which a clause in names a part: some of the rest, which the
// task names nowhere.
type gap struct {
	region int // number of the in region of the task
	mem    []byte
}

// watchOutside copies the arguments of which tasks read a part. It copies nothing while a
// message may arrive, or if other processes may use the memory: then outside must not change it.
func (c *Section) watchOutside() {
	c.parts = c.trial.engine.Messages().Pending() == nil && !c.trial.sharesMemory()
	if !c.parts {
		return
	}
	for i := range c.s.Tasks {
		for k := range c.s.Tasks[i].Regions {
			if r := &c.s.Tasks[i].Regions[k]; r.Mode == update.In && len(r.Array()) > len(r.Mem) {
				c.shadow.add(owner{task: i, region: k, near: true}, r.Array())
			}
		}
	}
}

// gaps returns the parts of the arguments of task i that none of its clauses names.
func (c *Section) gaps(i int) (list []gap) {
	regions := c.s.Tasks[i].Regions
	named := make([][2]uintptr, len(regions))
	for k := range regions {
		named[k][0], named[k][1] = bounds(regions[k].Mem)
	}
	slices.SortFunc(named, func(a, b [2]uintptr) int { return slices.Compare(a[:], b[:]) })
	done := map[uintptr]bool{}
	for k := range regions {
		r := &regions[k]
		array := r.Array()
		from, end := bounds(array)
		if r.Mode != update.In || len(array) <= len(r.Mem) || done[from] {
			continue
		}
		done[from] = true
		size := r.Type().Size()
		add := func(lo, hi uintptr) { // whole elements only
			lo, hi = (lo-from+size-1)/size*size, (hi-from)/size*size
			if lo < hi {
				list = append(list, gap{k, array[lo:hi]})
			}
		}
		at := from
		for _, n := range named {
			if n[0] >= end {
				break
			}
			if n[0] > at {
				add(at, n[0])
			}
			at = max(at, n[1])
		}
		if at < end {
			add(at, end)
		}
	}
	return list
}

// outside finds tasks that read elements of an argument of which a clause in names others. With
// kept results such an element may be out of date.
func (c *Section) outside() {
	if !c.parts {
		return
	}
	for i := range c.s.Tasks {
		if !c.mine(i) || c.blamed(i) {
			continue
		}
		gaps := c.gaps(i)
		if len(gaps) == 0 {
			continue
		}
		layout := func(at int) *layout { return c.layouts.of(c.s.Tasks[i].Regions[gaps[at].region].Type()) }
		fill := func(p poison, at, n int) { layout(at).soak(gaps[at].mem[:n*layout(at).size], p, start(i, at)) }
		length := func(at int) int { return len(gaps[at].mem) / layout(at).size }
		at, e, found := c.search(i, len(gaps),
			func(p poison, n int) {
				for at := range n {
					fill(p, at, length(at))
				}
			},
			length, fill,
			func() {
				for _, g := range gaps {
					c.shadow.restore(g.mem)
				}
			})
		if !found {
			continue
		}
		r := &c.s.Tasks[i].Regions[gaps[at].region]
		addr, _ := bounds(gaps[at].mem)
		element, text, names := inArray(r, addr+uintptr(e*layout(at).size))
		c.found(i, clause(r), element, fmt.Sprintf("the body reads %s, and %s %s: name it in in, or keep to the part", text, clause(r), names))
	}
}
