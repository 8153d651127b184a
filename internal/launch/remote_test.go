package launch

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/agent/agentwire"
	"github.com/intrahpc/intra/internal/agent/output"
	"github.com/intrahpc/intra/internal/agent/spawn"
	"github.com/intrahpc/intra/internal/agent/supervise"
	"github.com/intrahpc/intra/internal/job"
)

// No message of an agent makes the head panic.
func FuzzRemote(f *testing.F) {
	for k := agentwire.KindPlan; k <= agentwire.KindMoved; k++ {
		f.Add(byte(k), 0, 0, []byte(`{}`))
		f.Add(byte(k), 0, 0, agentwire.Encode(1))
		f.Add(byte(k), 1, 0, []byte{0})
	}
	f.Add(byte(agentwire.KindMessage), 0, 0, []byte(`{"kind":"finish","stats":{}}`))
	f.Fuzz(func(t *testing.T, kind byte, rank, replica int, body []byte) {
		a, b := net.Pipe()
		go io.Copy(io.Discard, b)
		r := newRemote(&job.Host{Name: "h"}, agentwire.NewConn(a))
		r.observer, r.onEvent = nopObserver{}, func(spawn.Event) {}
		close(r.serving)
		r.Start(agentwire.Name{Incarnation: 1}, supervise.First)
		_ = r.take(&agentwire.Frame{Kind: agentwire.Kind(kind), Of: agentwire.Name{ID: job.Process{Rank: rank, Replica: replica}, Incarnation: 1}, Body: body})
		r.declareLost()
		b.Close()
	})
}

// nopObserver ignores all events.
type nopObserver struct{}

func (nopObserver) Started(agentwire.Name, int, string)           {}
func (nopObserver) Hello(agentwire.Name, *job.Hello)              {}
func (nopObserver) Message(agentwire.Name, *job.Message)          {}
func (nopObserver) Unreachable(agentwire.Name, supervise.Silence) {}
func (nopObserver) Output(agentwire.Name, output.Stream, []byte)  {}
func (nopObserver) Quiet(agentwire.Name, uint64)                  {}
func (nopObserver) Stopped(agentwire.Name, time.Duration)         {}
func (nopObserver) ProgramGone(agentwire.Name)                    {}
func (nopObserver) Exited(agentwire.Name, supervise.Exit)         {}
func (nopObserver) Failed(error)                                  {}
func (nopObserver) Disconnected(error)                            {}
func (nopObserver) Leave()                                        {}

// largeMessage is a message that names n processes.
func largeMessage(n int) *job.Message {
	m := &job.Message{Kind: job.KindStart}
	for i := range n {
		m.Peers = append(m.Peers, job.Peer{Process: job.Process{Rank: i}, Incarnation: 1, Link: job.LinkTCP, Address: "[2001:db8:1234:5678:9abc:def0:1234:5678]:65535"})
	}
	return m
}

// unreachableObserver records the processes whose control connection is unusable, with the reasons.
type unreachableObserver struct {
	nopObserver
	why chan string
}

func (u unreachableObserver) Unreachable(of agentwire.Name, s supervise.Silence) {
	u.why <- fmt.Sprintf("%v %s: %s", of.ID, s.Why, s.Text)
}

// A message for a process on another host arrives there through its agent. If it cannot be
// sent, the head gets an error that names the process.
func TestLargeMessagesToAnotherHost(t *testing.T) {
	a, b := net.Pipe()
	record := unreachableObserver{why: make(chan string, 1)}
	r := newRemote(&job.Host{Name: "h"}, agentwire.NewConn(a))
	r.observer = record
	close(r.serving)
	p := agentwire.Name{ID: job.Process{Rank: 3, Replica: 1}, Incarnation: 1}
	there := agentwire.NewConn(b)
	defer there.Close()
	r.Send(p, largeMessage(100_000))
	f, err := there.Read()
	require.NoError(t, err)
	m, err := job.DecodeMessage(f.Body)
	require.NoError(t, err)
	require.Len(t, m.Peers, 100_000)

	r.Send(p, &job.Message{Kind: job.KindEnd, Text: strings.Repeat("x", job.MaxMessage)})
	require.Regexp(t, `^3\.1 untold: .*"end" has 167\d+ bytes, at most 16777216 are allowed`, <-record.why)
	r.Send(p, &job.Message{Kind: job.KindRelease})
	f, err = there.Read()
	require.NoError(t, err)
	require.Equal(t, agentwire.KindMessage, f.Kind)
	require.Less(t, len(f.Body), 1000, "the connection still works")
}

// witness records the events of an agent for the head.
type witness struct {
	events chan string
	quick  bool // it consumes output at once
	room   chan struct{}
}

func (w *witness) note(format string, args ...any) { w.events <- fmt.Sprintf(format, args...) }

func (w *witness) Started(of agentwire.Name, pid int, err string) {
	w.note("started %s %d %s", known(of), pid, err)
}
func (w *witness) Hello(of agentwire.Name, h *job.Hello)     { w.note("hello %s of %s", known(of), h.Host) }
func (w *witness) Message(of agentwire.Name, m *job.Message) { w.note("%s %s", m.Kind, known(of)) }
func (w *witness) Unreachable(of agentwire.Name, s supervise.Silence) {
	w.note("unheard %s %s", known(of), s.Why)
}
func (w *witness) Output(of agentwire.Name, s output.Stream, b []byte) {
	if !w.quick {
		<-w.room
	}
	w.note("output %s %d %q", known(of), s, b)
}
func (w *witness) Quiet(of agentwire.Name, n uint64) { w.note("quiet %s %d", known(of), n) }
func (w *witness) Stopped(of agentwire.Name, d time.Duration) {
	w.note("stopped %s %v", known(of), d)
}
func (w *witness) ProgramGone(of agentwire.Name) { w.note("gone %s", known(of)) }
func (w *witness) Exited(of agentwire.Name, e supervise.Exit) {
	w.note("exited %s %s", known(of), e.Text)
}
func (w *witness) Failed(err error)       { w.note("failed: %v", err) }
func (w *witness) Leave()                 { w.note("leave") }
func (w *witness) Disconnected(err error) { w.note("disconnected: %v", err) }

// connectWitness returns both ends of a connection between head and agent, and a record of the
// events for the head.
func connectWitness(t *testing.T, quick bool) (*remote, *agentwire.Conn, *witness) {
	here, there := net.Pipe()
	agent := agentwire.NewConn(there)
	t.Cleanup(agent.Close)
	r := newRemote(&job.Host{Name: "h2"}, agentwire.NewConn(here))
	w := &witness{events: make(chan string, 100), quick: quick, room: make(chan struct{})}
	r.serve(w, func() time.Duration { return 0 })
	return r, agent, w
}

var second = agentwire.Name{ID: job.Process{Replica: 1}, Incarnation: 2}

// All messages of an agent about a process reach the head. Errors and reports name its host.
func TestHeadReceivesEventsOfAnotherHost(t *testing.T) {
	for _, c := range []struct {
		kind agentwire.Kind
		body []byte
		want string
	}{
		{agentwire.KindStarted, []byte(`{"pid":7}`), "started 0.1#2 7 "},
		{agentwire.KindStarted, []byte(`{"error":"no memory"}`), "started 0.1#2 0 host h2: no memory"},
		{agentwire.KindHello, []byte(`{"host":"what it calls itself"}`), "hello 0.1#2 of h2"},
		{agentwire.KindMessage, []byte(`{"kind":"drained"}`), "drained 0.1#2"},
		{agentwire.KindUnreachable, []byte(`{"why":"end"}`), "unheard 0.1#2 end"},
		{agentwire.KindStopped, agentwire.Encode(time.Second), "stopped 0.1#2 1s"},
		{agentwire.KindGone, nil, "gone 0.1#2"},
		{agentwire.KindExited, []byte(`{"text":"exit status 1"}`), "exited 0.1#2 exit status 1"},
		{agentwire.KindOutput, agentwire.OutputBody(1, []byte("text")), `output 0.1#2 1 "text"`},
		{agentwire.KindOutput, agentwire.OutputBody(2, []byte("panic")), `output 0.1#2 2 "panic"`},
		{agentwire.KindQuiet, agentwire.Encode(9), "quiet 0.1#2 9"},
		{agentwire.KindFailed, []byte("no lease"), "failed: host h2: no lease"},
	} {
		r, agent, w := connectWitness(t, true)
		r.adopt(second)
		go agent.Send(c.kind, second, c.body)
		require.Equal(t, c.want, <-w.events)
		require.False(t, r.Doubtful())
		r.leave()
	}
}

// A malformed frame ends the connection to an agent, and no more messages are sent to it. The
// agent ends with the connection, and its host is declared lost.
func TestMalformedFramesOfAnotherHost(t *testing.T) {
	for name, f := range map[string]agentwire.Frame{
		"a frame of the head":          {Kind: agentwire.KindStart, Of: second},
		"nobody":                       {Kind: agentwire.KindGone, Of: agentwire.Name{ID: second.ID, Incarnation: 1}},
		"no result":                    {Kind: agentwire.KindStarted, Of: second, Body: []byte("{")},
		"no hello":                     {Kind: agentwire.KindHello, Of: second, Body: []byte("7")},
		"no message":                   {Kind: agentwire.KindMessage, Of: second, Body: []byte(`{"kind":"dance"}`)},
		"no silence":                   {Kind: agentwire.KindUnreachable, Of: second, Body: []byte(`[]`)},
		"no stream":                    {Kind: agentwire.KindOutput, Of: second},
		"a stream that does not exist": {Kind: agentwire.KindOutput, Of: second, Body: []byte{9, 1}},
		"no number":                    {Kind: agentwire.KindQuiet, Of: second, Body: []byte{1}},
		"no time":                      {Kind: agentwire.KindStopped, Of: second, Body: []byte{1}},
		"no exit":                      {Kind: agentwire.KindExited, Of: second, Body: []byte("none")},
		"no room":                      {Kind: agentwire.KindRoom, Of: second, Body: []byte{1}},
		"a question of a first head":   {Kind: agentwire.KindPlay, Of: second},
		"a plan that the head makes":   {Kind: agentwire.KindPlan, Of: second, Body: []byte("{}")},
	} {
		r, agent, w := connectWitness(t, true)
		r.adopt(second)
		agent.Send(f.Kind, f.Of, f.Body)
		require.Contains(t, <-w.events, "disconnected: malformed frame", name)
		require.True(t, r.Doubtful(), name)
		_, err := agent.Read()
		require.Error(t, err, name)
	}
}

// An agent whose connection has ended is not lost yet. Until its host is declared lost,
// reports from its processes or about them do not count.
func TestEndOfAConnection(t *testing.T) {
	r, agent, w := connectWitness(t, true)
	agent.Close()
	require.Equal(t, "disconnected: EOF", <-w.events)
	require.True(t, r.Doubtful())
	r, _, _ = connectWitness(t, true)
	r.silent = func() time.Duration { return time.Second }
	require.True(t, r.Doubtful(), "reports from a host that is silent for a while do not count either")
}

// Output waits for the reader, and other events do not wait for output. An event that depends
// on the output waits for it, such as the event that a process is quiet.
func TestOutputWaitsForTheUser(t *testing.T) {
	r, agent, w := connectWitness(t, false)
	r.adopt(second)
	agent.Send(agentwire.KindOutput, second, agentwire.OutputBody(0, []byte("one")))
	agent.Send(agentwire.KindOutput, second, agentwire.OutputBody(1, []byte("two")))
	agent.SendJSON(agentwire.KindQuiet, second, 5)
	agent.Send(agentwire.KindGone, second, nil)
	require.Equal(t, "gone 0.1#2", <-w.events)
	close(w.room)
	require.ElementsMatch(t, []string{`output 0.1#2 0 "one"`, `output 0.1#2 1 "two"`}, []string{<-w.events, <-w.events})
	require.Equal(t, "quiet 0.1#2 5", <-w.events)
	for range 2 {
		f, err := agent.Read()
		require.NoError(t, err)
		require.Equal(t, agentwire.KindRoom, f.Kind)
		var room agentwire.Room
		require.NoError(t, f.Decode(&room))
		require.EqualValues(t, 3, room.Bytes, "the agent may send as much again")
	}
}

// When a host is lost, all output of its processes ends, even if the pipe for a crash had
// ended before. No more messages or input are sent to them.
func TestOutputOfALostHostEnds(t *testing.T) {
	for _, crashed := range []bool{false, true} {
		r, agent, w := connectWitness(t, true)
		r.adopt(second)
		if crashed {
			agent.Send(agentwire.KindOutput, second, agentwire.OutputBody(2, nil))
			require.Equal(t, `output 0.1#2 2 ""`, <-w.events)
		}
		r.declareLost()
		r.declareLost()
		want := []string{`output 0.1#2 0 ""`, `output 0.1#2 1 ""`}
		if !crashed {
			want = append(want, `output 0.1#2 2 ""`)
		}
		var ends []string
		for range want {
			ends = append(ends, <-w.events)
		}
		require.ElementsMatch(t, want, ends)
		r.Feed(second, make([]byte, 10*agentwire.MaxWindow))
		r.end(0)
		r.leave()
		require.Empty(t, w.events) // this side has closed the connection, so no end of it is reported
	}
}

// Input waits until the agent has room for it.
func TestInputWaitsForRoom(t *testing.T) {
	r, agent, _ := connectWitness(t, true)
	r.adopt(second)
	half := make([]byte, agentwire.MaxWindow*3/4)
	fed := make(chan int)
	go func() {
		for i := range 2 {
			r.Feed(second, half)
			fed <- i
		}
	}()
	f, err := agent.Read()
	require.NoError(t, err)
	require.Equal(t, agentwire.KindInput, f.Kind)
	require.Zero(t, <-fed)
	select {
	case <-fed:
		require.Fail(t, "there is no room for that")
	default:
	}
	agent.SendJSON(agentwire.KindRoom, second, agentwire.Room{Bytes: uint32(len(half))})
	require.Equal(t, 1, <-fed)
}

// The orders of the head arrive at an agent unchanged.
func TestAnotherHostReceivesOrders(t *testing.T) {
	r, agent, _ := connectWitness(t, true)
	for _, c := range []struct {
		do   func()
		kind agentwire.Kind
		body string
	}{
		{func() { r.Start(second, supervise.Joiner) }, agentwire.KindStart, "1"},
		{func() { r.Send(second, &job.Message{Kind: job.KindRelease}) }, agentwire.KindMessage, `{"kind":"release"}`},
		{func() { r.Signal(second, 15) }, agentwire.KindSignal, "15"},
		{func() { r.Quiet(second, 3) }, agentwire.KindQuiet, "3"},
		{func() { r.play(second) }, agentwire.KindPlay, ""},
		{func() { r.Written(second, output.Written{Stream: 1, Lines: 4}) }, agentwire.KindWritten, `{"stream":1,"lines":4}`},
	} {
		c.do()
		f, err := agent.Read()
		require.NoError(t, err)
		require.Equal(t, c.kind, f.Kind)
		require.Equal(t, second, f.Of)
		require.Equal(t, c.body, string(f.Body))
	}
	go r.end(3)
	f, err := agent.Read()
	require.NoError(t, err)
	require.Equal(t, agentwire.KindBye, f.Kind)
	require.Equal(t, "3", string(f.Body))
	_, err = agent.Read()
	require.Error(t, err, "nothing follows")
}

// Before the job has begun, an agent reports the events of the processes that it starts. Its
// loss before that is reported at once, and again once there is a head.
func TestAgentLostBeforeTheJobBegins(t *testing.T) {
	here, there := net.Pipe()
	agent := agentwire.NewConn(there)
	r := newRemote(&job.Host{Name: "h2"}, agentwire.NewConn(here))
	events, ended := make(chan spawn.Event, 1), make(chan error, 1)
	r.wait(func(n spawn.Event) { events <- n }, func(err error) { ended <- err })
	agent.SendJSON(agentwire.KindSpawn, agentwire.Name{}, spawn.Event{Host: "h5", Line: "no route"})
	require.Equal(t, spawn.Event{Host: "h5", Line: "no route"}, <-events)
	agent.Close()
	require.ErrorIs(t, <-ended, io.EOF)
	w := &witness{events: make(chan string, 1)}
	r.serve(w, func() time.Duration { return 0 })
	require.Equal(t, "disconnected: EOF", <-w.events)
}
