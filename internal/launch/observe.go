package launch

import (
	"time"

	"github.com/intrahpc/intra/internal/agent/agentwire"
	"github.com/intrahpc/intra/internal/agent/output"
	"github.com/intrahpc/intra/internal/agent/supervise"
	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/job"
)

// observer receives the observations of a host's agent, from goroutines of the agent. Events
// of one process arrive in order, except that output may lag behind.
type observer interface {
	// Started reports that the process runs as pid, or why it could not be
	// started.
	Started(of agentwire.Name, pid int, err string)
	// Hello reports that the process has authenticated itself and waits for its
	// Setup.
	Hello(of agentwire.Name, h *job.Hello)
	// Message passes on a message of a process that has joined.
	Message(of agentwire.Name, m *job.Message)
	// Unreachable reports that the control connection of the process no longer works in one
	// direction.
	Unreachable(of agentwire.Name, s supervise.Silence)
	// Output passes on output of the process; an empty b marks the end of the stream. It
	// blocks until there is room.
	Output(of agentwire.Name, s output.Stream, b []byte)
	// Quiet answers agent.Quiet.
	Quiet(of agentwire.Name, n uint64)
	// Stopped reports that the process has been stopped for d so far.
	Stopped(of agentwire.Name, d time.Duration)
	// ProgramGone reports that the program has ended, but the wrapper that started it has not.
	ProgramGone(of agentwire.Name)
	// Exited reports that the process has ended, and that its process group was killed.
	Exited(of agentwire.Name, e supervise.Exit)
	// Failed reports that the agent cannot do something that the job needs.
	Failed(err error)
	// Leave reports that the host has to leave the job.
	Leave()
	// Disconnected reports that the connection to the agent has ended.
	Disconnected(err error)
}

// reporter passes the observations about the processes of a node to the head.
type reporter struct {
	*driver
	node detect.ID
}

func (o *reporter) from(of agentwire.Name) head.From {
	return head.From{Node: o.node, ID: of.ID, Incarnation: of.Incarnation}
}

func (o *reporter) Started(of agentwire.Name, pid int, err string) {
	o.tell(head.Started{From: o.from(of), PID: pid, Err: err})
}

func (o *reporter) Hello(of agentwire.Name, h *job.Hello) {
	o.tell(head.Joined{From: o.from(of), Hello: h})
}

func (o *reporter) Message(of agentwire.Name, m *job.Message) {
	if m.Kind == job.KindTrace { // there are too many of these messages for the head, which does not need them
		o.trace.Add(o.placeOf(o.from(of)), m.Trace)
		return
	}
	o.tell(head.Said{From: o.from(of), Message: m})
}

// placeOf returns the slot of a process in the job.
func (d *driver) placeOf(at head.From) job.Process {
	if p, moved := d.moved.Load(at); moved {
		return p.(job.Process)
	}
	return at.ID
}

func (o *reporter) Unreachable(of agentwire.Name, s supervise.Silence) {
	o.tell(head.Unreachable{From: o.from(of), Why: head.Silence(s.Why), Text: s.Text})
}

func (o *reporter) Output(of agentwire.Name, s output.Stream, b []byte) {
	if p := o.outputs.get(o.from(of)); p != nil { // nil: only a lost head knew the process
		p.Write(s, b)
		if text := p.Rank().Difference(); text != "" && o.outputs.firstReport(p.Rank()) {
			// tell waits for the head, which may wait for this goroutine, so tell runs in
			// another one.
			go o.tell(head.Differs{Rank: of.ID.Rank, Text: text})
		}
	}
}

func (o *reporter) Quiet(of agentwire.Name, n uint64) {
	if p := o.outputs.get(o.from(of)); p != nil {
		o.tell(head.Quiet{From: o.from(of), Number: n, Position: agentwire.Encode(p.Position())})
	}
}

func (o *reporter) Stopped(of agentwire.Name, d time.Duration) {
	o.tell(head.Stopped{From: o.from(of), For: d})
}

func (o *reporter) ProgramGone(of agentwire.Name) { o.tell(head.ProgramGone{From: o.from(of)}) }

func (o *reporter) Exited(of agentwire.Name, e supervise.Exit) {
	p := o.outputs.get(o.from(of))
	o.tell(head.Exited{From: o.from(of), Exit: head.Exit{Status: e.Status, Text: e.Text, Crashed: p != nil && p.Crashed(), Quit: p != nil && p.Quit(), Memory: e.Memory}})
}

func (o *reporter) Failed(err error) { o.tell(head.Failed{Err: err.Error()}) }

func (o *reporter) Leave() { o.tell(head.Noticed{Node: o.node}) }

func (o *reporter) Disconnected(err error) {
	o.tell(head.Disconnected{Node: o.node, Text: err.Error()})
}
