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

// agent is what the head asks of the one that starts, watches and ends the
// processes of a host: a local one here, or a remote, which commands one there.
// Except for Feed its methods do not block for long; what it sees it tells an
// observer. What is said to a process that is gone goes nowhere.
type agent interface {
	// Start starts a process; observer.Started says how that went.
	Start(of agentwire.Name, r supervise.Role)
	// Send hands a message to a process.
	Send(of agentwire.Name, m *job.Message)
	// Link gives two processes of this host the two ends of a link.
	Link(l supervise.HostLink)
	// Signal sends a signal to the process and all that it has started.
	Signal(of agentwire.Name, s syscall.Signal)
	// Feed gives a process standard input, nothing at its end. It blocks until
	// there is room for it.
	Feed(of agentwire.Name, b []byte)
	// Quiet has observer.Quiet called with n once all that the process has written
	// so far was taken. A process that is gone is never quiet.
	Quiet(of agentwire.Name, n uint64)
	// Resume says where the output of a process goes on, for another head.
	Resume(of agentwire.Name, at agentd.OutputResume)
	// Written says how much of the output of the rank of a process is out.
	Written(of agentwire.Name, w output.Written)
	// Doubtful reports whether the host may be about to be declared lost.
	Doubtful() bool
}

// local is the agent of this host in the head's own process. There is never
// another head.
type local struct {
	*supervise.Agent
	observer observer

	mu           sync.Mutex
	incarnations map[job.Process]uint32
}

// newLocal returns the agent that starts processes by this plan.
func newLocal(o observer, c supervise.Config) *local {
	l := &local{observer: o, incarnations: make(map[job.Process]uint32)}
	c.Observer = localObserver{l}
	l.Agent = supervise.New(c)
	l.Watch(func() bool { return false })
	return l
}

// Start starts a process. The one before it with that ID is gone by then, and
// all that it said was heard.
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
func (*local) Written(_ agentwire.Name, _ output.Written)     {}

// name completes the ID of a process.
func (l *local) name(p job.Process) agentwire.Name {
	l.mu.Lock()
	defer l.mu.Unlock()
	return agentwire.Name{ID: p, Incarnation: l.incarnations[p]}
}

// localObserver is what a local agent tells.
type localObserver struct{ *local }

func (l localObserver) Started(p job.Process, pid int, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	l.observer.Started(l.name(p), pid, text)
}
func (l localObserver) Hello(p job.Process, h *job.Hello)          { l.observer.Hello(l.name(p), h) }
func (l localObserver) Message(p job.Process, m *job.Message)      { l.observer.Message(l.name(p), m) }
func (l localObserver) Unheard(p job.Process, s supervise.Silence) { l.observer.Unheard(l.name(p), s) }
func (l localObserver) Output(p job.Process, s output.Stream, b []byte) {
	l.observer.Output(l.name(p), s, b)
}
func (l localObserver) Quiet(p job.Process, n uint64)          { l.observer.Quiet(l.name(p), n) }
func (l localObserver) Stopped(p job.Process, d time.Duration) { l.observer.Stopped(l.name(p), d) }
func (l localObserver) ProgramGone(p job.Process)              { l.observer.ProgramGone(l.name(p)) }
func (l localObserver) Exited(p job.Process, e supervise.Exit) { l.observer.Exited(l.name(p), e) }
func (l localObserver) Failed(err error)                       { l.observer.Failed(err) }
