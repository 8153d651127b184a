package checked

import "github.com/intrahpc/intra/update"

// blame finds the cause of d, a difference between two runs of task i. It first looks for the
// causes that can lead to differences of other kinds.
func (c *Section) blame(i int, d difference) {
	if c.trespass(i) {
		return
	}
	clean := &c.clean[i]
	c.attempt(i, clean, nil) // earlier tasks may have changed the entry state
	if clean.panicked != nil {
		c.changesByItself(i, difference{panicked: clean.panicked})
		return
	}
	for range 3 { // random results may be equal by chance
		c.attempt(i, &c.a, nil)
		if d, differs := c.compare(i, &c.a); differs {
			c.changesByItself(i, d)
			return
		}
	}
	found := false
	for k := range c.s.Tasks[i].Regions {
		if c.fillable(&c.s.Tasks[i], k) && c.readsBefore(i, k) {
			found = true
		}
	}
	if found || c.readsStale(i) || c.readsBeside(i) {
		return
	}
	c.attempt(i, &c.a, c.poisons(poisonA))
	c.attempt(i, &c.b, c.poisons(poisonB))
	if together, differs := c.compare(i, &c.a, &c.b); differs {
		c.dependsOnContents(i, together)
		return
	}
	c.changesByItself(i, d)
}

// readsBefore reports whether task i reads the entry contents of its region k. If so, it
// adds a finding with an element that the task reads.
func (c *Section) readsBefore(i, k int) bool {
	n := c.s.Tasks[i].Regions[k].Len()
	run := func(p poison, first int, o *outcome) {
		c.attempt(i, o, func(j int, r *update.Region) {
			if j == k {
				c.layouts.of(r.Type()).fill(r.Mem, p, k, first)
			}
		})
	}
	run(poisonA, n, &c.a)
	run(poisonB, n, &c.b)
	both, differs := c.compare(i, &c.a, &c.b)
	if !differs {
		return false
	}
	which := poisonA
	d, differs := c.compare(i, &c.a)
	if !differs {
		which = poisonB
		d, differs = c.compare(i, &c.b)
	}
	if !differs { // the task writes an element or not, depending on the element's entry contents
		c.readBeforeWritten(i, k, both.element, nil)
		return true
	}
	// Poison in the first lo elements does not change the results. Poison in the first hi
	// elements does.
	lo, hi := 0, n
	for hi-lo > 1 {
		mid := (lo + hi) / 2
		run(which, mid, &c.a)
		if sooner, differs := c.compare(i, &c.a); differs {
			hi, d = mid, sooner
		} else {
			lo = mid
		}
	}
	c.readBeforeWritten(i, k, lo, d.panicked)
	return true
}

// trespass runs task i alone from the entry state, and reports its forbidden writes.
func (c *Section) trespass(i int) bool {
	for d := range c.shadow.changes() {
		if !d.owner.near {
			c.trace = c.describe(d)
		}
	}
	c.shadow.restoreAll()
	found := false
	for _, fill := range []filling{nil, c.poisons(poisonA), c.poisons(poisonB)} {
		c.attempt(i, &c.a, fill)
		for d := range c.shadow.changes() {
			c.writtenByBody(i, d)
			found = true
		}
		c.shadow.restoreAll()
		if found {
			break
		}
	}
	return found
}

// own returns the in region of task i that contains the byte at addr.
func (c *Section) own(i int, addr uintptr) (k int, ok bool) {
	for k, r := range c.s.Tasks[i].Regions {
		if lo, hi := bounds(r.Mem); r.Mode == update.In && lo <= addr && addr < hi {
			return k, true
		}
	}
	return 0, false
}
