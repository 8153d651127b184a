package update

import "fmt"

// Size returns the size of a task's update in bytes: the size of all regions that the task writes.
func Size(regions []Region) int {
	n := 0
	for i := range regions {
		if regions[i].Mode.Written() {
			n += len(regions[i].Mem)
		}
	}
	return n
}

// Traffic returns how many bytes of its regions a task reads and writes according to its
// clauses. Scratch counts as neither.
func Traffic(regions []Region) (read, written int) {
	for i := range regions {
		r := &regions[i]
		if r.Mode == In || r.Mode == InOut {
			read += len(r.Mem)
		}
		if r.Mode.Written() {
			written += len(r.Mem)
		}
	}
	return read, written
}

// Payload appends the memory of a task's update to pieces, in the order of the regions.
func Payload(pieces [][]byte, regions []Region) [][]byte {
	for i := range regions {
		if regions[i].Mode.Written() && len(regions[i].Mem) > 0 {
			pieces = append(pieces, regions[i].Mem)
		}
	}
	return pieces
}

// Apply copies a whole update from a peer into the corresponding regions.
func Apply(regions []Region, payload []byte) error {
	if want := Size(regions); len(payload) != want {
		return fmt.Errorf("an update of %d bytes for a task that writes %d", len(payload), want)
	}
	for i := range regions {
		if regions[i].Mode.Written() {
			payload = payload[copy(regions[i].Mem, payload):]
		}
	}
	return nil
}

// InPlace returns the memory into which the update of a task can be received directly. That
// is its only written region; a task with several ones needs a buffer.
func InPlace(regions []Region) (mem []byte, mode Mode, ok bool) {
	n := 0
	for i := range regions {
		if regions[i].Mode.Written() && len(regions[i].Mem) > 0 {
			mem, mode = regions[i].Mem, regions[i].Mode
			n++
		}
	}
	return mem, mode, n == 1
}
