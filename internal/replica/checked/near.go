package checked

import (
	"bytes"
	"fmt"
	"unsafe"

	"github.com/intrahpc/intra/update"
)

// leastNear is how far from a region memory is watched at least, in bytes. It
// is watched at most as far as the region is long: bounds are wrong by a little
// or by a block, and more would cost too much.
const leastNear = 4096

// watchNear watches what lies near the memory that the tasks write, in the same
// arrays. Where a message may arrive meanwhile nothing is watched.
func (c *Section) watchNear() {
	if c.trial.engine.Messages().Pending() != nil {
		return
	}
	for i := range c.s.Tasks {
		for k := range c.s.Tasks[i].Regions {
			if r := &c.s.Tasks[i].Regions[k]; r.Mode == update.Out || r.Mode == update.InOut || r.Mode == update.Scratch {
				c.shadow.add(owner{task: i, region: k, near: true}, c.near(r))
			}
		}
	}
}

// near returns what lies near r, and r itself.
func (c *Section) near(r *update.Region) []byte {
	array := r.Array
	if !c.trial.sharesMemory() { // else what is behind the end may be another process's
		array = array[:cap(array)]
	}
	from, _ := bounds(array)
	lo, hi := bounds(r.Mem)
	if len(array) == 0 || lo < from || hi > from+uintptr(len(array)) {
		return nil
	}
	reach := max(len(r.Mem), leastNear)
	return array[max(0, int(lo-from)-reach):min(len(array), int(hi-from)+reach)]
}

// beside returns the region of task i in whose array addr is.
func (c *Section) beside(i int, addr uintptr) *update.Region {
	var found *update.Region
	for k := range c.s.Tasks[i].Regions {
		r := &c.s.Tasks[i].Regions[k]
		array := r.Array[:cap(r.Array)]
		if lo, hi := bounds(array); r.Mode != update.Reduce && lo <= addr && addr < hi && (found == nil || r.Mode != update.In) {
			found = r
		}
	}
	return found
}

// inArray names the element of r's array that holds the byte at addr, and the
// elements that r has of it.
func inArray(r *update.Region, addr uintptr) (element int, text, names string) {
	from := uintptr(unsafe.Pointer(unsafe.SliceData(r.Array)))
	lo, hi := bounds(r.Mem)
	size := r.Type.Size()
	element = int((addr - from) / size)
	array, _, _ := bytes.Cut([]byte(r.Name), []byte("["))
	names = fmt.Sprintf("names elements %d to %d", (lo-from)/size, int((hi-from)/size)-1)
	if lo == hi {
		names = "names none"
	}
	return element, fmt.Sprintf("element %d of %s", element, array), names
}

// trespasses finds the tasks that have written what they may not.
func (c *Section) trespasses() {
	var stray []shadowSpan
	for d := range c.shadow.changes() {
		if !d.owner.near {
			c.trace = c.describe(d)
		}
	}
	for _, sp := range c.shadow.spans {
		if sp.owner.near && !bytes.Equal(sp.live, sp.entry) {
			sp.entry = bytes.Clone(sp.live)
			stray = append(stray, sp)
		}
	}
	if c.trace == "" && stray == nil {
		return
	}
	for i := range c.s.Tasks {
		c.trespass(i)
	}
	if len(c.findings) > 0 {
		return
	}
	if c.trace != "" {
		c.writtenBySomeone()
	}
	for _, sp := range stray { // somebody else's work
		copy(sp.live, sp.entry)
	}
}
