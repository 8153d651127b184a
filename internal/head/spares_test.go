package head

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head/decision"
)

// If a host with one slot joins, a process that needs the slot gets it before a spare. Without
// -replace the process can get it only by way of the spare.
func TestRoomForSpares(t *testing.T) {
	const joins = detect.ID(4)
	for _, c := range []struct {
		name    string
		job     []string
		before  []string // there is no room on the hosts of the start
		process bool     // whether the slot waits for a process
		after   []string
	}{
		{"a process leaves", []string{"degrees=1", "hosts=2", "replace"},
			[]string{"killed 1.0@3", "keep", "leaves 0.0@2", "keep"}, true, []string{"said 0.0@2 reply first", "keep"}},
		{"a process leaves, and no other one may be started", []string{"degrees=1", "hosts=2"},
			[]string{"killed 1.0@3", "keep", "leaves 0.0@2", "keep"}, false, []string{"started 2.0@4", "joined 2.0@4", "said 0.0@2 reply first", "keep"}},
		{"the output of a dead process is not complete", []string{"degrees=2", "hosts=2", "replace"},
			[]string{"said 0.0@2 reply first", "lost 3", "keep"}, true, []string{"settled 0.1@3", "keep"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := begun(t, append(c.job, "spares=1")...)
			s.head.config.Nodes[0].Slots, s.head.config.Nodes[1].Slots = 1, 0
			s.commands(c.before...)
			s.commands("arrives 4 1", "keep")
			spares := 0
			for _, at := range s.state.Spares {
				if at.Node == joins && at.Status == decision.Running {
					spares++
				}
			}
			require.Equal(t, c.process, spares == 0)
			s.commands(c.after...)
			on := 0
			for _, at := range s.state.Places {
				if at.Node == joins {
					on++
				}
			}
			for _, at := range s.state.Reliefs {
				if at.Node == joins {
					on++
				}
			}
			require.Equal(t, 1, on, "the process is on the host that has joined")
		})
	}
}
