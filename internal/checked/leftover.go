package checked

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/intrahpc/intra/update"
)

// leftovers are the scratch memory of completed sections. The contents of scratch memory
// are undefined. So until a section names it again, or until a safe point, checked mode
// makes them different on each replica. A program that uses them then makes the replicas
// differ.
type leftovers struct {
	poison poison // poison of this replica
	all    []leftover
}

// leftover is one piece of the scratch memory of a completed section.
type leftover struct {
	mem   []byte
	was   []byte // contents that are the same on every replica
	lay   *layout
	start int    // start of its poison
	by    string // name of the kernel
	name  string // name of the region
	at    string // file:line of the launch
}

// most bounds the number of pieces that are tracked, and so the memory for their contents.
const most = 256

// stale is a part of a leftover that was not written after it was left. It belongs to the
// open section.
type stale struct {
	mem  []byte
	lo   int // index of its first element in the leftover
	from *leftover
}

// restore gives the memory the contents that are the same on every replica, and returns
// the parts that were not written.
func (l *leftovers) restore() (all []stale) {
	for n := range l.all {
		o := &l.all[n]
		for lo, hi := o.lay.soaked(o.mem, l.poison, o.start, 0); lo < hi; lo, hi = o.lay.soaked(o.mem, l.poison, o.start, hi) {
			st := stale{mem: o.mem[lo*o.lay.size : hi*o.lay.size], lo: lo, from: o}
			copy(st.mem, o.was[lo*o.lay.size:])
			all = append(all, st)
		}
	}
	l.all = nil
	return all
}

// leave adds the scratch memory of a completed section. A leftover of an earlier section
// stays unless this section names it.
func (l *leftovers) leave(c *Section) {
	for _, st := range c.stale {
		if !c.names(st.mem) {
			o := *st.from
			o.mem, o.was = st.mem, o.was[st.lo*o.lay.size:][:len(st.mem)]
			l.all = append(l.all, o)
		}
	}
	for i := range c.s.Tasks {
		t := &c.s.Tasks[i]
		for k, r := range t.Regions {
			if r.Mode == update.Scratch && len(r.Mem) > 0 && c.fillable(t, k) {
				l.all = append(l.all, leftover{mem: r.Mem, was: bytes.Clone(r.Mem), lay: c.layouts.of(r.Type()),
					start: start(i, k), by: t.Kernel.Name, name: r.Name, at: t.At.String()})
			}
		}
	}
	if n := len(l.all) - most; n > 0 {
		l.all = slices.Delete(l.all, 0, n)
	}
	for _, o := range l.all {
		o.lay.soak(o.mem, l.poison, o.start)
	}
}

// hint ends the text about a difference between replicas.
func (l *leftovers) hint() string {
	if len(l.all) == 0 {
		return ""
	}
	o := &l.all[len(l.all)-1]
	return fmt.Sprintf("; each replica leaves something else in scratch memory, such as scratch(%s) of %s, launched at %s: is it used after its section? then name it in out", o.name, o.by, o.at)
}

// names reports whether a task of the section names some of mem.
func (c *Section) names(mem []byte) bool {
	lo, hi := bounds(mem)
	i := c.shadow.first(lo)
	for ; i < len(c.shadow.spans) && c.shadow.spans[i].lo < hi; i++ {
		if o := c.shadow.spans[i].owner; o.task != watched && !o.near {
			return true
		}
	}
	return false
}

// soak fills the parts of a leftover that tasks of the section name.
func (st *stale) soak(c *Section, p poison) {
	for sp := range c.shadow.pieces(st.mem) {
		if sp.owner.task != watched && !sp.owner.near {
			st.from.lay.soak(sp.live, p, st.from.start)
		}
	}
}

// soakStale fills the parts of r that are leftovers of an earlier section.
func (c *Section) soakStale(r *update.Region, p poison) {
	lo, hi := bounds(r.Mem)
	for _, st := range c.stale {
		from, to := bounds(st.mem)
		if a, b := max(lo, from), min(hi, to); a < b {
			st.from.lay.soak(st.mem[a-from:b-from], p, st.from.start)
		}
	}
}

// readsStale reports whether task i reads leftovers of an earlier section.
func (c *Section) readsStale(i int) bool {
	at, e, found := c.search(i, len(c.stale),
		func(p poison, n int) {
			for _, st := range c.stale[:n] {
				st.soak(c, p)
			}
		},
		func(at int) int { return len(c.stale[at].mem) / c.stale[at].from.lay.size },
		func(p poison, at, n int) {
			st := c.stale[at]
			st.mem = st.mem[:n*st.from.lay.size]
			st.soak(c, p)
		},
		func() {
			for _, st := range c.stale {
				c.shadow.restore(st.mem)
			}
		})
	if !found {
		return false
	}
	st := c.stale[at]
	addr, _ := bounds(st.mem)
	addr += uintptr(e * st.from.lay.size)
	text, element := "memory", -1
	for k := range c.s.Tasks[i].Regions {
		r := &c.s.Tasks[i].Regions[k]
		if lo, hi := bounds(r.Mem); lo <= addr && addr < hi {
			element = elementAt(r, addr)
			text = fmt.Sprintf("%s element %d", clause(r), element)
		}
	}
	c.found(i, text, element, fmt.Sprintf("%s is read, and is what %s, launched at %s, has left in scratch(%[4]s): name it there in out(%[4]s), or write it before it is read", text, st.from.by, st.from.at, st.from.name))
	return true
}
