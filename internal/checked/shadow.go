package checked

import (
	"bytes"
	"iter"
	"slices"
	"unsafe"
)

// shadow holds the entry contents of the memory that the tasks of a section name. Memory
// that is named twice is held once, with its contents at the first time.
type shadow struct {
	spans []shadowSpan // in the order of their addresses, disjoint
}

type shadowSpan struct {
	lo, hi      uintptr
	live, entry []byte
	owner       owner // the first region that named the memory
}

// owner is a region of a task, or a watched region.
type owner struct {
	task, region int
	near         bool // the memory near the region, not the region itself
	folded       bool // region is an index into the memory that tasks reduce into
}

// watched, as a task, stands for regions that no task names.
const watched = -1

// change is a byte that differs from its entry value.
type change struct {
	addr  uintptr
	owner owner
}

func bounds(mem []byte) (lo, hi uintptr) {
	lo = uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
	return lo, lo + uintptr(len(mem))
}

// first returns the index of the first span that ends after addr.
func (s *shadow) first(addr uintptr) int {
	i, _ := slices.BinarySearchFunc(s.spans, addr, func(sp shadowSpan, a uintptr) int {
		if sp.hi <= a {
			return -1
		}
		return 1
	})
	return i
}

// add copies the parts of mem that are not held yet.
func (s *shadow) add(o owner, mem []byte) {
	lo, hi := bounds(mem)
	i := s.first(lo)
	for at := lo; at < hi; i++ {
		if i < len(s.spans) && s.spans[i].lo <= at {
			at = s.spans[i].hi
			continue
		}
		end := hi
		if i < len(s.spans) {
			end = min(end, s.spans[i].lo)
		}
		live := mem[at-lo : end-lo]
		s.spans = slices.Insert(s.spans, i, shadowSpan{at, end, live, bytes.Clone(live), o})
		at = end
	}
}

// pieces yields mem in parts, each with its entry value.
func (s *shadow) pieces(mem []byte) iter.Seq[shadowSpan] {
	lo, hi := bounds(mem)
	return func(yield func(shadowSpan) bool) {
		for i := s.first(lo); i < len(s.spans) && s.spans[i].lo < hi; i++ {
			sp := s.spans[i]
			from, to := max(lo, sp.lo), min(hi, sp.hi)
			sp.live, sp.entry = sp.live[from-sp.lo:to-sp.lo], sp.entry[from-sp.lo:to-sp.lo]
			sp.lo, sp.hi = from, to
			if !yield(sp) {
				return
			}
		}
	}
}

// restore gives mem its entry contents.
func (s *shadow) restore(mem []byte) {
	for p := range s.pieces(mem) {
		copy(p.live, p.entry)
	}
}

// restoreAll gives all held memory its entry contents.
func (s *shadow) restoreAll() {
	for _, sp := range s.spans {
		copy(sp.live, sp.entry)
	}
}

// change returns the first byte of mem that has changed.
func (s *shadow) change(mem []byte) (change, bool) {
	for p := range s.pieces(mem) {
		if at := firstDifference(p.live, p.entry); at >= 0 {
			return change{p.lo + uintptr(at), p.owner}, true
		}
	}
	return change{}, false
}

// changes yields the first byte of each span that has changed.
func (s *shadow) changes() iter.Seq[change] {
	return func(yield func(change) bool) {
		for _, sp := range s.spans {
			if at := firstDifference(sp.live, sp.entry); at >= 0 && !yield(change{sp.lo + uintptr(at), sp.owner}) {
				return
			}
		}
	}
}

// firstDifference returns the index of the first byte in which a and b, of
// equal length, differ, or -1.
func firstDifference(a, b []byte) int {
	if bytes.Equal(a, b) {
		return -1
	}
	for lo, hi := 0, len(a); ; {
		if hi-lo == 1 {
			return lo
		}
		if mid := (lo + hi) / 2; bytes.Equal(a[lo:mid], b[lo:mid]) {
			lo = mid
		} else {
			hi = mid
		}
	}
}
