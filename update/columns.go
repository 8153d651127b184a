package update

// A section is usually one loop. The k-th regions of its tasks are then consecutive blocks
// of one array, or the same memory in all tasks. Such columns can be shown to be
// independent while tasks are launched, without sorting and without comparing all pairs of
// spans.

// Columns are the regions of all tasks of a section, by their positions in the launches.
type Columns struct {
	width     int // number of regions of each task
	tasks     int
	irregular bool // the regions of the tasks differ in number or kind, so columns cannot be compared
	columns   [mostColumns]column
}

// column is the k-th region of every task.
type column struct {
	kind    uintptr // identifies a type of elements that was found free of pointers; Reset does not clear it
	class   class
	ordered bool    // each span begins after those of all earlier tasks
	lo, hi  uintptr // bounds of all spans together; lo is above hi if all are empty
}

// mostColumns bounds the number of columns that are compared.
const mostColumns = 16

// Reset begins a section without tasks.
func (c *Columns) Reset() { c.tasks, c.irregular = 0, false }

// Add adds the regions of the next task. plain means that they need no further check: none
// has an error or is elementwise.
func (c *Columns) Add(regions []Region) (plain bool) {
	if c.tasks == 0 {
		c.begin(regions)
	}
	c.tasks++
	if c.irregular = c.irregular || len(regions) != c.width; c.irregular {
		return false
	}
	plain = true
	for k := range regions {
		r, col := &regions[k], &c.columns[k%mostColumns]
		if r.more != nil || r.each != nil || r.kind() != col.kind {
			plain = false
		}
		lo, hi := r.span()
		if classOf(r.Mode) != col.class {
			c.irregular = true
		}
		if lo == hi {
			continue
		}
		if lo < col.hi {
			col.ordered = false
		}
		col.lo, col.hi = min(col.lo, lo), max(col.hi, hi)
	}
	return plain
}

// Check checks regions for which Add did not return plain. It returns an error if a task
// cannot have these regions.
func (c *Columns) Check(regions []Region) error {
	for k := range regions {
		if err := regions[k].Err(); err != nil {
			return err
		}
	}
	if err := checkElements(regions); err != nil {
		return err
	}
	for k := range min(len(regions), mostColumns) {
		c.columns[k].kind = regions[k].kind()
	}
	return nil
}

func (c *Columns) begin(regions []Region) {
	c.width = len(regions)
	if c.irregular = c.width > mostColumns; c.irregular {
		return
	}
	for k := range regions {
		c.columns[k] = column{kind: c.columns[k].kind, class: classOf(regions[k].Mode), ordered: true, lo: ^uintptr(0)}
	}
}

// Independent reports whether the columns alone show that the tasks are independent. If the
// result is false, the tasks may still be independent. tasks(i) returns the regions of task
// i.
func (c *Columns) Independent(tasks func(i int) []Region) bool {
	if c.irregular {
		return false
	}
	if c.tasks == 0 {
		return true
	}
	for k := range c.columns[:c.width] {
		a := &c.columns[k]
		if a.class == writes && !a.ordered {
			return false
		}
		for l := range c.columns[:k] {
			b := &c.columns[l]
			if a.class.conflicts(b.class) && a.lo < b.hi && b.lo < a.hi && !c.blockwise(tasks, k, l) {
				return false
			}
		}
	}
	return true
}

// Near reports whether a task may name memory between two addresses.
func (c *Columns) Near(lo, hi uintptr) bool {
	if c.irregular {
		return true
	}
	for k := range c.columns[:c.width] {
		if a := &c.columns[k]; c.tasks > 0 && a.lo < hi && lo < a.hi {
			return true
		}
	}
	return false
}

// blockwise reports whether the spans of each task in columns k and l come after those of
// all earlier tasks in both columns.
func (c *Columns) blockwise(tasks func(i int) []Region, k, l int) bool {
	reach := uintptr(0)
	for i := range c.tasks {
		regions := tasks(i)
		next := reach
		for _, r := range [2]*Region{&regions[k], &regions[l]} {
			lo, hi := r.span()
			if lo == hi {
				continue
			}
			if lo < reach {
				return false
			}
			next = max(next, hi)
		}
		reach = next
	}
	return true
}
