package launch

import (
	"sync"
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/agent/agentd"
	"github.com/intrahpc/intra/internal/agent/agentwire"
	"github.com/intrahpc/intra/internal/agent/output"
	"github.com/intrahpc/intra/internal/agent/supervise"
	"github.com/intrahpc/intra/internal/job"
)

// agent starts, watches and ends the processes of a host for the head. It is a local agent in
// this process, or a remote that commands an agent on another host. Its methods, except Feed,
// do not block for long. It reports its observations to an observer. Orders for a process that
// has ended have no effect.
type agent interface {
	// Start starts a process; observer.Started receives the result.
	Start(of agentwire.Name, r supervise.Role)
	// Send sends a message to a process.
	Send(of agentwire.Name, m *job.Message)
	// Link gives two processes of this host the two ends of a link.
	Link(l supervise.HostLink)
	// Signal sends a signal to the process and all processes that it has started.
	Signal(of agentwire.Name, s syscall.Signal)
	// Feed writes to the standard input of a process; an empty b closes it. It
	// blocks until there is room.
	Feed(of agentwire.Name, b []byte)
	// Quiet calls observer.Quiet with n once all output that the process has written so far
	// was taken. It does nothing for a process that has ended.
	Quiet(of agentwire.Name, n uint64)
	// Resume sets the position at which the output of a process continues. Only a later head
	// needs it.
	Resume(of agentwire.Name, at agentd.OutputResume)
	// Written reports the position up to which the output of the process's rank has been
	// written.
	Written(of agentwire.Name, w output.Written)
	// Free ends the agent of a host that has left. If the host cannot leave, why is the
	// reason.
	Free(why string)
	// Doubtful reports whether the host may soon be declared lost.
	Doubtful() bool
}

// local is the agent of this host in the head's own process. Such a job never
// gets another head.
type local struct {
	*supervise.Agent
	observer observer

	mu           sync.Mutex
	incarnations map[job.Process]uint32
}

// newLocal returns an agent that starts processes by the plan in c.
func newLocal(o observer, c supervise.Config) *local {
	l := &local{observer: o, incarnations: make(map[job.Process]uint32)}
	c.Observer = localObserver{l}
	l.Agent = supervise.New(c)
	l.Watch(func() bool { return false })
	return l
}

// Start starts a process. An earlier process with that ID must have ended, and all its
// messages must be handled.
func (l *local) Start(of agentwire.Name, r supervise.Role) {
	l.mu.Lock()
	l.incarnations[of.ID] = of.Incarnation
	l.mu.Unlock()
	l.Agent.Start(of.ID, r)
}

func (l *local) Send(of agentwire.Name, m *job.Message)       { l.Agent.Send(of.ID, m) }
func (l *local) Signal(of agentwire.Name, s syscall.Signal)   { l.Agent.Signal(of.ID, s) }
func (l *local) Feed(of agentwire.Name, b []byte)             { l.Agent.Feed(of.ID, b) }
func (l *local) Quiet(of agentwire.Name, n uint64)            { l.Agent.Quiet(of.ID, n) }
func (*local) Resume(_ agentwire.Name, _ agentd.OutputResume) {}
func (*local) Free(string)                                    {}
func (*local) Written(_ agentwire.Name, _ output.Written)     {}

// name adds the incarnation to the ID of a process.
func (l *local) name(p job.Process) agentwire.Name {
	l.mu.Lock()
	defer l.mu.Unlock()
	return agentwire.Name{ID: p, Incarnation: l.incarnations[p]}
}

// localObserver passes the observations of a local agent to its observer.
type localObserver struct{ *local }

func (l localObserver) Started(p job.Process, pid int, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	l.observer.Started(l.name(p), pid, text)
}
func (l localObserver) Hello(p job.Process, h *job.Hello)     { l.observer.Hello(l.name(p), h) }
func (l localObserver) Message(p job.Process, m *job.Message) { l.observer.Message(l.name(p), m) }
func (l localObserver) Unreachable(p job.Process, s supervise.Silence) {
	l.observer.Unreachable(l.name(p), s)
}
func (l localObserver) Output(p job.Process, s output.Stream, b []byte) {
	l.observer.Output(l.name(p), s, b)
}
func (l localObserver) Quiet(p job.Process, n uint64)          { l.observer.Quiet(l.name(p), n) }
func (l localObserver) Stopped(p job.Process, d time.Duration) { l.observer.Stopped(l.name(p), d) }
func (l localObserver) ProgramGone(p job.Process)              { l.observer.ProgramGone(l.name(p)) }
func (l localObserver) Exited(p job.Process, e supervise.Exit) { l.observer.Exited(l.name(p), e) }
func (l localObserver) Failed(err error)                       { l.observer.Failed(err) }
