package checked

import (
	"bytes"
	"fmt"
	"unsafe"

	"github.com/intrahpc/intra/update"
)

// leastNear is the least distance from a region, in bytes, within which memory is watched.
// If a region is longer, the distance is its length. Bounds are usually wrong by a little
// or by a block, and watching more memory would cost too much.
const leastNear = 4096

// watchNear watches the memory near the regions that the tasks write, in the same arrays.
// It watches nothing while a message may arrive.
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

// near returns r together with the memory near it.
func (c *Section) near(r *update.Region) []byte {
	array := r.Array()
	if !c.trial.sharesMemory() { // memory beyond the end of the array may belong to another process
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

// beside returns the region of task i whose array holds addr.
func (c *Section) beside(i int, addr uintptr) *update.Region {
	var found *update.Region
	for k := range c.s.Tasks[i].Regions {
		r := &c.s.Tasks[i].Regions[k]
		array := r.Array()
		array = array[:cap(array)]
		if lo, hi := bounds(array); r.Mode != update.Reduce && lo <= addr && addr < hi && (found == nil || r.Mode != update.In) {
			found = r
		}
	}
	return found
}

// inArray describes the element of r's array at addr, and the elements of the array that r
// names.
func inArray(r *update.Region, addr uintptr) (element int, text, names string) {
	from := uintptr(unsafe.Pointer(unsafe.SliceData(r.Array())))
	lo, hi := bounds(r.Mem)
	size := r.Type().Size()
	element = int((addr - from) / size)
	array, _, _ := bytes.Cut([]byte(r.Name), []byte("["))
	names = fmt.Sprintf("names elements %d to %d", (lo-from)/size, int((hi-from)/size)-1)
	if lo == hi {
		names = "names none"
	}
	return element, fmt.Sprintf("element %d of %s", element, array), names
}

// trespasses finds the tasks that have made forbidden writes.
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
	for _, sp := range stray { // no task has written the rest
		copy(sp.live, sp.entry)
	}
}
