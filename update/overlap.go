package update

import (
	"cmp"
	"fmt"
	"slices"
)

// Overlap describes two tasks whose memory is not independent.
type Overlap struct {
	TaskA, TaskB     int
	RegionA, RegionB *Region
	Bytes            int // shared bytes
}

func (o *Overlap) Error() string {
	return fmt.Sprintf("tasks %d and %d are not independent: %s(%s) of one and %s(%s) of the other share %d bytes; make their blocks disjoint",
		o.TaskA, o.TaskB, o.RegionA.Mode, o.RegionA.Name, o.RegionB.Mode, o.RegionB.Name, o.Bytes)
}

// Checker finds overlaps between the tasks of a section. It keeps its buffers for the next
// section.
type Checker struct {
	columns Columns
	spans   []span
}

type span struct {
	lo, hi uintptr
	task   int
	region *Region
}

// reach holds the span that extends furthest, and the one that extends furthest among those
// of other tasks. These two suffice to determine whether an earlier span of another task
// covers an address.
type reach struct {
	first, second span
}

func (r *reach) add(s span) {
	switch {
	case s.task == r.first.task && r.first.region != nil:
		if s.hi > r.first.hi {
			r.first = s
		}
	case s.hi > r.first.hi:
		r.first, r.second = s, r.first
	case s.hi > r.second.hi:
		r.second = s
	}
}

// other returns the furthest span that belongs to another task.
func (r *reach) other(task int) span {
	if r.first.region != nil && r.first.task == task {
		return r.second
	}
	return r.first
}

// class groups the modes that conflict with the same other modes.
type class uint8

const (
	reads class = iota
	scratches
	writes
	classes
)

func classOf(m Mode) class {
	switch m {
	case In:
		return reads
	case Scratch:
		return scratches
	}
	return writes
}

// conflicts reports whether shared memory of these classes is an overlap. Tasks may read
// the same memory, and may use the same scratch space one after the other. Everything else
// is an overlap.
func (c class) conflicts(o class) bool { return c != o || c == writes }

// Check applies the rule of independence: memory that a task writes must not overlap memory
// that another task names. tasks(i) returns the regions of task i.
func (c *Checker) Check(n int, tasks func(i int) []Region) error {
	c.columns.Reset()
	for i := range n {
		c.columns.Add(tasks(i))
	}
	if c.columns.Independent(tasks) {
		return nil
	}
	return c.Compare(n, tasks)
}

// Compare is Check without its first step, the comparison of columns. The caller must have
// made that step without showing that the tasks are independent.
func (c *Checker) Compare(n int, tasks func(i int) []Region) error {
	c.spans = c.spans[:0]
	for i := range n {
		regions := tasks(i)
		for k := range regions {
			if lo, hi := regions[k].span(); lo < hi {
				c.spans = append(c.spans, span{lo, hi, i, &regions[k]})
			}
		}
	}
	slices.SortFunc(c.spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.lo, b.lo), cmp.Compare(a.task, b.task))
	})
	var earlier [classes]reach
	for _, s := range c.spans {
		own := classOf(s.region.Mode)
		for other := range classes {
			if o := earlier[other].other(s.task); own.conflicts(other) && o.hi > s.lo {
				return overlap(o, s)
			}
		}
		earlier[own].add(s)
	}
	return nil
}

// Scratched reports whether two tasks use the same scratch space. Such tasks are
// independent, but cannot run at the same time.
func (c *Checker) Scratched(n int, tasks func(i int) []Region) bool {
	c.spans = c.spans[:0]
	for i := range n {
		regions := tasks(i)
		for k := range regions {
			if lo, hi := regions[k].span(); regions[k].Mode == Scratch && lo < hi {
				c.spans = append(c.spans, span{lo, hi, i, &regions[k]})
			}
		}
	}
	slices.SortFunc(c.spans, func(a, b span) int { return cmp.Compare(a.lo, b.lo) })
	var earlier reach
	for _, s := range c.spans {
		if earlier.other(s.task).hi > s.lo {
			return true
		}
		earlier.add(s)
	}
	return false
}

func overlap(a, b span) error {
	shared := int(min(a.hi, b.hi) - b.lo)
	if b.task < a.task {
		a, b = b, a
	}
	return &Overlap{a.task, b.task, a.region, b.region, shared}
}

// Aliased turns an out region that overlaps an in region of the same task into an inout
// region: the task reads memory that it writes, as in p = r + beta*p.
func Aliased(regions []Region) {
	for i := range regions {
		if regions[i].Mode != Out {
			continue
		}
		lo, hi := regions[i].span()
		for k := range regions {
			if l, h := regions[k].span(); regions[k].Mode == In && l < hi && lo < h {
				regions[i].Mode, regions[i].aliased = InOut, true
			}
		}
	}
}
