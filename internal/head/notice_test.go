package head

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/head/decision"
)

// The agent of a host that can leave runs until the last process of the host has left. The agent of
// a host that cannot leave ends at once, with its processes. A job whose processes are released
// ends by itself.
func TestNoticeToAnAgent(t *testing.T) {
	for _, c := range []struct {
		name     string
		settings []string
		commands []string
		leaves   bool   // whether the head proposes that the host leaves
		why      string // why the agent ends at once
	}{
		{"another replica stays", []string{"degrees=2", "hosts=3"}, nil, true, ""},
		{"its process has nowhere to go", []string{"degrees=1,1", "hosts=3"}, nil, false, "it cannot leave: 0.0 has no other replica on a host that stays, and cannot be moved: the job replaces no process: start it with -replace or -spares"},
		{"the job is released", []string{"degrees=1,1", "hosts=3"}, []string{"said 0.0@2 finish", "said 1.0@3 finish", "keep"}, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := begun(t, c.settings...)
			s.commands(c.commands...)
			var leaves bool
			var why string
			for _, a := range s.head.Step(Noticed{2}, s.now) {
				switch a := a.(type) {
				case Propose:
					leaves = leaves || a.Entry.Kind == decision.Left
				case Free:
					why = a.Why
				}
			}
			require.Equal(t, c.leaves, leaves)
			require.Equal(t, c.why, why)
		})
	}
}
