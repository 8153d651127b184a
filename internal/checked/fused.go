package checked

import "fmt"

// fused runs the second bodies of task i, where it has any: what they store
// must be what the task's own body does, in both places.
func (c *Section) fused(i int) {
	l := &c.s.Tasks[i]
	for k := range l.Regions {
		r := &l.Regions[k]
		if r.Fused == nil {
			continue
		}
		second := make([]byte, len(r.Mem))
		own := c.bodies[i]
		c.bodies[i] = func() { r.Fused(second) }
		c.attempt(i, &c.a, nil)
		c.bodies[i] = own
		if p := c.a.panicked; p != nil {
			c.found(i, clause(r), -1, fmt.Sprintf("the body of OutFused panics: %v", p.Value))
			continue
		}
		if d, differs := c.compare(i, &c.a); differs {
			c.found(i, clause(&l.Regions[d.region]), d.element, "the body of OutFused writes something else than the body of the task; both must do the same")
			continue
		}
		lay := c.layouts.of(r.Type)
		if e, _, ok := lay.search(len(second), func(at, n int) bool {
			return string(second[at:at+n]) != string(c.a.results[k][at:at+n])
		}); ok {
			c.found(i, clause(r), e, "the body of OutFused stores something else to its second place; it must store all of the result there too")
		}
	}
}
