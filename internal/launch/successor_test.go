package launch

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/agentd"
	"github.com/intrahpc/intra/internal/agentwire"
	"github.com/intrahpc/intra/internal/arbiter"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/supervise"
)

// listener is an agent that notes what processes are told.
type listener struct {
	agent
	told map[job.Process][]job.Kind
}

func (l *listener) Send(p job.Process, m *job.Message) { l.told[p] = append(l.told[p], m.Kind) }
func (l *listener) Link(supervise.HostLink)            {}

// No process begins before it is kept that all have joined: who takes the
// head's place would end the job otherwise.
func TestNobodyBeginsBeforeThatIsKept(t *testing.T) {
	h := newHead(&Config{Degrees: []int{2}, Stdout: io.Discard, Stderr: io.Discard}, job.NewSecret())
	var log []arbiter.Kind
	h.record = &record{propose: func(e arbiter.Entry) error {
		log = append(log, e.Kind)
		return nil
	}}
	l := &listener{told: make(map[job.Process][]job.Kind)}
	h.enlist(func(job.Process) (agent, *job.Host) { return l, nil })
	for _, m := range h.order {
		m.hello, m.placed = new(job.Hello), true
	}
	h.startIfReady()
	require.Equal(t, []arbiter.Kind{arbiter.Started}, log)
	require.Empty(t, l.told)
	h.kept()
	p, q := job.Process{}, job.Process{Replica: 1}
	require.Equal(t, map[job.Process][]job.Kind{p: {job.KindStart}, q: {job.KindStart}}, l.told)
}

// A process that dies before all have joined is not waited for, once everybody
// was told.
func TestDeathBeforeTheBeginning(t *testing.T) {
	h := newHead(&Config{Degrees: []int{2}, Stdout: io.Discard, Stderr: io.Discard}, job.NewSecret())
	h.record = &record{propose: func(arbiter.Entry) error { return nil }}
	l := &listener{told: make(map[job.Process][]job.Kind)}
	h.enlist(func(job.Process) (agent, *job.Host) { return l, nil })
	p, q := job.Process{}, job.Process{Replica: 1}
	h.members[q].hello, h.members[q].placed = new(job.Hello), true
	h.members[p].gone = true
	h.proposeDeath(h.members[p], ending{job.CauseSignal, "killed"})
	h.startIfReady()
	require.Empty(t, l.told)
	for h.record.waits() {
		h.kept()
	}
	require.Equal(t, map[job.Process][]job.Kind{q: {job.KindVerdict, job.KindStart}}, l.told)
}

// The head was lost when it had told some processes to begin. The next one has
// all begin, once it knows of each where it listens; who has done so hears it
// from its agent no second time.
func TestSuccessorHasTheOthersBegin(t *testing.T) {
	hosts := []job.Host{{Name: "a"}, {Name: "b"}}
	p, q := job.Process{}, job.Process{Replica: 1}
	config := &Config{Degrees: []int{2}, Link: job.LinkSHM, Stdout: io.Discard, Stderr: io.Discard,
		Placement: &job.Placement{Hosts: hosts, Of: map[job.Process]int{p: 0, q: 1}}}
	s := &successor{state: arbiter.NewState(), came: make(map[string]*agentd.Incoming), lead: &agentd.Lead{
		Term: 3, Info: new(agentd.TakeoverInfo), Self: agentd.FirstAgent + 1, Roster: []arbiter.Peer{{ID: arbiter.Head, Host: "head"}}, Entered: time.Now(), Times: new(agentd.Times)}}
	ends := make(map[job.Process]*agentwire.Conn)
	for i, process := range []job.Process{p, q} {
		s.state.Apply(arbiter.Entry{Kind: arbiter.Placed, Process: process, Incarnation: 1, Node: arbiter.ID(agentd.FirstAgent + i), PID: 100})
		here, there := net.Pipe()
		t.Cleanup(func() { there.Close() })
		s.came[hosts[i].Name] = &agentd.Incoming{Host: hosts[i].Name, Conn: agentwire.NewConn(here), Resync: agentd.Resync{Term: 3,
			Processes: []agentd.ProcessResync{{Process: process, Begun: process == p}}}}
		ends[process] = agentwire.NewConn(there)
	}
	s.state.Apply(arbiter.Entry{Kind: arbiter.Started})
	h := newHead(config, job.NewSecret())
	s.restore(h)
	require.False(t, h.ledger.decided, h.ledger.text)
	require.Equal(t, joining, h.phase)
	h.record = &record{propose: func(arbiter.Entry) error { return nil }}
	for _, process := range []job.Process{p, q} { // as its agent repeats it
		require.Equal(t, joining, h.phase)
		h.members[process].hello = new(job.Hello)
		h.handle(h.members[process], &job.Message{Kind: job.KindListen, Address: "10.0.0.1:" + process.String()})
	}
	require.Equal(t, working, h.phase)
	h.kept()
	for process, end := range ends {
		f, err := end.Read()
		require.NoError(t, err)
		require.Equal(t, agentwire.KindMessage, f.Kind)
		m, err := job.DecodeMessage(f.Body)
		require.NoError(t, err)
		require.Equal(t, job.KindStart, m.Kind)
		require.Len(t, m.Peers, 1)
		require.NotEqual(t, process, m.Peers[0].Process)
		require.Equal(t, "10.0.0.1:"+m.Peers[0].Process.String(), m.Peers[0].Address)
	}
}

// What became of processes on a host that was lost later is in the verdicts on
// them.
func TestSuccessorKnowsHowTheDeadHaveEnded(t *testing.T) {
	hosts := []job.Host{{Name: "a"}, {Name: "b"}}
	of, causes := make(map[job.Process]int), []job.Cause{job.CauseSignal, job.CauseExit, job.CauseLink, job.CauseFenced, job.CauseHost}
	s := &successor{state: arbiter.NewState(), came: map[string]*agentd.Incoming{"b": {Host: "b", Conn: agentwire.Ended()}}, lead: &agentd.Lead{
		Term: 3, Info: new(agentd.TakeoverInfo), Self: agentd.FirstAgent + 1, Roster: []arbiter.Peer{{ID: arbiter.Head, Host: "head"}}, Entered: time.Now(), Times: new(agentd.Times)}}
	for i, cause := range causes {
		p := job.Process{Replica: i}
		s.state.Apply(arbiter.Entry{Kind: arbiter.Placed, Process: p, Incarnation: 1, Node: agentd.FirstAgent, PID: 100 + i})
		if cause != job.CauseHost {
			s.state.Apply(arbiter.Entry{Kind: arbiter.Died, Process: p, Incarnation: 1, Cause: cause})
		}
	}
	s.state.Apply(arbiter.Entry{Kind: arbiter.Lost, Node: agentd.FirstAgent})
	h := newHead(&Config{Degrees: []int{len(causes)}, Link: job.LinkTCP, Stdout: io.Discard, Stderr: io.Discard,
		Placement: &job.Placement{Hosts: hosts, Of: of}}, job.NewSecret())
	s.restore(h)
	var ends []string
	for _, p := range h.report(ExitLost).Processes {
		ends = append(ends, p.End)
	}
	require.Equal(t, []string{"killed", "exited", "fenced", "fenced", "lost"}, ends)
}
