package comm

import (
	"cmp"
	"fmt"
	"slices"
	"unsafe"
)

// A call that reads one buffer and writes another does so in no defined order, because
// messages arrive at different times at each replica. If the two buffers share memory, the
// messages that it sends depend on that order, and replicas continue with different values.
// So calls reject such buffers.

// Remedies for buffers that overlap.
const (
	cureReplace = "use SendrecvReplace, or send a copy like slices.Clone(send)"
	cureCopy    = "send a copy, like slices.Clone(send)"
	cureInPlace = "pass nil as send to combine in place"
	curePlaced  = "pass nil as send if the part is in its place already, or send a copy like slices.Clone(send)"
	cureKept    = "pass nil as recv to leave the part in its place, or receive into other memory"
	cureParts   = "give each rank memory of its own in recv"
)

// overlapError describes which arguments share how many bytes.
func overlapError(a, b string, bytes uintptr, cure string) error {
	return fmt.Errorf("%w: %s and %s share %d bytes, %s (%s)", ErrOverlap, a, b, bytes, cure, userCode())
}

// apart rejects buffers that share memory.
func apart(send, recv []byte, cure string) error {
	if len(send) == 0 || len(recv) == 0 {
		return nil
	}
	a, b := extentOf(send, 0), extentOf(recv, 0)
	if n := a.shared(b); n > 0 {
		return overlapError("send", "recv", n, cure)
	}
	return nil
}

// extent is the location of a part in memory.
type extent struct {
	from, to uintptr
	part     int
}

func extentOf(b []byte, part int) extent {
	from := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return extent{from, from + uintptr(len(b)), part}
}

// shared returns the number of bytes in both extents.
func (e extent) shared(with extent) uintptr {
	from, to := max(e.from, with.from), min(e.to, with.to)
	if from >= to {
		return 0
	}
	return to - from
}

// parts are the buffers of one argument of a call.
type parts struct {
	name string
	list []extent // without the empty ones
	many bool     // the argument is a list
}

// partsOf returns the parts of an argument that is a list.
func partsOf[T any](name string, list [][]T) parts {
	p := parts{name: name, list: make([]extent, 0, len(list)), many: true}
	for i, part := range list {
		if len(part) > 0 {
			p.list = append(p.list, extentOf(bytesOf(part), i))
		}
	}
	return p
}

// partOf returns the parts of an argument that is one buffer.
func partOf[T any](name string, buf []T) parts {
	p := partsOf(name, [][]T{buf})
	p.many = false
	return p
}

// label names a part as the program would write it.
func (p parts) label(e extent) string {
	if !p.many {
		return p.name
	}
	return fmt.Sprintf("%s[%d]", p.name, e.part)
}

// partsApart is apart for calls with parts. Parts that are written must not overlap each
// other either.
func partsApart(read, written parts, cure string) error {
	list := written.list
	byPlace := func(a, b extent) int { return cmp.Compare(a.from, b.from) }
	if !slices.IsSortedFunc(list, byPlace) {
		slices.SortFunc(list, byPlace)
	}
	for i := 1; i < len(list); i++ {
		a, b := list[i-1], list[i]
		if n := a.shared(b); n > 0 {
			if a.part > b.part {
				a, b = b, a
			}
			return overlapError(written.label(a), written.label(b), n, cureParts)
		}
	}
	for _, r := range read.list {
		i, _ := slices.BinarySearchFunc(list, r.from, func(w extent, at uintptr) int {
			if w.to <= at {
				return -1
			}
			return 1
		})
		if i == len(list) {
			continue
		}
		if n := r.shared(list[i]); n > 0 {
			return overlapError(read.label(r), written.label(list[i]), n, cure)
		}
	}
	return nil
}
