package agentd

import (
	"time"

	"github.com/intrahpc/intra/internal/agent/agentlog"
	"github.com/intrahpc/intra/internal/agent/agentwire"
	"github.com/intrahpc/intra/internal/agent/output"
)

// hostLog is the agent's log of the processes of this host.
type hostLog = agentlog.Host[frame, streams]

// processLog is the log of one process.
type processLog = agentlog.Process[frame, streams]

// name returns the name of a process in frames.
func name(p *processLog) agentwire.Name { return agentwire.Name(p.Name()) }

// frame is an observation about a process, in the form in which the agent sends it to a head.
type frame struct {
	kind agentwire.Kind
	body []byte
}

// streams are the output and the standard input of a process.
type streams struct {
	buffers [output.Crashes]*output.ReplayBuffer
	stdin   *agentwire.Inbox
}

// repeat sends a new head the messages about a process that it needs.
func repeat(to *agentwire.Conn, p *processLog, now time.Duration) {
	for _, s := range p.Repeat(now) {
		if s.Message != nil {
			s.Seen = frame{agentwire.KindMessage, agentwire.Encode(s.Message)}
		}
		to.Send(s.Seen.kind, name(p), s.Seen.body)
	}
}
