package arbiter

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/lease"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

func TestMain(m *testing.M) {
	if os.Getenv("INTRA_TEST_SPIN") != "" {
		spin()
	}
	if os.Getenv("INTRA_TEST_NODE") != "" {
		if err := serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// outputLine is a line of the output of a test node.
type outputLine struct {
	Port    int
	What    string
	Node    ID
	Process job.Process
	Text    string
	At      time.Duration // when the line was written, by the clock of leases
	Held    bool
}

// bootstrap is the start information of a node of the test, sent after the node
// has printed its port.
type bootstrap struct {
	Self   ID
	Roster []Peer
	Secret job.Secret
}

// serve runs a node in a process of its own. Node 1 places a process on each other node.
func serve(in io.Reader, out io.Writer) error {
	socket, err := Listen(os.Getenv("INTRA_TEST_NODE"))
	if err != nil {
		return err
	}
	say := json.NewEncoder(out)
	if err := say.Encode(outputLine{Port: socket.Port()}); err != nil {
		return err
	}
	var s bootstrap
	if err := json.NewDecoder(in).Decode(&s); err != nil {
		return err
	}
	word, err := lease.NewWord()
	if err != nil {
		return err
	}
	e, err := Start(socket, Config{Self: s.Self, Roster: s.Roster, Secret: s.Secret, Timing: DefaultTiming, Word: word})
	if err != nil {
		return err
	}
	for {
		a, ok := e.Next()
		if !ok {
			return nil
		}
		t := outputLine{At: lease.Now(), Held: word.Held()}
		switch a := a.(type) {
		case Lead:
			t.What, t.Node = "lead", s.Self
			for _, p := range s.Roster[1:] {
				if s.Self != Head {
					break
				}
				is := job.Process{Rank: int(p.ID)}
				place := decision.Entry{Kind: decision.Placed, Process: is, Incarnation: 1, Node: p.ID, ID: is}
				for e.Propose(place) != nil {
					time.Sleep(time.Millisecond)
				}
			}
		case Committed:
			t.What, t.Node, t.Process, t.Text = string(a.Entry.Kind), a.Entry.Node, a.Entry.Process, a.Entry.Text
		case Verdict:
			t.What, t.Process, t.Text = "verdict", a.Process, a.Detail
		case Fence:
			t.What, t.Text = "fence", a.Why
		default:
			continue
		}
		if err := say.Encode(t); err != nil {
			return err
		}
	}
}

// process is a node of the test.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser

	mu    sync.Mutex
	lines []outputLine
}

func (p *process) find(what string, match func(outputLine) bool) (t outputLine, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.lines, func(t outputLine) bool { return t.What == what && match(t) })
	if i < 0 {
		return t, false
	}
	return p.lines[i], true
}

func (p *process) wait(t *testing.T, what string, match func(outputLine) bool) (got outputLine) {
	t.Helper()
	require.Eventually(t, func() bool {
		line, ok := p.find(what, match)
		if ok {
			got = line
		}
		return ok
	}, 60*time.Second, 2*time.Millisecond, what)
	return got
}

func any1(outputLine) bool { return true }

// startProcesses starts nodes on this machine.
func startProcesses(t *testing.T, n int) []*process {
	return startAt(t, slices.Repeat([]string{"127.0.0.1"}, n), func(int) *exec.Cmd { return exec.Command(os.Args[0]) })
}

// startAt starts one node for each address, by the command that the function returns.
func startAt(t *testing.T, addresses []string, command func(i int) *exec.Cmd) []*process {
	var all []*process
	var roster []Peer
	for i, address := range addresses {
		p := &process{cmd: command(i)}
		p.cmd.Env = append(os.Environ(), "INTRA_TEST_NODE="+net.JoinHostPort(address, "0"))
		p.cmd.Stderr = os.Stderr
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		var err error
		p.in, err = p.cmd.StdinPipe()
		require.NoError(t, err)
		out, err := p.cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, p.cmd.Start())
		t.Cleanup(func() { p.cmd.Process.Kill(); p.cmd.Wait() })
		lines := bufio.NewScanner(out)
		require.True(t, lines.Scan())
		var first outputLine
		require.NoError(t, json.Unmarshal(lines.Bytes(), &first))
		roster = append(roster, Peer{ID: ID(i + 1), Host: fmt.Sprint("host", i), Address: net.JoinHostPort(address, fmt.Sprint(first.Port))})
		go func() {
			for lines.Scan() {
				var l outputLine
				if json.Unmarshal(lines.Bytes(), &l) == nil {
					p.mu.Lock()
					p.lines = append(p.lines, l)
					p.mu.Unlock()
				}
			}
		}()
		all = append(all, p)
	}
	secret := job.NewSecret()
	for i, p := range all {
		require.NoError(t, json.NewEncoder(p.in).Encode(bootstrap{ID(i + 1), roster, secret}))
	}
	for i := range all[1:] {
		all[0].wait(t, string(decision.Placed), func(l outputLine) bool { return l.Node == ID(i+2) })
	}
	return all
}

// TestKill kills the process of an agent, and then the process of the head. Every survivor
// learns of both losses, in the same order.
func TestKill(t *testing.T) {
	nodes := startProcesses(t, 5)
	kill := func(id ID) time.Duration {
		at := lease.Now()
		require.NoError(t, nodes[id-1].cmd.Process.Kill())
		return at
	}
	at := kill(5)
	for i, n := range nodes[:4] {
		v := n.wait(t, "verdict", any1)
		require.Equal(t, job.Process{Rank: 5}, v.Process)
		require.Contains(t, v.Text, "last heard")
		t.Logf("node %d knew %v after the kill that node 5 is dead", i+1, v.At-at)
	}
	at = kill(1)
	var next *process
	require.Eventually(t, func() bool {
		for i, n := range nodes[1:3] {
			if l, ok := n.find("lead", any1); ok {
				t.Logf("node %d led %v after the kill of the head", i+2, l.At-at)
				next = n
				return true
			}
		}
		return false
	}, 60*time.Second, time.Millisecond, "no node leads")
	l := next.wait(t, string(decision.Lost), func(l outputLine) bool { return l.Node == Head })
	t.Logf("the head was declared lost %v after its kill", l.At-at)
	kill(4) // a node that reports to a later head, not to the first one
	v := next.wait(t, "verdict", func(l outputLine) bool { return l.Process.Rank == 4 })
	require.Contains(t, v.Text, "last heard")
}

// TestStop stops an agent for longer than its lease. The agent is declared lost only after its
// lease is over. When it continues, it learns of its loss.
func TestStop(t *testing.T) {
	nodes := startProcesses(t, 4)
	stopped := nodes[3]
	require.NoError(t, stopped.cmd.Process.Signal(syscall.SIGSTOP))
	nodes[1].wait(t, "verdict", func(l outputLine) bool { return l.Process.Rank == 4 })
	_, ok := stopped.find("fence", any1)
	require.False(t, ok)
	require.NoError(t, stopped.cmd.Process.Signal(syscall.SIGCONT))
	f := stopped.wait(t, "fence", any1)
	require.Contains(t, f.Text, "declared lost")
	require.False(t, f.Held)
}
