package agentd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/agent/agentwire"
	"github.com/intrahpc/intra/internal/agent/output"
	"github.com/intrahpc/intra/internal/agent/spawn"
	"github.com/intrahpc/intra/internal/agent/supervise"
	"github.com/intrahpc/intra/internal/agent/watchdog"
	"github.com/intrahpc/intra/internal/base/lease"
	"github.com/intrahpc/intra/internal/head/arbiter"
	"github.com/intrahpc/intra/internal/job"
)

// An agent that reads malformed input, or a bootstrap of another version of intrarun, ends
// with an error that names the cure.
func TestInvalidBootstraps(t *testing.T) {
	for in, want := range map[string]string{
		"":                 "read from standard input which job this agent belongs to",
		"{":                "read from standard input which job this agent belongs to",
		`{"version":9999}`: "protocol version 9999 at the head: use the same intrarun on all hosts",
	} {
		err := Serve(context.Background(), strings.NewReader(in), Config{})
		require.Error(t, err)
		require.Contains(t, strings.ReplaceAll(err.Error(), fmt.Sprintf("version %d here, ", job.Version), "version "), want)
	}
}

// listening accepts connections as the head, and returns its address.
func listening(t *testing.T, secret job.Secret, name string, take func(net.Conn, string)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	secure, err := job.NewSecure(&secret, name, false)
	require.NoError(t, err)
	go secure.Serve(context.Background(), l, func(string) bool { return true }, take)
	return l.Addr().String()
}

// An agent connects to the head at the first of its addresses that works. When its context
// ends, it stops trying and reports the last error.
func TestConnect(t *testing.T) {
	b := &spawn.Bootstrap{Secret: job.NewSecret(), Name: "h2", Patience: time.Minute}
	came := make(chan string, 9)
	good := listening(t, b.Secret, agentwire.HeadName, func(_ net.Conn, peer string) { came <- peer })
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	dead.Close()
	b.Addresses = []string{dead.Addr().String(), good}
	c, err := connect(context.Background(), b)
	require.NoError(t, err)
	defer c.Close()
	require.Equal(t, "agent h2", <-came)

	foreign := listening(t, job.NewSecret(), agentwire.HeadName, func(net.Conn, string) {})
	for _, address := range []string{dead.Addr().String(), foreign} { // by now another process may have the port of dead
		b.Addresses = []string{address}
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		_, err = connect(ctx, b)
		cancel()
		require.ErrorContains(t, err, address)
	}
	b.Addresses = nil
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = connect(ctx, b)
	require.EqualError(t, err, "it has no address")
}

// If the head was listening before the agent started, an agent does not wait for a head that
// has ended. It does wait for a head that has accepted its connection and is busy.
func TestConnectGivesUpOnAnEndedHead(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b := &spawn.Bootstrap{Secret: job.NewSecret(), Name: "h2", Patience: time.Minute, Silence: 10 * time.Millisecond, Addresses: []string{l.Addr().String()}}
	ended := make(chan error, 1)
	go func() {
		_, err := connect(context.Background(), b)
		ended <- err
	}()
	c, err := l.Accept()
	require.NoError(t, err)
	select {
	case err := <-ended:
		t.Fatalf("the head is busy, and the agent has given up: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	l.Close()
	c.Close()
	require.ErrorContains(t, <-ended, "the head has ended before")
}

// newTestNode returns a node that has not entered and is closed with the test.
func newTestNode(t *testing.T, b *spawn.Bootstrap, w *watchdog.Watchdog) *node {
	n, err := newNode(b, w, nil)
	require.NoError(t, err)
	t.Cleanup(n.close)
	return n
}

// preparing starts to prepare an agent, and returns the head's end of its connection.
func preparing(t *testing.T) (head *agentwire.Conn, done chan error, s **server) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	here, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	there, err := l.Accept()
	require.NoError(t, err)
	n := newTestNode(t, &spawn.Bootstrap{Secret: job.NewSecret(), Name: "h2"}, nil)
	head, done, s = agentwire.NewConn(there), make(chan error, 1), new(*server)
	m := agentwire.NewConn(here)
	t.Cleanup(func() {
		m.Close()
		head.Close()
	})
	go func() {
		var err error
		*s, err = prepare(m, n)
		done <- err
	}()
	return head, done, s
}

// readiness reads the report of the agent.
func readiness(t *testing.T, head *agentwire.Conn) (r Readiness) {
	f, err := head.Read()
	require.NoError(t, err)
	require.Equal(t, agentwire.KindReady, f.Kind)
	require.NoError(t, f.Decode(&r))
	return r
}

// An agent that has the program is ready, and reports its address.
func TestPrepare(t *testing.T) {
	head, done, s := preparing(t)
	head.SendJSON(agentwire.KindPlan, agentwire.Name{}, StartPlan{Plan: supervise.Plan{Path: os.Args[0]}, Processes: 1})
	r := readiness(t, head)
	require.Empty(t, r.Error)
	require.False(t, r.Lacks)
	require.Equal(t, "127.0.0.1", r.Address)
	require.Positive(t, r.Port)
	require.Positive(t, r.Takeover)
	require.NoError(t, <-done)
	(*s).local.Close()
}

// An agent that lacks the program receives it. If that fails, the agent reports it.
func TestPrepareReceivesTheProgram(t *testing.T) {
	program := []byte("#!/bin/sh\nexit 0\n")
	file := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(file, program, 0o700))
	hash := spawn.Hash(file)
	for _, c := range []struct {
		name string
		sent []byte
		want string
	}{{"whole", program, ""}, {"changed", []byte("#!/bin/sh\nexit 1\n"), "the program did not arrive as it was sent"}} {
		head, done, s := preparing(t)
		head.SendJSON(agentwire.KindPlan, agentwire.Name{}, StartPlan{Plan: supervise.Plan{Path: "/nowhere/program"}, Hash: hash})
		require.True(t, readiness(t, head).Lacks)
		for _, piece := range [][]byte{c.sent[:4], c.sent[4:], nil} {
			head.Send(agentwire.KindProgram, agentwire.Name{}, piece)
		}
		r := readiness(t, head)
		require.False(t, r.Lacks)
		require.Equal(t, c.want, r.Error)
		if err := <-done; c.want != "" {
			require.EqualError(t, err, c.want)
			continue
		} else {
			require.NoError(t, err)
		}
		(*s).local.Close()
	}
	head, done, _ := preparing(t)
	head.SendJSON(agentwire.KindPlan, agentwire.Name{}, StartPlan{Plan: supervise.Plan{Path: "/nowhere/program"}, Hash: hash})
	require.True(t, readiness(t, head).Lacks)
	head.Close()
	require.ErrorContains(t, <-done, "receive the program: ")
}

// An agent ends when it receives a malformed plan, or a plan that this host cannot carry out.
func TestInvalidPlans(t *testing.T) {
	head, done, _ := preparing(t)
	head.SendJSON(agentwire.KindStart, agentwire.Name{}, 0)
	require.ErrorContains(t, <-done, "wait for the head's plan")
	head, done, _ = preparing(t)
	head.Send(agentwire.KindPlan, agentwire.Name{}, []byte("{"))
	require.ErrorIs(t, <-done, agentwire.ErrFrame)
	head, done, _ = preparing(t)
	head.SendJSON(agentwire.KindPlan, agentwire.Name{}, StartPlan{Processes: 1 << 20})
	require.Contains(t, readiness(t, head).Error, "open files")
	require.ErrorContains(t, <-done, "open files")
}

// An intrarun that was the head sends a host that is to join to the present head. It does not send
// on an agent that starts with the job.
func TestHostThatJoinsIsSentOn(t *testing.T) {
	for _, join := range []*job.Host{nil, {Slots: 1}} {
		here, there := net.Pipe()
		m, head := agentwire.NewConn(here), agentwire.NewConn(there)
		n := newTestNode(t, &spawn.Bootstrap{Secret: job.NewSecret(), Name: "h2", Join: join}, nil)
		head.Send(agentwire.KindMoved, agentwire.Name{}, []byte("10.0.0.3:7 [fd77::3]:7"))
		_, err := prepare(m, n)
		to, ok := errors.AsType[*moved](err)
		require.Equal(t, join != nil, ok, err)
		if ok {
			require.Equal(t, []string{"10.0.0.3:7", "[fd77::3]:7"}, to.addresses)
		}
		m.Close()
		head.Close()
	}
}

// All calls that wait for the first lease of a host return when it arrives. The lease never gets
// shorter.
func TestLease(t *testing.T) {
	h := newTestNode(t, new(spawn.Bootstrap), nil)
	require.True(t, h.paused(), "there is no lease yet")
	h.renew(0)
	select {
	case <-h.leased:
		require.Fail(t, "a lease of 0 is no lease")
	default:
	}
	soon := lease.Now() + time.Hour
	h.renew(soon)
	<-h.leased
	require.False(t, h.paused())
	h.renew(soon - time.Minute) // a delayed message
	require.Equal(t, soon, h.end())
	h.renew(soon + time.Minute)
	require.Equal(t, soon+time.Minute, h.end())
	<-h.renewed
	h.engine = new(arbiter.Engine)
	require.ErrorIs(t, h.enter(NodeConfig{}, nil), agentwire.ErrFrame, "a node enters once")
	h.engine = nil
	require.Equal(t, 3*Timing(0, 0).Lease, Timing(0, 3).Lease)
	require.Equal(t, time.Minute, Timing(time.Minute, 1).Join)
}

// The head receives the events of the agent, under the names that the processes have in their
// slots.
func TestHeadReceivesEvents(t *testing.T) {
	s, head := serverWithout(t)
	s.open(incarnation(4), supervise.First)
	p := incarnation(4).ID
	for _, c := range []struct {
		do   func()
		kind agentwire.Kind
		body string
	}{
		{func() { s.Started(p, 7, nil) }, agentwire.KindStarted, `{"pid":7}`},
		{func() { s.Started(p, 0, errors.New("no memory")) }, agentwire.KindStarted, `{"pid":0,"error":"no memory"}`},
		{func() { s.Message(p, &job.Message{Kind: job.KindDrained}) }, agentwire.KindMessage, `{"kind":"drained"}`},
		{func() { s.Unreachable(p, supervise.Silence{Why: supervise.SilenceEnd, Text: "EOF"}) }, agentwire.KindUnreachable, `{"why":"end","text":"EOF"}`},
		{func() { s.Output(p, output.Stdout, []byte("text")) }, agentwire.KindOutput, "\x00text"},
		{func() { s.Output(p, output.Crashes, []byte("panic")) }, agentwire.KindOutput, "\x02panic"},
		{func() { s.Quiet(p, 3) }, agentwire.KindQuiet, "3"},
		{func() { s.Stopped(p, time.Second) }, agentwire.KindStopped, "1000000000"},
		{func() { s.ProgramGone(p) }, agentwire.KindGone, ""},
		{func() { s.Exited(p, supervise.Exit{Status: syscall.WaitStatus(9), Text: "killed"}) }, agentwire.KindExited, `{"status":9,"text":"killed"}`},
	} {
		c.do()
		f, err := head.Read()
		require.NoError(t, err)
		require.Equal(t, c.kind, f.Kind)
		require.Equal(t, incarnation(4), f.Of)
		require.Equal(t, c.body, string(f.Body))
	}
	s.Failed(errors.New("no lease"))
	f, err := head.Read()
	require.NoError(t, err)
	require.Equal(t, agentwire.Frame{Kind: agentwire.KindFailed, Body: []byte("no lease")}, f)
}

// A new head receives the agent's state, and then all messages to the lost head. It receives
// the output once it requests it, from the position up to which the output is known to be
// written.
func TestNewHeadReceivesEverything(t *testing.T) {
	s, lost := serverWithout(t)
	s.open(incarnation(1), supervise.First)
	p := incarnation(1).ID
	s.Started(p, 7, nil)
	s.Hello(p, &job.Hello{PID: 7})
	s.Output(p, output.Stdout, []byte("one\ntwo\nthr"))
	s.Message(p, &job.Message{Kind: job.KindListen, Address: "10.0.0.1:9"})
	require.NoError(t, s.take(&agentwire.Frame{Kind: agentwire.KindWritten, Of: incarnation(1), Body: agentwire.Encode(output.Written{Lines: 1})}))
	start, err := (&job.Message{Kind: job.KindStart}).Encode()
	require.NoError(t, err)
	require.NoError(t, s.take(&agentwire.Frame{Kind: agentwire.KindMessage, Of: incarnation(1), Body: start}))
	lost.Close()

	here, there := net.Pipe()
	head := agentwire.NewConn(there)
	defer head.Close()
	s.node = &node{heads: &Pursuit{term: 2}}
	go s.attach(here, 2)
	f, err := head.Read()
	require.NoError(t, err)
	var r Resync
	require.NoError(t, f.Decode(&r))
	require.EqualValues(t, 2, r.Term)
	x := r.Processes[0]
	require.True(t, x.Joined && x.Begun && x.Voiced)
	require.Equal(t, 7, x.PID)
	require.Equal(t, output.Written{Lines: 1}, x.From[output.Stdout])
	require.Equal(t, output.Written{Lines: 1}, x.Out[output.Stdout])
	for _, want := range []agentwire.Kind{agentwire.KindStarted, agentwire.KindHello, agentwire.KindMessage} {
		f, err := head.Read()
		require.NoError(t, err)
		require.Equal(t, want, f.Kind)
		require.Equal(t, incarnation(1), f.Of)
	}
	require.Eventually(t, func() bool { return s.out() != nil && s.term == 2 }, time.Minute, time.Millisecond)
	require.NoError(t, s.take(&agentwire.Frame{Kind: agentwire.KindPlay, Of: incarnation(1)}))
	f, err = head.Read()
	require.NoError(t, err)
	require.Equal(t, "\x00two\nthr", string(f.Body))
	require.False(t, s.open(incarnation(1), supervise.First), "the agent does not start a process again")
}

// A malformed message of a head ends the connection to it.
func TestMalformedMessagesOfTheHead(t *testing.T) {
	s, _ := serverWithout(t)
	s.open(incarnation(4), supervise.First)
	for name, f := range map[string]agentwire.Frame{
		"no role":                             {Kind: agentwire.KindStart, Body: []byte{1}},
		"a role that does not exist":          {Kind: agentwire.KindStart, Body: agentwire.Encode(9)},
		"no link":                             {Kind: agentwire.KindLink, Body: []byte("{")},
		"no roster":                           {Kind: agentwire.KindRoster, Body: []byte("{")},
		"no number":                           {Kind: agentwire.KindQuiet},
		"no message":                          {Kind: agentwire.KindMessage, Body: []byte("{")},
		"no signal":                           {Kind: agentwire.KindSignal, Body: []byte("KILL")},
		"no room":                             {Kind: agentwire.KindRoom},
		"room in no stream":                   {Kind: agentwire.KindRoom, Body: agentwire.Encode(agentwire.Room{Stream: 2, Bytes: 1})},
		"written nowhere":                     {Kind: agentwire.KindWritten, Body: []byte(`{"stream":2}`)},
		"written, before there is any output": {Kind: agentwire.KindWritten, Body: []byte(`{"stream":-1}`)},
		"no position":                         {Kind: agentwire.KindResume, Body: []byte("[")},
		"a kind that agents send":             {Kind: agentwire.KindStarted, Body: []byte("{}")},
		"a second plan":                       {Kind: agentwire.KindPlan, Body: []byte("{}")},
	} {
		f.Of = incarnation(4)
		require.Error(t, s.take(&f), name)
	}
}

// serving returns an agent that serves, with the given command as its watchdog, and the head's
// end of its connection.
func serving(t *testing.T, dog string) (*server, *agentwire.Conn, chan error) {
	s, head := serverWithout(t)
	w, err := watchdog.Start([]string{dog}, nil)
	require.NoError(t, err)
	t.Cleanup(w.Close)
	s.keeps, s.node = false, newTestNode(t, new(spawn.Bootstrap), w)
	s.starter = spawn.Start(new(spawn.Bootstrap), nil, func(spawn.Event) {})
	ended := make(chan error, 1)
	return s, head, ended
}

// An agent ends with its job, and with the job's exit code. It ends with the connection to the
// head if no other head can follow. It also ends when the arbiter reports that its host is
// lost.
func TestEndsOfAnAgent(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(*server, *agentwire.Conn)
		want string // "" if there is no error
	}{
		{"well", func(_ *server, head *agentwire.Conn) {
			head.SendJSON(agentwire.KindBye, agentwire.Name{}, 0)
		}, ""},
		{"with its job", func(_ *server, head *agentwire.Conn) {
			head.SendJSON(agentwire.KindBye, agentwire.Name{}, 3)
		}, "the job ended with exit code 3"},
		{"with nonsense", func(_ *server, head *agentwire.Conn) {
			head.Send(agentwire.KindBye, agentwire.Name{}, []byte("well"))
		}, agentwire.ErrFrame.Error() + ": invalid character 'w' looking for beginning of value"},
		{"with its head", func(_ *server, head *agentwire.Conn) { head.Close() }, "lost the connection to the head: " + io.EOF.Error()},
		{"with its watchdog", nil, "its watchdog is gone"},
		{"with its host, which is lost", func(s *server, _ *agentwire.Conn) {
			s.node.renew(lease.Now() + time.Hour)
			s.node.evicted <- errors.New("this host was declared lost")
		}, "this host was declared lost"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dog := "cat"
			if c.do == nil {
				dog, c.do = "true", func(*server, *agentwire.Conn) {}
			}
			s, head, ended := serving(t, dog)
			go func() { ended <- s.run() }()
			c.do(s, head)
			if err := <-ended; c.want == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, c.want)
			}
		})
	}
}

// An agent that has become the head ends with the exit code of its job. An earlier
// error takes precedence.
func TestEndOfAnAgentAsHead(t *testing.T) {
	lost := errors.New("its watchdog is gone")
	for _, c := range []struct {
		code int
		err  error
		want string
	}{
		{0, nil, ""},
		{3, nil, "the job, whose head this agent had become, ended with exit code 3"},
		{3, lost, lost.Error()},
	} {
		n := &node{over: make(chan struct{}), lead: &Lead{done: make(chan struct{}), code: c.code}}
		close(n.lead.done)
		if err := n.outcome(c.err); c.want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.want)
		}
	}
	require.Equal(t, lost, (&node{over: make(chan struct{})}).outcome(lost), "an agent that is no head")
	require.NoError(t, (&node{over: make(chan struct{})}).outcome(nil), "an agent that is no head")
}
