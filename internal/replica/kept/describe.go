package kept

import "fmt"

// Describe describes, for the user, what the replica waits for. It returns "" if it waits
// for nothing.
func (m *Machine) Describe() string {
	switch {
	case m.behind:
		return fmt.Sprintf("rolls back to safe point %d: its sibling died with memory that it needs", m.images[0].point)
	case m.open != nil:
		return fmt.Sprintf("waits for %d pieces of memory from replica %d", len(m.open.into), 1-m.me)
	case m.cut.open && m.cut.missed:
		return fmt.Sprintf("safe point %d: replica %d has passed it, so the cut will be cancelled", m.cut.number, 1-m.me)
	case m.cut.open:
		return fmt.Sprintf("safe point %d: waits for all memory of replica %d", m.cut.number, 1-m.me)
	case m.point.open && len(m.heldBack) > 0:
		return fmt.Sprintf("safe point %d: waits until replica %d has room for %d frames", m.point.Number, 1-m.me, len(m.heldBack))
	case m.point.open && !m.half.complete():
		return fmt.Sprintf("safe point %d: waits for the image of safe point %d from replica %d", m.point.Number, m.half.at, 1-m.me)
	case m.second != nil:
		return fmt.Sprintf("runs again from safe point %d", m.second.from)
	}
	return ""
}
