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

// observer is told what the agent of a host sees, by goroutines of the agent.
// What one process does comes in its order, except that output may lag behind.
type observer interface {
	// Started says that the process runs as pid, or could not be started, and why.
	Started(of agentwire.Name, pid int, err string)
	// Hello says that the process has proved itself and waits for its Setup.
	Hello(of agentwire.Name, h *job.Hello)
	// Message passes on what the process, which has joined, says.
	Message(of agentwire.Name, m *job.Message)
	// Unheard says that nothing more comes on its control connection, or gets there.
	Unheard(of agentwire.Name, s supervise.Silence)
	// Output passes on what the process has written; it will write no more if there
	// are no bytes. It blocks until there is room.
	Output(of agentwire.Name, s output.Stream, b []byte)
	// Quiet answers agent.Quiet.
	Quiet(of agentwire.Name, n uint64)
	// Stopped says that the process has been stopped for d now.
	Stopped(of agentwire.Name, d time.Duration)
	// ProgramGone says that the program is gone, and that the wrapper it was started
	// by goes on.
	ProgramGone(of agentwire.Name)
	// Exited says that the process is gone, and its group with it.
	Exited(of agentwire.Name, e supervise.Exit)
	// Failed says that the agent cannot do what is needed for the job.
	Failed(err error)
	// Disconnected says that the connection to the agent has ended.
	Disconnected(err error)
}

// reporter tells the head what the agent of a node sees.
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
	if m.Kind == job.KindTrace { // too many for the head, and none of its business
		o.trace.Add(o.placeOf(o.from(of)), m.Trace)
		return
	}
	o.tell(head.Said{From: o.from(of), Message: m})
}

// placeOf is the place of a process in the job.
func (d *driver) placeOf(at head.From) job.Process {
	if p, moved := d.moved.Load(at); moved {
		return p.(job.Process)
	}
	return at.ID
}

func (o *reporter) Unheard(of agentwire.Name, s supervise.Silence) {
	o.tell(head.Unheard{From: o.from(of), Why: head.Silence(s.Why), Text: s.Text})
}

func (o *reporter) Output(of agentwire.Name, s output.Stream, b []byte) {
	if p := o.outputs.get(o.from(of)); p != nil { // else it is one of which only a lost head has known
		p.Write(s, b)
		if text := p.Rank().Difference(); text != "" && o.outputs.news(p.Rank()) {
			// The head may want what the caller holds.
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

func (o *reporter) Disconnected(err error) {
	o.tell(head.Disconnected{Node: o.node, Text: err.Error()})
}
