package launch

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/agent/agentd"
	"github.com/intrahpc/intra/internal/agent/agentwire"
	"github.com/intrahpc/intra/internal/agent/output"
	"github.com/intrahpc/intra/internal/agent/supervise"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// diary is an agent that records its orders.
type diary struct {
	lines []string
	fed   chan string
}

func (d *diary) note(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func known(of agentwire.Name) string { return fmt.Sprintf("%v#%d", of.ID, of.Incarnation) }

func (d *diary) Start(of agentwire.Name, r supervise.Role)  { d.note("start %s as %d", known(of), r) }
func (d *diary) Send(of agentwire.Name, m *job.Message)     { d.note("send %s %s", known(of), m.Kind) }
func (d *diary) Link(l supervise.HostLink)                  { d.note("link %v and %v", l.Lower, l.Higher) }
func (d *diary) Signal(of agentwire.Name, s syscall.Signal) { d.note("signal %s %d", known(of), s) }
func (d *diary) Quiet(of agentwire.Name, n uint64)          { d.note("quiet %s %d", known(of), n) }
func (d *diary) Doubtful() bool                             { return false }
func (d *diary) Free(why string)                            { d.note("free %s", why) }
func (d *diary) Feed(of agentwire.Name, b []byte)           { d.fed <- known(of) + " " + string(b) }
func (d *diary) Written(of agentwire.Name, w output.Written) {
	d.note("written %s %d of stream %d", known(of), w.Lines, w.Stream)
}
func (d *diary) Resume(of agentwire.Name, at agentd.OutputResume) {
	d.note("resume %s at %d in generation %d", known(of), at.Position[output.Stdout].Lines, at.Generation)
}

// take returns the orders since the last call.
func (d *diary) take() []string {
	all := d.lines
	d.lines = nil
	return all
}

// desk is a driver with an agent that records everything.
type desk struct {
	*driver
	agent    *diary
	out, err *bytes.Buffer
}

func newDesk(t testing.TB, j Job) *desk {
	d := &desk{agent: &diary{fed: make(chan string, 10)}, out: new(bytes.Buffer), err: new(bytes.Buffer)}
	console := output.NewConsole(d.out, d.err)
	t.Cleanup(console.Close)
	d.driver = newDriver(&j, console, time.Now())
	at := head.Node{ID: agentOf(0), Name: "here", Slots: 9}
	d.agents.add(at.ID, d.agent)
	c := j.head([]head.Node{at})
	c.Self, c.FirstHost = head.FirstHead, at.Name
	d.head = head.New(c)
	return d
}

func of(rank, replica int, incarnation uint32) head.From {
	return head.From{Node: agentOf(0), ID: job.Process{Rank: rank, Replica: replica}, Incarnation: incarnation}
}

// An unreplicated head decides at once: its processes start immediately, get their slots and
// begin.
func TestDriverAlone(t *testing.T) {
	d := newDesk(t, Job{Degrees: []int{2}, Links: Links{Kind: job.LinkSHM}, Quiet: true})
	d.step(head.Begin{})
	require.Equal(t, []string{"start 0.0#1 as 0", "start 0.1#1 as 0"}, d.agent.take())
	for replica := range 2 {
		d.step(head.Started{From: of(0, replica, 1), PID: 100 + replica})
		d.step(head.Joined{From: of(0, replica, 1), Hello: &job.Hello{PID: 100 + replica}})
	}
	require.Equal(t, []string{"send 0.0#1 setup", "send 0.1#1 setup", "link 0.0 and 0.1", "send 0.0#1 start", "send 0.1#1 start"}, d.agent.take())
	d.step(head.Signalled{Signal: syscall.SIGTERM})
	require.Equal(t, []string{"signal 0.0#1 15", "signal 0.1#1 15"}, d.agent.take())
	require.False(t, d.head.Ended())
}

// If other nodes keep the decisions, nothing starts before they have them. The effects of an
// entry follow the effects of the previous one.
func TestDriverWaitsForDecisions(t *testing.T) {
	d := newDesk(t, Job{Degrees: []int{2}, Quiet: true})
	var log []decision.Entry
	d.log = &proposals{propose: func(e decision.Entry) error { log = append(log, e); return nil }}
	d.step(head.Begin{})
	require.Empty(t, d.agent.take())
	require.Len(t, log, 2)
	d.step(head.Committed{Entry: log[0]})
	require.Equal(t, []string{"start 0.0#1 as 0"}, d.agent.take())
	d.step(head.Committed{Entry: log[1]})
	require.Equal(t, []string{"start 0.1#1 as 0"}, d.agent.take())
}

// A head whose decisions cannot be replicated gives up the job to another head.
func TestDriverWithoutALog(t *testing.T) {
	d := newDesk(t, Job{Degrees: []int{1}, Quiet: true})
	w := d.attach(new(clerk), nil)
	w.replicate()
	w.log.propose = func(decision.Entry) error { return io.ErrClosedPipe }
	c := d.job.head([]head.Node{{ID: agentOf(0)}})
	c.Replicated = true
	d.head = head.New(c)
	d.step(head.Begin{})
	require.True(t, d.head.Summary().Retired)
	require.Contains(t, d.head.Summary().Text, "its decisions cannot be replicated: "+io.ErrClosedPipe.Error())
	require.Equal(t, ExitLost, d.head.Code())
}

// Standard input is copied to the replicas of rank 0, to each one from its start.
func TestStandardInput(t *testing.T) {
	d := newDesk(t, Job{Degrees: []int{2, 1}, Quiet: true})
	go d.feed(strings.NewReader("text"))
	d.step(head.Begin{})
	var fed []string
	for range 4 {
		fed = append(fed, <-d.agent.fed)
	}
	require.ElementsMatch(t, []string{"0.0#1 text", "0.0#1 ", "0.1#1 text", "0.1#1 "}, fed)
	close(d.done)
}

// The output of a spare does not count. In the slot of a dead process its output
// continues at the position of its donor, and its agent is informed.
func TestOutputOfASpareThatGetsASlot(t *testing.T) {
	d := newDesk(t, Job{Degrees: []int{2}, Quiet: true})
	donor, spare := of(0, 1, 1), of(1, 0, 1)
	d.carryOut(head.Start{To: of(0, 0, 1), Process: job.Process{}, Role: head.First})
	d.carryOut(head.Start{To: donor, Process: job.Process{Replica: 1}, Role: head.First})
	d.carryOut(head.Start{To: spare, Process: spare.ID, Role: head.Spare})
	r := &reporter{d.driver, agentOf(0)}
	write := func(p head.From, text string) { r.Output(name(p), output.Stdout, []byte(text)) }
	write(of(0, 0, 1), "a\n")
	write(donor, "a\nb")
	write(spare, "I wait\n")
	d.outputs.get(of(0, 0, 1)).Abandon()
	at := agentwire.Encode(d.outputs.get(donor).Position())
	d.agent.take()
	d.carryOut(head.Move{To: spare, Process: job.Process{}})
	require.Equal(t, []string{"written 1.0#1 1 of stream 0", "written 1.0#1 0 of stream 1"}, d.agent.take())
	d.carryOut(head.Resume{To: spare, Position: at, Generation: 3})
	require.Equal(t, []string{"resume 1.0#1 at 1 in generation 3"}, d.agent.take())
	write(spare, "\nc\n")
	write(of(5, 0, 1), "nobody knows it\n")
	d.console.Close()
	require.Equal(t, "a\nb\nc\n", d.out.String())
}

// Each message of the head reaches the users that have requested its level.
func TestLevels(t *testing.T) {
	for _, c := range []struct {
		j    Job
		want string
	}{
		{Job{Degrees: []int{1}}, "note\nintrarun: warning\n"},
		{Job{Degrees: []int{1}, Quiet: true}, "note\n"},
		{Job{Degrees: []int{1}, Verbose: true}, "note\nintrarun: warning\nintrarun:    1.500 detail\n"},
	} {
		d := newDesk(t, c.j)
		for i, text := range []string{head.Note: "note", head.Warning: "warning", head.Detail: "detail"} {
			d.carryOut(head.Log{Level: head.Level(i), At: 1500 * time.Millisecond, Text: text})
		}
		d.console.Close()
		require.Equal(t, c.want, d.err.String())
	}
}
