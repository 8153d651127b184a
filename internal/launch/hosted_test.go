package launch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/agent/agentwire"
	"github.com/intrahpc/intra/internal/agent/output"
	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/head/arbiter"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
)

// clerk is an arbiter that keeps every entry at once, unless a test makes it refuse.
type clerk struct {
	mu      sync.Mutex
	refuse  error
	kept    []decision.Entry
	actions chan arbiter.Action
}

func (c *clerk) Propose(e decision.Entry) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refuse != nil {
		return c.refuse
	}
	c.keep(e)
	return nil
}

// keep adds an entry to the log. It is called with mu held.
func (c *clerk) keep(e decision.Entry) {
	c.kept = append(c.kept, e)
	c.actions <- arbiter.Committed{Entry: e}
}

// lose declares a node lost.
func (c *clerk) lose(node detect.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(decision.Entry{Kind: decision.Lost, Node: node, Text: "silence",
		Testimonies: []detect.Testimony{{Observer: arbiter.Head, Sighting: detect.Sighting{Host: node, Age: 700 * time.Millisecond}}}})
}

// refusing makes the clerk refuse all proposals for that reason. With nil it accepts them
// again.
func (c *clerk) refusing(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refuse = err
}

func (c *clerk) Admit(arbiter.Peer)             {}
func (c *clerk) Resign()                        {}
func (c *clerk) Silent(detect.ID) time.Duration { return 0 }

func (c *clerk) Next() (arbiter.Action, bool) {
	a, ok := <-c.actions
	return a, ok
}

func (c *clerk) Close() error {
	close(c.actions)
	return nil
}

// stage is a job on hosts whose agents are actors. The head is real.
type stage struct {
	*hosts
	job      Job
	clerk    *clerk
	actors   []*actor        // the agents of h1, h2 …
	ended    []chan struct{} // closed when the head has noticed the end of that agent's connection
	out, err *bytes.Buffer
	code     chan int
}

// watched records the events of an agent for the head.
type watched struct {
	reporter
	ended chan struct{}
}

func (w *watched) Disconnected(err error) {
	w.reporter.Disconnected(err)
	close(w.ended)
}

// newStage sets up a job with one process on each host in turn.
func newStage(t *testing.T, j Job, hosts int) *stage {
	j.Links.Kind, j.Placement = job.LinkSHM, &job.Placement{Of: make(map[job.Process]int)}
	for i := range hosts {
		j.Placement.Hosts = append(j.Placement.Hosts, job.Host{Name: fmt.Sprint("h", i+1), Slots: 4})
	}
	for _, p := range job.Processes(j.Degrees) {
		j.Placement.Of[p] = (p.Rank + p.Replica) % hosts
	}
	s := &stage{job: j, clerk: &clerk{actions: make(chan arbiter.Action, 1000)}, out: new(bytes.Buffer), err: new(bytes.Buffer), code: make(chan int, 1)}
	console := output.NewConsole(s.out, s.err)
	t.Cleanup(console.Close)
	var remotes []*remote
	for i := range j.Placement.Hosts {
		here, there := net.Pipe()
		a := &actor{conn: agentwire.NewConn(there), lives: make(map[string]life), gone: make(map[agentwire.Name]bool), bye: make(chan int, 1)}
		t.Cleanup(a.conn.Close)
		s.actors, s.ended = append(s.actors, a), append(s.ended, make(chan struct{}))
		r := newRemote(&s.job.Placement.Hosts[i], agentwire.NewConn(here))
		r.listen = "127.0.0.1"
		remotes = append(remotes, r)
	}
	d := newDriver(&s.job, console, time.Now())
	s.hosts = d.attach(s.clerk, remotes)
	s.replicate()
	c := s.job.head(s.job.nodes(remotes))
	c.Self, c.FirstHost, c.Doubtful, c.Replicated = arbiter.Head, "h1", s.doubtful, true
	d.head = head.New(c)
	return s
}

// actor returns the agent of the host on which a process runs.
func (s *stage) actor(p job.Process) *actor { return s.actors[s.job.Placement.Of[p]] }

// cast sets the lives of processes.
func (s *stage) cast(t *testing.T, lives map[string]life) *stage {
	for name, l := range lives {
		p, err := job.ParseProcess(name)
		require.NoError(t, err)
		s.actor(p).lives[name] = l
	}
	return s
}

// raise starts the job.
func (s *stage) raise() {
	for i, a := range s.actors {
		go a.begin()
		id := agentOf(i)
		s.remote[i].serve(&watched{reporter{s.driver, id}, s.ended[i]}, func() time.Duration { return s.engine.Silent(id) })
	}
	go s.follow()
	go func() {
		s.step(head.Begin{})
		s.loop(nil)
		code := s.conclude()
		s.dismiss(code)
		s.close()
		s.console.Close()
		s.code <- code
	}()
}

// play runs the job and returns its exit code.
func (s *stage) play() int {
	s.raise()
	return <-s.code
}

// A job on three hosts, whose agents report every kind of event.
func TestHostedJob(t *testing.T) {
	for _, c := range []struct {
		name    string
		degrees []int
		lives   map[string]life
		code    int
		out     string
		err     []string // parts of the standard error
	}{
		{"well", []int{2, 1}, nil, ExitOK, "a line\na line\n", nil},
		{"one dies", []int{2, 1}, map[string]life{"0.1": dies}, ExitOK, "a line\na line\n",
			[]string{"0.1 is dead (signal: killed by SIGKILL), 1 of 2 replicas of rank 0 left"}},
		{"the last one dies", []int{2, 1}, map[string]life{"1.0": dies, "0.0": waits, "0.1": waits}, ExitLost, "a line\n",
			[]string{"rank 1 has lost its last replica 1.0"}},
		{"one crashes", []int{2}, map[string]life{"0.1": crashes}, ExitOK, "a line\n",
			[]string{"0.1: panic: it fell\n0.1: \n0.1: goroutine 1 [running]:\n", "0.1 is dead (panic: crashed, status 512)"}},
		{"one receives SIGQUIT", []int{2}, map[string]life{"0.1": quits}, ExitOK, "a line\n",
			[]string{"0.1: SIGQUIT: 0.1, 3.000 s after its start\n0.1: it waits\n", "0.1 is dead (signal: ended by SIGQUIT)"}},
		{"the last one receives SIGQUIT", []int{1}, map[string]life{"0.0": quits}, ExitLost, "", []string{"0.0: it waits\n", "(signal: ended by SIGQUIT)"}},
		{"all crash", []int{1}, map[string]life{"0.0": crashes}, ExitFailed, "",
			[]string{"before\n", "0.0: panic: it fell\n", "rank 0 has lost its last replica 0.0"}},
		{"one cannot be started", []int{2, 1}, map[string]life{"0.1": unable, "0.0": waits}, ExitRefused, "",
			[]string{"intrarun: host h2: start 0.1: no memory\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, Job{Degrees: c.degrees}, 3).cast(t, c.lives)
			require.Equal(t, c.code, s.play(), "%s", s.err)
			require.Equal(t, c.out, s.out.String())
			for _, text := range c.err {
				require.Contains(t, s.err.String(), text)
			}
			for _, a := range s.actors {
				require.Equal(t, c.code, <-a.bye, "every agent receives the exit code of the job")
			}
		})
	}
}

// An agent's connection ends, or the agent sends malformed frames. That has no effect until
// its host is declared lost. Then all of its processes are lost, and the evidence contains the
// reason for the end of the connection.
func TestLossOfAnAgent(t *testing.T) {
	for _, c := range []struct {
		name string
		life life
		text string
	}{
		{"nonsense", babbles, "malformed frame"},
		{"silence", func(a *actor, _ agentwire.Name, m *job.Message) bool {
			if m != nil && m.Kind == job.KindStart {
				a.conn.Close()
				return true
			}
			return false
		}, "EOF"},
		{"before it has joined", func(a *actor, _ agentwire.Name, m *job.Message) bool {
			a.conn.Close()
			return true
		}, "EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, Job{Degrees: []int{2}, Report: filepath.Join(t.TempDir(), "r.json")}, 2).cast(t, map[string]life{"0.1": c.life})
			s.raise()
			_, there := <-s.actors[1].bye
			require.False(t, there, "the connection has ended")
			<-s.ended[1]
			require.True(t, s.remote[1].Doubtful())
			s.clerk.lose(agentOf(1))
			require.Equal(t, ExitOK, <-s.code, "%s", s.err)
			require.Equal(t, "a line\n", s.out.String())
			var r runreport.Report
			read(t, s.job.Report, &r)
			require.Len(t, r.Failures, 1)
			require.Equal(t, job.CauseHost, r.Failures[0].Cause)
			require.Contains(t, r.Failures[0].Evidence.Connection, c.text)
			require.Equal(t, "the head", r.Failures[0].Evidence.LastSeenBy)
		})
	}
}

// read reads a report.
func read(t *testing.T, file string, r *runreport.Report) {
	t.Helper()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, r))
}

// An agent that cannot do its work ends the job, and the error names its host.
func TestAgentThatFails(t *testing.T) {
	s := newStage(t, Job{Degrees: []int{2}}, 2).cast(t, map[string]life{"0.1": func(a *actor, _ agentwire.Name, m *job.Message) bool {
		if m == nil {
			a.conn.Send(agentwire.KindFailed, agentwire.Name{}, []byte("it has no lease"))
		}
		return false
	}, "0.0": waits})
	require.Equal(t, ExitRefused, s.play())
	require.Contains(t, s.err.String(), "intrarun: the job is refused: host h2: it has no lease\n")
}

// A signal reaches the processes of all hosts, and the exit code reaches all agents.
func TestSignalToHosts(t *testing.T) {
	s := newStage(t, Job{Degrees: []int{2, 1}}, 3).cast(t, map[string]life{"0.0": waits, "0.1": waits, "1.0": waits})
	s.raise()
	require.Eventually(t, func() bool { return slices.Contains(s.actors[0].all(), "start 0.0#1") }, time.Minute, time.Millisecond)
	s.tell(head.Signalled{Signal: syscall.SIGINT})
	require.Equal(t, 130, <-s.code)
	require.Contains(t, s.actors[0].all(), "signal 0.0#1 15")
	require.Equal(t, 130, <-s.actors[0].bye)
}

// A head that may no longer decide leaves the job to its successor: it sends nothing to its
// agents, does not kill its processes, and does not overwrite the report of the next head.
func TestHeadThatRetires(t *testing.T) {
	lost := errors.New("the log is full")
	for _, c := range []struct {
		name string
		do   func(*stage)
		text string
	}{
		{"another one was elected", func(s *stage) { s.clerk.actions <- arbiter.Yield{} }, "another head has taken its place"},
		{"it was cut off", func(s *stage) { s.clerk.actions <- arbiter.Fence{Why: "no lease"} },
			"most of the hosts that keep its decisions cannot be reached, or have given it up (no lease)"},
		{"its node is broken", func(s *stage) { s.clerk.actions <- arbiter.Broken{Err: lost} }, "the log is full"},
		{"proposals are refused", func(s *stage) {
			s.clerk.refusing(lost)
			s.actors[0].exit(agentwire.Name{Incarnation: 1}, syscall.WaitStatus(syscall.SIGKILL))
		}, "its decisions cannot be replicated: the log is full"},
	} {
		t.Run(c.name, func(t *testing.T) {
			report := filepath.Join(t.TempDir(), "r.json")
			s := newStage(t, Job{Degrees: []int{2, 1}, Report: report}, 3).cast(t, map[string]life{"0.0": waits, "0.1": waits, "1.0": waits})
			s.raise()
			require.Eventually(t, func() bool {
				return slices.Contains(s.actors[2].all(), "start 1.0#1") || slices.Contains(s.actors[1].all(), "start 1.0#1")
			}, time.Minute, time.Millisecond)
			require.NoError(t, os.WriteFile(report, []byte("of the next head"), 0o600))
			later := time.Now().Add(time.Hour) // the timestamps of files are coarse
			require.NoError(t, os.Chtimes(report, later, later))
			c.do(s)
			require.Equal(t, ExitLost, <-s.code)
			require.Contains(t, s.err.String(), "intrarun: this head gives up: "+c.text+"; the job continues without it where most of the hosts are\n")
			for _, a := range s.actors {
				_, received := <-a.bye
				require.False(t, received)
				require.Empty(t, slices.DeleteFunc(a.all(), func(l string) bool { return !strings.HasPrefix(l, "signal") }))
			}
			b, err := os.ReadFile(report)
			require.NoError(t, err)
			require.Equal(t, "of the next head", string(b))
		})
	}
}

// A head that may not decide for a while halts its job, and then continues it.
func TestHeadWithoutALeaseHaltsTheJob(t *testing.T) {
	s := newStage(t, Job{Degrees: []int{2}}, 3)
	s.clerk.refusing(fmt.Errorf("propose: %w", arbiter.ErrNotHead))
	s.raise()
	s.clerk.mu.Lock()
	require.Empty(t, s.clerk.kept)
	s.clerk.mu.Unlock()
	require.Empty(t, s.actors[0].all(), "no process is started without a kept decision")
	s.clerk.refusing(nil)
	require.Equal(t, ExitOK, <-s.code)
	require.Equal(t, "a line\n", s.out.String())
	require.Equal(t, "start 0.0#1", s.actors[0].all()[0])
}

// The user is warned when the job would end with its head, even without -v.
func TestUserIsWarnedOfAnUnreplicatedHead(t *testing.T) {
	for _, c := range []struct {
		members []detect.ID
		verbose bool
		want    string
	}{
		{[]detect.ID{1}, false, "intrarun: three are too few\n"},
		{[]detect.ID{1, 3, 4}, false, ""},
		{[]detect.ID{1, 3, 4}, true, "three are too few\n"},
	} {
		s := newStage(t, Job{Degrees: []int{1}, Verbose: c.verbose}, 3)
		s.clerk.actions <- arbiter.Deciders{Members: c.members, Text: "three are too few"}
		require.Equal(t, ExitOK, s.play())
		if c.want == "" {
			require.Empty(t, s.err.String())
			continue
		}
		require.Contains(t, s.err.String(), c.want)
	}
}
