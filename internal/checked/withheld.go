package checked

import (
	"fmt"
	"slices"
	"strings"

	"github.com/intrahpc/intra/internal/replica/engine"
	"github.com/intrahpc/intra/sched"
	"github.com/intrahpc/intra/update"
)

// withheld is memory that a launched task of the open section writes. The code of the
// section must not access it before the section ends. Until then its contents are
// different on each replica, so code that reads it makes the replicas differ.
type withheld struct {
	mem    []byte // nil once the section has ended
	lay    *layout
	len    int // number of elements
	poison poison
	start  int // start of the poison
	owner  owner
	name   string // name of the region, as in the clause
	by     string // name of the kernel
	at     string // file:line of the launch
}

// withhold fills the memory that the last launched task writes or reduces into.
func (c *Section) withhold(i int) {
	t := &c.s.Tasks[i]
	for k := range t.Regions {
		r := &t.Regions[k]
		switch {
		case r.Mode == update.In:
		case r.Mode == update.Reduce:
			c.withholdFolded(i, r)
		case len(r.Mem) > 0 && !c.withheldBefore(i, k):
			c.fill(t, r, owner{task: i, region: k})
		}
	}
}

// withholdFolded fills the memory into which the partial result r of task i is combined.
// Tasks usually share this memory.
func (c *Section) withholdFolded(i int, r *update.Region) {
	into := r.Whole()
	for n := range c.folded {
		if update.Shared(c.folded[n].Mem, into.Mem) {
			return
		}
	}
	o := owner{task: i, region: len(c.folded), folded: true}
	c.folded = append(c.folded, into)
	c.shadow.add(o, into.Mem)
	c.fill(&c.s.Tasks[i], &into, o)
}

// fill fills the memory of a region of a task until the section ends.
func (c *Section) fill(t *engine.Task, r *update.Region, o owner) {
	w := withheld{mem: r.Mem, lay: c.layouts.of(r.Type()), len: r.Len(), poison: c.trial.withholds(), start: c.trial.start, owner: o,
		name: clause(r), by: t.Kernel.Name, at: t.At.String()}
	w.lay.soak(w.mem, w.poison, w.start)
	c.withheld = append(c.withheld, w)
	c.trial.start = (c.trial.start + w.len) % period // so that a value identifies the region from which it was read
}

// withholds returns the poison of this process. It differs between replicas. The poison of
// a replica on its own identifies the region from which a value was read, and the next
// trial has another poison.
func (t *Trial) withholds() poison {
	if t.running || t.engine.Replicated() {
		return t.leftovers.poison
	}
	t.alone = true
	return poisonMark
}

// withheldBefore reports whether region k of task i shares memory with an earlier region
// that is not in: tasks may share scratch memory.
func (c *Section) withheldBefore(i, k int) bool {
	for sp := range c.shadow.pieces(c.s.Tasks[i].Regions[k].Mem) {
		if sp.owner != (owner{task: i, region: k}) && c.region(sp.owner).Mode != update.In {
			return true
		}
	}
	return false
}

// Restore gives the memory of the tasks its entry contents.
func (c *Section) Restore() {
	for _, w := range c.withheld {
		c.shadow.restore(w.mem)
	}
}

// release restores the memory, and finds the parts that the code of the section has
// written.
func (c *Section) release() {
	var want []byte
	for _, w := range c.withheld {
		want = append(want[:0], w.mem...) // soak does not change padding
		w.lay.soak(want, w.poison, w.start)
		if at := firstDifference(w.mem, want); at >= 0 {
			lo, _ := bounds(w.mem)
			c.writtenByControl(change{lo + uintptr(at), w.owner})
		}
	}
	c.Restore()
}

// remembered is the number of regions of earlier sections that are kept to explain a
// difference between replicas.
const remembered = 256

// remember keeps descriptions of withheld memory, without the memory itself.
func (t *Trial) remember(all []withheld) {
	for _, w := range all[max(0, len(all)-remembered):] {
		w.mem = nil
		t.released = append(t.released, w)
	}
	if n := len(t.released) - remembered; n > 0 {
		t.released = slices.Delete(t.released, 0, n)
	}
}

// tellingBits is the least number of random bits with which a value does not occur by
// chance.
const tellingBits = 28

// telling reports whether an element of poison is too unlikely to occur by chance. Without
// marks this holds only for floating-point numbers of 8 bytes, because integers are small.
func (l *layout) telling(p poison) bool {
	if !l.solid {
		return false
	}
	bits := 0
	for _, f := range l.leaves {
		if p != poisonMark && (f.kind != leafFloat || f.size != 8) {
			return false
		}
		bits += f.n * f.markBits()
	}
	return bits >= tellingBits
}

// source returns the region whose poison equals element e of mem, and the index of that
// element of poison in the region. It returns nil if there is none.
func (c *Section) source(lay *layout, mem []byte, e int) (w *withheld, element int) {
	x := mem[e*lay.size : (e+1)*lay.size]
	for _, all := range [][]withheld{c.withheld, c.trial.released} {
		for n := range all {
			w := &all[len(all)-1-n]
			if w.lay != lay || !lay.telling(w.poison) {
				continue
			}
			pattern := lay.pattern(w.poison)
			for i := range min(w.len, period) {
				at := (w.start + i) % period * lay.size
				if string(pattern[at:at+lay.size]) == string(x) {
					return w, i
				}
			}
		}
	}
	return nil, 0
}

// fewElements is the size up to which arguments of a task are searched.
const fewElements = 4

// fewRegions is the number of regions that a message names as possible causes.
const fewRegions = 3

// readEarly finds small arguments that were read from withheld memory. It is used for a
// rank with one replica. With several replicas, such values differ between the replicas.
func (c *Section) readEarly() {
	if len(c.withheld)+len(c.trial.released) == 0 {
		return
	}
	for i := range c.s.Tasks {
		for k := range c.s.Tasks[i].Regions {
			r := &c.s.Tasks[i].Regions[k]
			if r.Mode != update.In || r.Len() > fewElements {
				continue
			}
			for e := range r.Len() {
				if w, element := c.source(c.layouts.of(r.Type()), r.Mem, e); w != nil {
					c.found(i, clause(r), e, fmt.Sprintf("%s element %d was read too early: %s", clause(r), e, w.describe(element)))
				}
			}
		}
	}
}

func (w *withheld) describe(element int) string {
	return fmt.Sprintf("it is what element %d of %s of %s, launched at %s, held until its section ended: the code of a section cannot read what its tasks write; read it after the section", element, w.name, w.by, w.at)
}

// early returns the end of the message about a difference between replicas. The difference
// is in a block of elements of region k of task i, at the entry.
func (c *Section) early(i, k, block int) string {
	r := &c.s.Tasks[i].Regions[k]
	n := 0
	for lo, hi := range sched.Blocks(r.Len(), digestBlocks) {
		if n == block && r.Mode == update.In {
			for e := lo; e < min(hi, lo+fewElements*digestBlocks); e++ {
				if w, element := c.source(c.layouts.of(r.Type()), r.Mem, e); w != nil {
					return "; element " + fmt.Sprint(e) + " was read too early: " + w.describe(element)
				}
			}
		}
		n++
	}
	var such []string
	for _, all := range [][]withheld{c.trial.released, c.withheld} {
		for _, w := range slices.Backward(all) {
			if text := fmt.Sprintf("%s of %s, launched at %s", w.name, w.by, w.at); len(such) < fewRegions && !slices.Contains(such, text) {
				such = append(such, text)
			}
		}
	}
	if such == nil {
		return ""
	}
	return "; until a section ends, each replica holds something else in what its tasks write, such as " + strings.Join(such, ", or ") +
		": does the code of the section read it? it has its value after the section"
}
