package checked

import (
	"fmt"
	"slices"

	"github.com/intrahpc/intra/update"
)

// soak runs the tasks of this process again, twice. All memory that any task writes, and
// leftover scratch memory, has different contents each time. For the task that runs,
// memory that it names in inout has its entry contents. The results must not change.
func (c *Section) soak() {
	first := make([]outcome, len(c.s.Tasks))
	var faulty []int
	var seen []difference
	last := poisonB
	if len(c.stale) == 0 && !c.writes() { // the tasks write only partial results, so a second run would be the same
		last = poisonA
	}
	for p := poisonA; p <= last; p++ {
		for i := range c.s.Tasks {
			c.soakTask(i, p)
		}
		for _, st := range c.stale {
			st.soak(c, p)
		}
		for i := range c.s.Tasks {
			if !c.mine(i) || c.blamed(i) { // an incorrect task would change the inputs of other tasks
				continue
			}
			if p < last {
				c.rerun(i, &c.a, p)
				if first[i].panicked = c.a.panicked; first[i].panicked == nil && c.sameAsClean(i, &c.a) {
					first[i].clean = true
				} else {
					first[i], c.a = c.a, outcome{}
				}
				continue
			}
			c.rerun(i, &c.b, p)
			others := []*outcome{&c.b, &first[i]}
			if p == poisonA {
				others = others[:1]
			}
			if d, differs := c.compare(i, others...); differs && c.faulty[c.s.Tasks[i].Kernel] < faultyTasks {
				c.faulty[c.s.Tasks[i].Kernel]++
				faulty, seen = append(faulty, i), append(seen, d)
			}
			first[i] = outcome{}
		}
	}
	for i := range c.s.Tasks {
		for _, r := range c.s.Tasks[i].Regions {
			if r.Mode != update.In {
				c.shadow.restore(r.Mem)
			}
		}
	}
	for _, st := range c.stale {
		c.shadow.restore(st.mem)
	}
	for n, i := range faulty {
		c.blame(i, seen[n])
	}
}

// blamed reports whether there is a finding about the kernel of task i.
func (c *Section) blamed(i int) bool {
	return slices.ContainsFunc(c.findings, func(f Finding) bool { return f.Task == c.s.Tasks[i].Kernel.Name })
}

// writes reports whether tasks have memory that may be filled.
func (c *Section) writes() bool {
	for i := range c.s.Tasks {
		for _, r := range c.s.Tasks[i].Regions {
			if r.Mode != update.In && r.Mode != update.Reduce {
				return true
			}
		}
	}
	return false
}

func (c *Section) sameAsClean(i int, o *outcome) bool {
	for k, result := range c.clean[i].results {
		if string(o.results[k]) != string(result) {
			return false
		}
	}
	return true
}

// soakTask fills the memory that task i writes.
func (c *Section) soakTask(i int, p poison) {
	for k, r := range c.s.Tasks[i].Regions {
		if r.Mode == update.Out || r.Mode == update.InOut || r.Mode == update.Scratch {
			c.layouts.of(r.Type()).soak(r.Mem, p, start(i, k))
		}
	}
}

// start returns the place in the poison at which the filling of region k of task i starts. It
// differs between regions, and so do their contents.
func start(i, k int) int { return 61*i + 1021*k }

// rerun runs task i while the memory of all other tasks is filled, and then fills the
// memory of task i again.
func (c *Section) rerun(i int, o *outcome, p poison) {
	l := &c.s.Tasks[i]
	o.reset(len(l.Regions))
	for k, r := range l.Regions {
		if r.Mode != update.In && !c.fillable(l, k) {
			c.shadow.restore(r.Mem)
			c.soakStale(&l.Regions[k], p)
		}
	}
	for k, r := range l.Regions {
		if r.Mode.Written() {
			o.initial[k] = append(o.initial[k], r.Mem...)
		}
	}
	o.panicked = caught(c.bodies[i])
	for k, r := range l.Regions {
		if r.Mode.Written() {
			o.results[k] = append(o.results[k], r.Mem...)
		}
	}
	for _, r := range l.Regions {
		if r.Mode == update.Reduce {
			c.shadow.restore(r.Mem)
		}
	}
	c.soakTask(i, p)
}

// reset prepares o for a task with n regions.
func (o *outcome) reset(n int) {
	if len(o.initial) < n {
		o.initial, o.results = make([][]byte, n), make([][]byte, n)
	}
	for k := range n {
		o.initial[k], o.results[k] = o.initial[k][:0], o.results[k][:0]
	}
	o.panicked, o.clean = nil, false
}

// readsBeside reports whether task i reads memory that other tasks write. If so, it adds a
// finding with an element that the task reads.
func (c *Section) readsBeside(i int) bool {
	var others []owner
	for j := range c.s.Tasks {
		for k, r := range c.s.Tasks[j].Regions {
			if j != i && len(r.Mem) > 0 && (r.Mode == update.Out || r.Mode == update.InOut || r.Mode == update.Scratch) {
				others = append(others, owner{task: j, region: k})
			}
		}
	}
	fill := func(o owner, p poison, n int) {
		r := c.region(o)
		lay := c.layouts.of(r.Type())
		lay.soak(r.Mem[:n*lay.size], p, start(o.task, o.region))
	}
	at, e, found := c.search(i, len(others),
		func(p poison, n int) {
			for _, o := range others[:n] {
				fill(o, p, c.region(o).Len())
			}
		},
		func(at int) int { return c.region(others[at]).Len() },
		func(p poison, at, n int) { fill(others[at], p, n) },
		func() {
			for _, o := range others {
				c.shadow.restore(c.region(o).Mem)
			}
		})
	if found {
		c.readBeside(i, others[at], e)
	}
	return found
}

// search finds an element that task i reads, in several pieces of memory whose contents
// should not matter to the task. fill fills the first n pieces. part fills the first n
// elements of a piece, length returns the number of its elements, and restore restores all
// pieces.
func (c *Section) search(i, pieces int, fill func(p poison, n int), length func(at int) int, part func(p poison, at, n int), restore func()) (at, element int, found bool) {
	for p := poisonA; p <= poisonB; p++ {
		differs := func(do func()) bool {
			do()
			defer restore()
			c.attempt(i, &c.a, nil)
			_, differs := c.compare(i, &c.a)
			return differs
		}
		if !differs(func() { fill(p, pieces) }) {
			continue
		}
		at = first(pieces, func(n int) bool { return differs(func() { fill(p, n) }) }) - 1
		n := length(at)
		element = n - 1
		if differs(func() { part(p, at, n) }) {
			element = first(n, func(n int) bool { return differs(func() { part(p, at, n) }) }) - 1
		}
		return at, element, true
	}
	return 0, 0, false
}

// first returns the least number from 1 to n for which is returns true. It must be true
// for n.
func first(n int, is func(int) bool) int {
	lo, hi := 0, n
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; is(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

func (c *Section) readBeside(i int, o owner, element int) {
	r := c.region(o)
	l := &c.s.Tasks[o.task]
	addr, _ := bounds(r.Mem)
	element, text, _ := inArray(r, addr+uintptr(element)*r.Type().Size())
	c.found(i, text, element, fmt.Sprintf(
		"the body reads %s, which task %d (%s, launched at %s) has in %s: what it finds there depends on who runs which task when; read it from a copy that is made before the section",
		text, o.task, l.Kernel.Name, l.At.String(), clause(r)))
}
