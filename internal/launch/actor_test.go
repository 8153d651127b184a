package launch

import (
	"fmt"
	"slices"
	"sync"
	"syscall"

	"github.com/intrahpc/intra/internal/agent/agentd"
	"github.com/intrahpc/intra/internal/agent/agentwire"
	"github.com/intrahpc/intra/internal/agent/output"
	"github.com/intrahpc/intra/internal/agent/supervise"
	"github.com/intrahpc/intra/internal/job"
)

// life is the behaviour of a process when it is started (m is nil) or receives a message. If
// it returns false, the process behaves as usual.
type life func(a *actor, of agentwire.Name, m *job.Message) bool

// actor is an agent without processes. It simulates them, at the agent's end of the connection
// to the head.
type actor struct {
	conn  *agentwire.Conn
	lives map[string]life // by process

	mu    sync.Mutex
	notes []string
	gone  map[agentwire.Name]bool
	bye   chan int // receives the exit code of the job; closed if the connection ends without one
}

// begin makes the agent execute the orders of the head.
func (a *actor) begin() {
	defer close(a.bye)
	for {
		f, err := a.conn.Read()
		if err != nil {
			return
		}
		if f.Kind == agentwire.KindBye {
			var code int
			_ = f.Decode(&code)
			a.bye <- code
			continue
		}
		a.obey(&f)
	}
}

// note records an action of the head on the agent.
func (a *actor) note(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.notes = append(a.notes, fmt.Sprintf(format, args...))
}

// all returns the recorded actions.
func (a *actor) all() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.notes)
}

func (a *actor) obey(f *agentwire.Frame) {
	switch f.Kind {
	case agentwire.KindStart:
		a.note("start %s", known(f.Of))
		a.live(f.Of, nil)
	case agentwire.KindMessage:
		m, err := job.DecodeMessage(f.Body)
		if err != nil {
			panic(err)
		}
		a.note("%s %s", m.Kind, known(f.Of))
		a.live(f.Of, m)
	case agentwire.KindPlay: // a later head sends this
		a.note("play %s", known(f.Of))
		a.print(f.Of, output.Stdout, "a line\n")
		a.finish(f.Of)
	case agentwire.KindSignal:
		var n syscall.Signal
		_ = f.Decode(&n)
		a.note("signal %s %d", known(f.Of), n)
		a.exit(f.Of, syscall.WaitStatus(n))
	}
}

// live makes a process act on a message.
func (a *actor) live(of agentwire.Name, m *job.Message) {
	if l := a.lives[of.ID.String()]; l != nil && l(a, of, m) {
		return
	}
	switch {
	case m == nil:
		a.started(of)
		a.conn.SendJSON(agentwire.KindHello, of, &job.Hello{Tag: true, PID: 7})
	case m.Kind == job.KindSetup:
		a.say(of, &job.Message{Kind: job.KindListen, Address: "127.0.0.1:9"})
	case m.Kind == job.KindStart:
		a.print(of, output.Stdout, "a line\n")
		a.finish(of)
	case m.Kind == job.KindRelease, m.Kind == job.KindEnd, m.Kind == job.KindRefuse:
		a.exit(of, 0)
	}
}

func (a *actor) started(of agentwire.Name) {
	a.conn.SendJSON(agentwire.KindStarted, of, agentd.StartResult{PID: 7})
}

func (a *actor) say(of agentwire.Name, m *job.Message) {
	a.conn.SendJSON(agentwire.KindMessage, of, m)
}

func (a *actor) finish(of agentwire.Name) {
	a.say(of, &job.Message{Kind: job.KindFinish, Stats: &job.Stats{Sections: 3}})
	a.say(of, &job.Message{Kind: job.KindDrained})
}

func (a *actor) print(of agentwire.Name, s output.Stream, text string) {
	a.conn.Send(agentwire.KindOutput, of, agentwire.OutputBody(int(s), []byte(text)))
}

// exit ends a process, once.
func (a *actor) exit(of agentwire.Name, status syscall.WaitStatus) {
	a.mu.Lock()
	gone := a.gone[of]
	a.gone[of] = true
	a.mu.Unlock()
	if gone {
		return
	}
	for s := range output.Streams {
		a.print(of, s, "")
	}
	a.conn.SendJSON(agentwire.KindExited, of, supervise.Exit{Status: status, Text: fmt.Sprint("status ", int(status))})
}

// The lives of processes that do not follow the usual course.

// waits is the life of a process that does nothing until the head ends it.
func waits(_ *actor, _ agentwire.Name, m *job.Message) bool {
	return m != nil && m.Kind == job.KindStart
}

// dies is the life of a process that is killed when all have joined.
func dies(a *actor, of agentwire.Name, m *job.Message) bool {
	if m == nil || m.Kind != job.KindStart {
		return false
	}
	a.print(of, output.Stdout, "a line\n")
	a.exit(of, syscall.WaitStatus(syscall.SIGKILL))
	return true
}

// crashes is the life of a process that panics.
func crashes(a *actor, of agentwire.Name, m *job.Message) bool {
	return a.explain(of, m, "panic: it fell\n\ngoroutine 1 [running]:\n")
}

// quits is the life of a process that receives SIGQUIT.
func quits(a *actor, of agentwire.Name, m *job.Message) bool {
	return a.explain(of, m, "SIGQUIT: "+of.ID.String()+", 3.000 s after its start\nit waits\n")
}

// explain makes a process report the reason for its end once it has begun.
func (a *actor) explain(of agentwire.Name, m *job.Message, words string) bool {
	if m == nil || m.Kind != job.KindStart {
		return false
	}
	a.print(of, output.Stderr, "before\n"+words)
	a.print(of, output.Crashes, words)
	a.exit(of, 2<<8)
	return true
}

// unable is the life of a process that cannot be started.
func unable(a *actor, of agentwire.Name, m *job.Message) bool {
	if m == nil {
		a.conn.SendJSON(agentwire.KindStarted, of, agentd.StartResult{Error: fmt.Sprintf("start %v: no memory", of.ID)})
	}
	return true
}

// babbles is the life of a process about which its agent sends malformed frames.
func babbles(a *actor, of agentwire.Name, m *job.Message) bool {
	if m == nil || m.Kind != job.KindStart {
		return false
	}
	a.conn.Send(agentwire.KindStopped, of, []byte("long"))
	return true
}
