package verify

// Enough is how many comparisons tell that a process is sound: one that errs in a
// thousandth of its tasks, or in more of them, is found within so many with a probability
// of 95 % (1 - exp(-3)).
const Enough = 3000

// Horizon is how far back a process may have erred that is convicted now, where only a
// share of the tasks are compared: since the last safe point with Enough comparisons after
// it. Its zero value is that of a process of which nothing is known.
type Horizon struct {
	compared uint64 // tasks of which the results of all replicas of the rank were compared
	marks    []mark // ascending; those before the first one are of no use any more
	sure     uint64
}

// mark is a safe point, and what had been compared by then.
type mark struct{ point, compared uint64 }

// Compared says that n more tasks were, and nobody was convicted but those who are dead.
func (h *Horizon) Compared(n int) {
	h.compared += uint64(n)
	for len(h.marks) > 0 && h.compared-h.marks[0].compared >= Enough {
		h.sure, h.marks = h.marks[0].point, h.marks[1:]
	}
}

// At says that the program is at a safe point.
func (h *Horizon) At(point uint64) {
	if n := len(h.marks); n > 0 && h.marks[n-1].compared == h.compared {
		h.marks = h.marks[:n-1] // as good as the later one
	}
	h.marks = append(h.marks, mark{point, h.compared})
}

// Back says that the program goes on from an earlier safe point.
func (h *Horizon) Back(point uint64) {
	for n := len(h.marks); n > 0 && h.marks[n-1].point > point; n-- {
		h.marks = h.marks[:n-1]
	}
	h.sure = min(h.sure, point)
}

// Sure returns the safe point by which no process was defective that errs in a thousandth
// of its tasks, or in more, 0 if that is not known of any.
func (h *Horizon) Sure() uint64 { return h.sure }
