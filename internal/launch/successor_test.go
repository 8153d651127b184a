package launch

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/agent/agentd"
	"github.com/intrahpc/intra/internal/agent/agentlog"
	"github.com/intrahpc/intra/internal/agent/agentwire"
	"github.com/intrahpc/intra/internal/agent/output"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/head/arbiter"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/launch/livepage"
	"github.com/intrahpc/intra/internal/recovery"
)

// inherited is a job of two processes on two hosts whose head is lost. A third host was lost
// before.
type inherited struct {
	*successor
	ends  []*agentwire.Conn // the agents' ends of their connections
	out   *desk
	clerk *clerk
}

func inherit(t *testing.T, has ...[]agentd.ProcessResync) *inherited {
	hosts := []job.Host{{Name: "a"}, {Name: "b"}, {Name: "c"}}
	p, q := job.Process{}, job.Process{Replica: 1}
	c := &clerk{actions: make(chan arbiter.Action, 1000)}
	s := &inherited{out: newDesk(t, Job{Degrees: []int{2}}), clerk: c, successor: &successor{engine: c, state: decision.NewState(), came: make(map[string]*agentd.Incoming),
		job: Job{Degrees: []int{2}, Links: Links{Kind: job.LinkSHM}, Replace: true, Placement: &job.Placement{Hosts: hosts, Of: map[job.Process]int{p: 0, q: 1}}},
		lead: &agentd.Lead{Term: 3, Info: &agentd.TakeoverInfo{Hosts: hosts, Addresses: map[arbiter.ID]string{2: "10.0.0.1:7", 3: "10.0.0.2:7", 4: "10.0.0.3:7"}},
			Self: agentOf(1), Roster: []arbiter.Peer{{ID: arbiter.Head, Host: "first"}}, Entered: time.Now(),
			Actions: c.actions, Arrived: func() []*agentd.Incoming { return nil }}}}
	for i, x := range []job.Process{p, q} {
		s.state.Apply(decision.Entry{Kind: decision.Placed, Process: x, ID: x, Incarnation: 1, Node: agentOf(i)})
	}
	s.state.Apply(decision.Entry{Kind: decision.Lost, Node: agentOf(2), Text: "silence"})
	for i, processes := range has {
		here, there := net.Pipe()
		t.Cleanup(func() { there.Close() })
		s.came[hosts[i].Name] = &agentd.Incoming{Host: hosts[i].Name, Conn: agentwire.NewConn(here), Resync: agentd.Resync{Term: 3, Processes: processes}}
		s.ends = append(s.ends, agentwire.NewConn(there))
	}
	return s
}

// goOn makes the head, and returns its hosts.
func (s *inherited) goOn(t *testing.T) *hosts {
	require.True(t, s.complete())
	d := newDriver(&s.job, s.out.console, s.lead.Entered)
	return s.follow(d)
}

// readUntil reads the messages to an agent up to a message of the given kind.
func (s *inherited) readUntil(t *testing.T, agent int, until agentwire.Kind) (kinds []agentwire.Kind, last agentwire.Frame) {
	for last.Kind != until {
		f, err := s.ends[agent].Read()
		require.NoError(t, err)
		kinds, last = append(kinds, f.Kind), f
	}
	return kinds, last
}

func resynced(replica int, x agentd.ProcessResync) agentd.ProcessResync {
	x.ID, x.Incarnation = job.Process{Replica: replica}, 1
	return x
}

// The successor waits for a host that has not connected and is not lost.
func TestSuccessorWaitsForAllHosts(t *testing.T) {
	require.False(t, inherit(t, nil).complete())
	s := inherit(t, nil, nil)
	require.True(t, s.complete(), "the third host is lost")
}

// A successor starts a process that was placed and that no agent has started. It does not
// start an existing process again. It requests the remaining output only after it has sent the
// positions to the agents.
func TestSuccessorStartsMissingProcesses(t *testing.T) {
	s := inherit(t, []agentd.ProcessResync{resynced(0, agentd.ProcessResync{State: agentlog.State{PID: 100, Joined: true, Voiced: true}})}, nil)
	s.goOn(t)
	_, f := s.readUntil(t, 1, agentwire.KindStart)
	require.Equal(t, agentwire.Name{ID: job.Process{Replica: 1}, Incarnation: 1}, f.Of)
	kinds, f := s.readUntil(t, 0, agentwire.KindPlay)
	require.NotContains(t, kinds, agentwire.KindStart)
	require.Equal(t, job.Process{}, f.Of.ID)
}

// The output continues at the positions that the agents report. Output that an agent knows to
// be written is not printed again.
func TestSuccessorContinuesTheOutput(t *testing.T) {
	at := func(lines int) (w [output.Crashes]output.Written) {
		w[output.Stdout].Lines = lines
		return w
	}
	s := inherit(t, []agentd.ProcessResync{resynced(0, agentd.ProcessResync{State: agentlog.State{PID: 100, Joined: true, Begun: true, Voiced: true}, From: at(3), Out: at(3)})},
		[]agentd.ProcessResync{resynced(1, agentd.ProcessResync{State: agentlog.State{PID: 101, Joined: true, Begun: true, Voiced: true}, From: at(3), Out: at(5)})})
	s.state.Apply(decision.Entry{Kind: decision.Started})
	s.lead.Began = s.lead.Entered
	w := s.goOn(t)
	for i, text := range []string{"4\n5\n6\n", "4\n5\n6\n"} {
		r := &reporter{w.driver, agentOf(i)}
		r.Output(agentwire.Name{ID: job.Process{Replica: i}, Incarnation: 1}, output.Stdout, []byte(text))
	}
	s.out.console.Close()
	require.Equal(t, "6\n", s.out.out.String())
	require.Contains(t, s.out.err.String(), "intrarun: b is the new head, in place of the one on first\n")
}

// The folder for output may be missing on the new head's host. The job continues, and its
// output is lost: no reader is left for the output of an agent whose head is lost.
func TestSuccessorWithoutAFolder(t *testing.T) {
	s := inherit(t)
	s.lead.Info.Output = filepath.Join(t.TempDir(), "gone", "intrarun-1")
	var errs [output.Crashes]error
	open := func() { s.open(func(kind output.Stream, err error) { errs[kind] = err }) }
	open()
	require.Equal(t, [...]*os.File{os.Stdout, os.Stderr}, s.files)
	for kind, err := range errs {
		require.ErrorContains(t, err, "open the file for output")
		s.out.console.Lose(output.Stream(kind), err)
		require.ErrorIs(t, s.out.console.Lost(), errs[output.Stdout])
	}
	s.lead.Info.Output = filepath.Join(t.TempDir(), "intrarun-1")
	errs = [output.Crashes]error{}
	open()
	for kind, end := range []string{".out", ".err"} {
		require.NoError(t, errs[kind])
		require.Equal(t, s.lead.Info.Output+end, s.files[kind].Name())
		require.NoError(t, s.files[kind].Close())
	}
}

// The information of a head for its successors is complete. Its paths are the same on every
// host.
func TestTakeoverInfoIsComplete(t *testing.T) {
	dir, err := os.Getwd()
	require.NoError(t, err)
	c := &Config{Job: Job{Degrees: []int{2, 1}, Report: "r.json", Folders: Folders{Restart: "old", Checkpoint: &head.Checkpoint{Dir: "new", Every: 3}},
		Faults: Faults{Weibull: &head.Weibull{Shape: 0.7, MTBF: time.Minute, Seed: 5}}, Placement: &job.Placement{Hosts: []job.Host{{Name: "a"}}}}}
	info := c.takeoverInfo([]*remote{{takeover: "10.0.0.1:7"}})
	require.Equal(t, map[arbiter.ID]string{2: "10.0.0.1:7"}, info.Addresses)
	var j Job
	require.NoError(t, (&agentwire.Frame{Body: info.Job}).Decode(&j))
	want := c.Job
	want.Report, want.Folders.Restart = filepath.Join(dir, "r.json"), filepath.Join(dir, "old")
	want.Folders.Checkpoint = &head.Checkpoint{Dir: filepath.Join(dir, "new"), Every: 3}
	require.Equal(t, want, j)
	require.Equal(t, "r.json", c.Report)
}

// estate is a running job whose head is lost. The agents of its hosts are actors: 0.0 runs on
// host a, and 0.1 on host b.
type estate struct {
	*inherited
	actors   []*actor
	incoming chan *agentd.Incoming // agents that have connected
	arrive   func(host string)
	over     chan struct{}
	code     chan int
}

// leave loses the head of a job that has begun.
func leave(t *testing.T, output string) *estate {
	e := &estate{incoming: make(chan *agentd.Incoming, 9), over: make(chan struct{}), code: make(chan int, 1)}
	x := agentd.ProcessResync{State: agentlog.State{PID: 7, Joined: true, Begun: true, Voiced: true}}
	e.inherited = inherit(t, []agentd.ProcessResync{resynced(0, x)}, []agentd.ProcessResync{resynced(1, x)})
	for i, end := range e.ends {
		a := &actor{conn: end, lives: make(map[string]life), gone: make(map[agentwire.Name]bool), bye: make(chan int, 1)}
		e.actors = append(e.actors, a)
		go a.begin()
		of := agentwire.Name{ID: job.Process{Replica: i}, Incarnation: 1}
		a.started(of)
		a.conn.SendJSON(agentwire.KindHello, of, &job.Hello{Tag: true, PID: 7})
		a.say(of, &job.Message{Kind: job.KindListen, Address: "127.0.0.1:9"})
	}
	all := e.came
	e.came = make(map[string]*agentd.Incoming)
	e.state.Apply(decision.Entry{Kind: decision.Started})
	wake := make(chan struct{}, 1)
	e.lead.Began, e.lead.Info.Output, e.lead.Over, e.lead.Wake = e.lead.Entered, output, e.over, wake
	e.lead.Arrived = func() (in []*agentd.Incoming) {
		for {
			select {
			case a := <-e.incoming:
				in = append(in, a)
			default:
				return in
			}
		}
	}
	e.arrive = func(host string) {
		e.incoming <- all[host]
		select {
		case wake <- struct{}{}:
		default:
		}
	}
	return e
}

// begin makes the agent of b the head.
func (e *estate) begin() { go func() { e.code <- e.successor.run() }() }

// written returns the contents of a file, "" if there is none.
func written(name string) string {
	b, _ := os.ReadFile(name)
	return string(b)
}

// A successor continues as soon as all agents that are not lost have connected. It writes the
// output and the report where the user expects them, and informs all agents how the job has
// ended.
func TestLifeOfASuccessor(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(*estate)
		err  string
	}{
		{"all come", func(e *estate) {
			e.arrive("a")
			e.begin()
			e.arrive("b")
		}, "intrarun: b is the new head, in place of the one on first\n"},
		{"a host is lost meanwhile", func(e *estate) {
			e.begin()
			e.arrive("b")
			e.clerk.lose(agentOf(0))
		}, "0.0 is dead (host: host a has not been heard from for 0.7 s (0.70 s by the first head)), 1 of 2 replicas of rank 0 left"},
		{"too few hosts are left to keep the decisions", func(e *estate) {
			e.clerk.actions <- arbiter.Deciders{Members: []arbiter.ID{3}, Text: "losing the head on b ends the job"}
			e.arrive("a")
			e.begin()
			require.Eventually(t, func() bool { return len(e.clerk.actions) == 0 }, time.Minute, time.Millisecond)
			e.arrive("b")
		}, "intrarun: losing the head on b ends the job\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			e := leave(t, filepath.Join(dir, "intrarun-1"))
			e.job.Replace, e.job.Report = false, filepath.Join(dir, "r.json")
			c.do(e)
			require.Equal(t, ExitOK, <-e.code)
			require.Equal(t, "a line\n", written(filepath.Join(dir, "intrarun-1.out")))
			words := written(filepath.Join(dir, "intrarun-1.err"))
			require.Contains(t, words, c.err)
			require.True(t, strings.HasSuffix(words, "intrarun: exit code 0\n"), words)
			require.Contains(t, written(e.job.Report), `"exit_code": 0`)
			require.Equal(t, ExitOK, <-e.actors[1].bye)
		})
	}
}

// A head that is replaced before it has begun writes nothing, and closes the connections of
// the agents.
func TestSuccessorIsReplaced(t *testing.T) {
	for name, end := range map[string]func(*estate){
		"yield":  func(e *estate) { e.clerk.actions <- arbiter.Yield{} },
		"fence":  func(e *estate) { e.clerk.actions <- arbiter.Fence{Why: "no lease"} },
		"broken": func(e *estate) { e.clerk.actions <- arbiter.Broken{Err: os.ErrClosed} },
		"over":   func(e *estate) { close(e.over) },
	} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "intrarun-1")
			e := leave(t, out)
			e.arrive("a")
			e.begin()
			require.Eventually(t, func() bool { return len(e.incoming) == 0 }, time.Minute, time.Millisecond)
			end(e)
			require.Equal(t, ExitLost, <-e.code)
			_, received := <-e.actors[0].bye
			require.False(t, received, "its connection has ended, so it follows the next head")
			require.NoFileExists(t, out+".out")
		})
	}
}

// If the files of a lost head are unreadable, no agent panics.
func TestSuccessorWithUnreadableInfo(t *testing.T) {
	require.Equal(t, ExitLost, takeOver(&agentd.Lead{Info: &agentd.TakeoverInfo{Job: []byte("{")}}))
}

// A successor gets the whole description of a job, except for the fields about the command
// line of the first head.
func TestSuccessorGetsTheWholeJob(t *testing.T) {
	j := Job{Name: "heat 7", Degrees: []int{2, 1}, Least: []int{1, 1}, Links: Links{Kind: job.LinkTCP, MPI: true, MPIBetween: true, Ring: 4096, Limit: 1e9},
		Faults: Faults{Kills: []job.Kill{{Process: job.Process{Rank: 1}, Point: job.KillAfter, After: time.Second}, {Process: job.Process{Replica: 1}, Point: job.KillTask, Count: 3}},
			Flips:   []job.Flip{{Process: job.Process{Rank: 1}, Point: job.FlipTask, Count: 3, Bit: job.AnyBit}},
			Weibull: &head.Weibull{Shape: 0.7, MTBF: time.Minute, Seed: 1 << 60}},
		Replace: true, Spares: 2, Backup: recovery.Policy{Every: 3, Auto: true},
		Folders: Folders{Checkpoint: &head.Checkpoint{Dir: "/d", Every: 4}, Owner: "1f", Restart: "/r", Anyway: true},
		Sched:   "static", Lag: time.Second, Check: true, Direct: job.DirectOn, Threads: 3, Report: "-", Trace: "t", TraceLimit: 1 << 20,
		Verify: &job.Verification{Share: 0.01, Seed: 1 << 63}, Diverge: job.DivergeWarn,
		Counters: []string{"cycles"}, Clones: []job.Clone{{Process: job.Process{Rank: 1}, Command: []string{"nice", "-n", "3"}}},
		Stuck: Stuck{After: time.Minute, Abort: true}, Endless: time.Hour, Status: time.Second,
		Page: &livepage.Address{Listen: "127.0.0.1:80", Token: "t"},
		TLS:  true, Verbose: true, Quiet: true,
		Placement: &job.Placement{Hosts: []job.Host{{Name: "a", Slots: 2, Addr: "10.0.0.1"}}, Of: map[job.Process]int{{}: 0, {Replica: 1}: 0, {Rank: 1}: 0}, Spares: []int{0, 0}}}
	v := reflect.ValueOf(j)
	for i := range v.NumField() {
		require.False(t, v.Field(i).IsZero(), "%s is not part of this test", v.Type().Field(i).Name)
	}
	var got Job
	require.NoError(t, json.Unmarshal(agentwire.Encode(j), &got))
	require.Equal(t, j, got)
}
