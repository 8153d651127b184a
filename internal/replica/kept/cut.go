package kept

import (
	"fmt"
	"slices"
)

// cut is a safe point at which all memory becomes current on both replicas. Each replica sends
// everything that its sibling lacks in one frame. The exchange is not one of the numbered ones,
// because the sibling may pass the safe point without the cut: the cut may be cancelled, and the
// replicas learn of that at different times. In that case the exchange has no effect on either
// replica.
type cut struct {
	open      bool
	done      bool // all memory is current on both replicas
	missed    bool // the sibling has passed the safe point without the cut
	number    uint64
	signature uint64
	into      []Span
	before    []run // the map without the cut
}

// at reports whether all memory became current at a safe point.
func (c *cut) at(number uint64) bool { return c.done && c.number == number }

// miss undoes the effect of an open cut at a safe point on the map.
func (c *cut) miss(number uint64, h *holders) {
	if c.open && c.number == number {
		c.missed, h.runs = true, c.before
	}
}

// Cut begins a cut at a safe point, before SafePoint. If it ends with Done, all memory is current
// on both replicas, and no image is left. Then the replica may report that it is in the cut, and
// after that report it never rolls back by itself. SafePoint follows when the cut is over. The
// safe point becomes a settled point then, even if the cut was cancelled meanwhile. Its Place is
// the one after the cut: decisions on the order of messages are numbered from 0 there.
//
// After Missed the caller calls Next again when something has changed, or SafePoint when it
// knows that the cut is cancelled.
func (m *Machine) Cut(number uint64) {
	if m.second != nil {
		m.err = fmt.Errorf("a cut at safe point %d is due before this replica has run again up to there", number)
		return
	}
	c := cut{open: true, number: number, before: slices.Clone(m.holders.runs)}
	var out []Span
	out, c.into, c.signature = m.divide(m.all(nil))
	if m.cut = c; m.paired() {
		m.act(Action{Kind: Send, Frame: Frame{Kind: Whole, Number: number, Signature: c.signature, Bytes: size(out)}, Mem: out})
	}
}

// inCut returns the next step in the open cut.
func (m *Machine) inCut() Step {
	c := &m.cut
	switch {
	case m.wholeAt(c.number):
		a := m.whole
		m.whole = arrival{}
		if a.frame.Signature != c.signature {
			m.err = &Divergence{fmt.Sprintf("memory in the cut of safe point %d", c.number),
				fmt.Sprintf("list %016x of the other replica", a.frame.Signature), fmt.Sprintf("list %016x here", c.signature)}
			return Step{}
		}
		m.act(Action{Kind: Apply, Mem: c.into, Token: a.token})
	case m.paired() && c.missed:
		return Step{Kind: Missed}
	case m.paired():
		return Step{Kind: Wait}
	}
	c.open, c.done, c.into, c.before = false, true, nil, nil
	m.tidy() // no area is left, as in a joiner
	m.dropImages(len(m.images))
	return Step{Kind: Done}
}

// wholeAt reports whether the sibling has sent everything that this replica lacks, for the cut
// at a safe point.
func (m *Machine) wholeAt(number uint64) bool {
	return m.whole.frame.Kind == Whole && m.whole.frame.Number == number
}

// arriveWhole handles the frame of the sibling for a cut.
func (m *Machine) arriveWhole(f Frame, token any) {
	m.whole = arrival{f, token}
	m.refuseWhole()
}

// refuseWhole informs the sibling, if it is in the cut of a safe point that this replica has
// passed without the cut.
func (m *Machine) refuseWhole() {
	if f := m.whole.frame; f.Kind == Whole && f.Number <= m.passed {
		m.whole = arrival{}
		m.act(Action{Kind: Send, Frame: Frame{Kind: Passed, Number: f.Number}})
	}
}

// siblingDiesInCut undoes the effect of an open cut on the map, unless the frame of the dead
// sibling for this cut has arrived.
func (m *Machine) siblingDiesInCut() {
	if m.cut.open && m.wholeAt(m.cut.number) {
		return
	}
	m.whole = arrival{}
	m.cut.miss(m.cut.number, &m.holders)
}

// Join makes the sibling live, in a cut in which it has joined: all memory is current on both
// replicas. Each begins to keep results at its SafePoint of the cut. The machine of the joiner
// is a new one.
func (m *Machine) Join() error {
	if m.second != nil || len(m.holders.runs) > 0 || m.open != nil || len(m.images) > 0 {
		return fmt.Errorf("a replica joins at safe point %d before this one has run again up to there", m.cut.number)
	}
	m.holders.live, m.begun = both, false
	m.exchanges, m.under, m.heldBack, m.half, m.whole = 0, 0, nil, newHalves(), arrival{}
	clear(m.inbox)
	return nil
}
