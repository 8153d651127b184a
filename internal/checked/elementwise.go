package checked

import "fmt"

// elementwise runs task i for some of its elements at a time, if it can run in parts. The
// results must equal those of the whole task. The parts differ in length.
func (c *Section) elementwise(i int) {
	l := &c.s.Tasks[i]
	for k := range l.Regions {
		r := &l.Regions[k]
		if r.Elementwise() == nil {
			continue
		}
		own := c.bodies[i]
		c.bodies[i] = func() {
			n := r.Len()
			for lo, length := 0, 1; lo < n; length++ {
				hi := min(lo+length, n)
				r.Elementwise()(lo, hi)
				lo = hi
			}
		}
		c.attempt(i, &c.a, nil)
		c.bodies[i] = own
		if p := c.a.panicked; p != nil {
			c.found(i, clause(r), -1, fmt.Sprintf("run for some elements at a time, as elementwise says it can be, the task panics: %v", p.Value))
		} else if d, differs := c.compare(i, &c.a); differs {
			c.found(i, clause(&l.Regions[d.region]), d.element, "run for some elements at a time, the task writes something else: it is not elementwise; leave that clause out")
		}
		return
	}
}
