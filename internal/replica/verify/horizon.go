package verify

// Enough is the number of comparisons after which a process counts as sound. A
// process that errs in a thousandth of its tasks, or in more, is found within
// that number with a probability of 95 % (1 - exp(-3)).
const Enough = 3000

// Horizon bounds how far back a process that is blamed now may have erred, if only a share
// of the tasks is compared. The bound is the last safe point that was followed by Enough
// comparisons. The zero value has no comparisons.
type Horizon struct {
	compared uint64 // number of tasks whose results were compared among all replicas of the rank
	marks    []mark // ascending; earlier marks can no longer become the bound
	sure     uint64
}

// mark is a safe point, and the number of comparisons before it.
type mark struct{ point, compared uint64 }

// Compared counts n more compared tasks by which no live process was blamed.
func (h *Horizon) Compared(n int) {
	h.compared += uint64(n)
	for len(h.marks) > 0 && h.compared-h.marks[0].compared >= Enough {
		h.sure, h.marks = h.marks[0].point, h.marks[1:]
	}
}

// At records that the program is at a safe point.
func (h *Horizon) At(point uint64) {
	if n := len(h.marks); n > 0 && h.marks[n-1].compared == h.compared {
		h.marks = h.marks[:n-1] // nothing was compared since, so the later safe point replaces it
	}
	h.marks = append(h.marks, mark{point, h.compared})
}

// Back records that the program rolls back to an earlier safe point.
func (h *Horizon) Back(point uint64) {
	for n := len(h.marks); n > 0 && h.marks[n-1].point > point; n-- {
		h.marks = h.marks[:n-1]
	}
	h.sure = min(h.sure, point)
}

// Sure returns the last safe point that was followed by Enough comparisons, 0 if there is
// none. The comparisons found every process sound up to it.
func (h *Horizon) Sure() uint64 { return h.sure }
