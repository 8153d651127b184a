package launch

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/agentd"
	"github.com/intrahpc/intra/internal/agentwire"
	"github.com/intrahpc/intra/internal/arbiter"
	"github.com/intrahpc/intra/internal/decision"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/output"
)

// inherited is a job of two processes on two hosts whose head is lost, and a
// third host that was lost before.
type inherited struct {
	*successor
	ends []*agentwire.Conn // of the agents
	out  *desk
}

func inherit(t *testing.T, has ...[]agentd.ProcessResync) *inherited {
	hosts := []job.Host{{Name: "a"}, {Name: "b"}, {Name: "c"}}
	p, q := job.Process{}, job.Process{Replica: 1}
	s := &inherited{out: newDesk(t, Job{Degrees: []int{2}}), successor: &successor{state: decision.NewState(), came: make(map[string]*agentd.Incoming),
		job: Job{Degrees: []int{2}, Link: job.LinkSHM, Replace: true, Placement: &job.Placement{Hosts: hosts, Of: map[job.Process]int{p: 0, q: 1}}},
		lead: &agentd.Lead{Term: 3, Info: &agentd.TakeoverInfo{Hosts: hosts, Addresses: map[arbiter.ID]string{2: "10.0.0.1:7", 3: "10.0.0.2:7", 4: "10.0.0.3:7"}},
			Self: agentOf(1), Roster: []arbiter.Peer{{ID: arbiter.Head, Host: "first"}}, Entered: time.Now()}}}
	for i, x := range []job.Process{p, q} {
		s.state.Apply(decision.Entry{Kind: decision.Born, Process: x, ID: x, Incarnation: 1, Node: agentOf(i)})
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

// go on makes the head, and returns its driver.
func (s *inherited) goOn(t *testing.T) *hosts {
	require.True(t, s.complete())
	d := newDriver(&s.job, s.out.console, s.lead.Entered)
	return s.follow(d)
}

// hears reads what an agent is told up to the given kind.
func (s *inherited) hears(t *testing.T, agent int, until agentwire.Kind) (kinds []agentwire.Kind, last agentwire.Frame) {
	for last.Kind != until {
		f, err := s.ends[agent].Read()
		require.NoError(t, err)
		kinds, last = append(kinds, f.Kind), f
	}
	return kinds, last
}

func resynced(replica int, x agentd.ProcessResync) agentd.ProcessResync {
	x.Name = agentwire.Name{ID: job.Process{Replica: replica}, Incarnation: 1}
	return x
}

// A host that is neither there nor lost is waited for.
func TestSuccessorWaitsForAllHosts(t *testing.T) {
	require.False(t, inherit(t, nil).complete())
	s := inherit(t, nil, nil)
	require.True(t, s.complete(), "the third one is lost")
}

// A process that was born and that no agent has is started; one that is there is
// not started again. Agents are asked for the rest of the output only after they
// have heard where it goes on.
func TestSuccessorStartsWhatIsMissing(t *testing.T) {
	s := inherit(t, []agentd.ProcessResync{resynced(0, agentd.ProcessResync{PID: 100, Joined: true, Voiced: true})}, nil)
	s.goOn(t)
	_, f := s.hears(t, 1, agentwire.KindStart)
	require.Equal(t, agentwire.Name{ID: job.Process{Replica: 1}, Incarnation: 1}, f.Of)
	kinds, f := s.hears(t, 0, agentwire.KindPlay)
	require.NotContains(t, kinds, agentwire.KindStart)
	require.Equal(t, job.Process{}, f.Of.ID)
}

// The output goes on where the agents say that it does, and nothing is printed
// again of which one of them knows that it is out.
func TestSuccessorGoesOnWithTheOutput(t *testing.T) {
	at := func(lines int) (w [output.Crashes]output.Written) {
		w[output.Stdout].Lines = lines
		return w
	}
	s := inherit(t, []agentd.ProcessResync{resynced(0, agentd.ProcessResync{PID: 100, Joined: true, Begun: true, Voiced: true, From: at(3), Out: at(3)})},
		[]agentd.ProcessResync{resynced(1, agentd.ProcessResync{PID: 101, Joined: true, Begun: true, Voiced: true, From: at(3), Out: at(5)})})
	s.state.Apply(decision.Entry{Kind: decision.Started})
	s.lead.Began = s.lead.Entered
	w := s.goOn(t)
	for i, text := range []string{"4\n5\n6\n", "4\n5\n6\n"} {
		r := &reporter{w.driver, agentOf(i)}
		r.Output(agentwire.Name{ID: job.Process{Replica: i}, Incarnation: 1}, output.Stdout, []byte(text))
	}
	s.out.console.Close()
	require.Equal(t, "6\n", s.out.out.String())
	require.Contains(t, s.out.err.String(), "intrarun: b is the head now, in place of the one on first\n")
}

// The folder of the head that was lost may not be there: the others go on, and
// what the program writes goes to the agent's own output.
func TestSuccessorWithoutAFolder(t *testing.T) {
	s := inherit(t)
	s.lead.Info.Output = filepath.Join(t.TempDir(), "gone", "intrarun-1")
	stdout, stderr, err := s.open()
	require.ErrorContains(t, err, "open the file for output")
	require.Equal(t, []*os.File{os.Stdout, os.Stderr}, []*os.File{stdout, stderr})
	s.lead.Info.Output = filepath.Join(t.TempDir(), "intrarun-1")
	stdout, stderr, err = s.open()
	require.NoError(t, err)
	require.Equal(t, []string{s.lead.Info.Output + ".out", s.lead.Info.Output + ".err"}, []string{stdout.Name(), stderr.Name()})
	require.NoError(t, stdout.Close())
	require.NoError(t, stderr.Close())
}

// What a head leaves behind is all that the next one needs, by paths that are the
// same on every host.
func TestWhatAHeadLeavesBehind(t *testing.T) {
	dir, err := os.Getwd()
	require.NoError(t, err)
	c := &Config{Job: Job{Degrees: []int{2, 1}, Report: "r.json", Restart: "old", Checkpoint: &head.Checkpoint{Dir: "new", Every: 3},
		Weibull: &head.Weibull{Shape: 0.7, MTBF: time.Minute, Seed: 5}, Placement: &job.Placement{Hosts: []job.Host{{Name: "a"}}}}}
	info := c.takeoverInfo([]*remote{{takeover: "10.0.0.1:7"}})
	require.Equal(t, map[arbiter.ID]string{2: "10.0.0.1:7"}, info.Addresses)
	var j Job
	require.NoError(t, (&agentwire.Frame{Body: info.Job}).Decode(&j))
	want := c.Job
	want.Report, want.Restart = filepath.Join(dir, "r.json"), filepath.Join(dir, "old")
	want.Checkpoint = &head.Checkpoint{Dir: filepath.Join(dir, "new"), Every: 3}
	require.Equal(t, want, j)
	require.Equal(t, "r.json", c.Report)
}
