package recovery

import (
	"fmt"

	"github.com/intrahpc/intra/internal/job"
)

// Describe returns a text for users about what the program waits for in a safe point, ""
// outside one.
func (m *Member) Describe() string {
	switch {
	case m.rolled:
		return "the job goes back"
	case m.point == 0:
		return ""
	case m.rest && !m.left:
		return fmt.Sprintf("safe point %d, whose cut is cancelled", m.point)
	case m.point == m.at || m.point == m.cut():
		return fmt.Sprintf("safe point %d, the cut: %s", m.point, m.stage())
	case m.asked && m.number == 0 && m.point > m.reported:
		return fmt.Sprintf("safe point %d waits for the number of the cut", m.point)
	}
	return fmt.Sprintf("safe point %d", m.point)
}

// stage describes the step of the cut that this process is in.
func (m *Member) stage() string {
	switch {
	case !m.drained:
		return "waits for what was sent before it"
	case len(m.transfer) > 0:
		return fmt.Sprintf("gives its state to %v", m.transfer)
	case len(m.admit) > 0 && !m.admitted:
		return fmt.Sprintf("makes %v live", processes(m.admit))
	case !m.left && m.admitted:
		return fmt.Sprintf("%v are live, waits for the head to end it", processes(m.admit))
	case !m.left:
		return "all messages have arrived, waits for the head to end it"
	}
	return "is over"
}

func processes(peers []job.Peer) (all []job.Process) {
	for _, p := range peers {
		all = append(all, p.Process)
	}
	return all
}
