package launch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/agent/agentd"
	"github.com/intrahpc/intra/internal/agent/agentlog"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/head/decision"
)

// An agent that is the head ends the job if it receives SIGTERM and its host cannot leave: the
// job would end without a reason if only the agent ended. Any other agent ends alone.
func TestHeadThatCannotLeaveEndsTheJob(t *testing.T) {
	lives := agentd.ProcessResync{State: agentlog.State{PID: 100, Joined: true, Begun: true, Voiced: true}}
	begun := func() (*inherited, *hosts) {
		s := inherit(t, []agentd.ProcessResync{resynced(0, lives)}, []agentd.ProcessResync{resynced(1, lives)})
		s.state.Apply(decision.Entry{Kind: decision.Started})
		s.lead.Began = s.lead.Entered
		return s, s.goOn(t)
	}
	s, w := begun()
	w.step(head.Noticed{Node: agentOf(0)})
	require.Empty(t, w.head.Summary().Text)
	s.out.console.Close()
	require.NotContains(t, s.out.err.String(), "SIGTERM")

	s, w = begun()
	w.step(head.Noticed{Node: agentOf(1)})
	require.Equal(t, "ended by SIGTERM", w.head.Summary().Text)
	s.out.console.Close()
	require.Contains(t, s.out.err.String(), "intrarun: SIGTERM: this host is to leave: it cannot leave: ")
}
