package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// headless is a job on several hosts, of which host 0 runs intrarun as well and is
// going to be lost.
type headless struct {
	*cluster
	dir    string // where it runs
	cmd    *exec.Cmd
	stdout bytes.Buffer
	stderr text
	ended  chan struct{} // closed when intrarun has
}

// text is what is written while it is read.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (t *text) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(b)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

// startHeadless begins the steps as a job on all hosts, of 2 ranks with 2
// replicas unless the flags say something else, and waits until n processes have
// written their numbers to the file "pids".
func startHeadless(c *cluster, n int, flags string, program ...string) *headless {
	h := &headless{cluster: c, dir: c.t.TempDir(), ended: make(chan struct{})}
	var all []int
	for i := range c.Hosts {
		all = append(all, i)
	}
	slots := (n + len(all) - 1) / len(all)
	args := append([]string{"-v", "-rsh", "ip netns exec {host}", "-hosts", c.list(slots, all...), "-n", "2", "-report", "report.json"},
		strings.Fields(flags)...)
	cmd := command(append(args, program...)...)
	h.cmd = c.Hosts[0].Command(cmd.Path, cmd.Args[1:]...)
	h.cmd.Env, h.cmd.Dir, h.cmd.Stdout, h.cmd.Stderr = cmd.Env, h.dir, &h.stdout, &h.stderr
	require.NoError(c.t, h.cmd.Start())
	go func() {
		_ = h.cmd.Wait() // the exit code tells
		close(h.ended)
	}()
	c.t.Cleanup(func() {
		if c.t.Failed() {
			c.t.Logf("intrarun said:\n%s\nits successors:\n%s", h.stderr.String(), h.left(".err"))
		}
	})
	pids(c.t, filepath.Join(h.dir, "pids"), n)
	return h
}

// wait waits until nothing is left anywhere, and returns what the job has left.
func (h *headless) wait() (r result, out, errs string) {
	t := h.t
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		left := 0
		for _, host := range h.Hosts {
			all, err := host.Processes()
			require.NoError(t, err)
			left += len(all)
		}
		if left == 0 {
			break
		}
		require.True(t, time.Now().Before(end), "%d processes are left", left)
	}
	<-h.ended
	out, errs = h.left(".out"), h.left(".err")
	r = result{code: h.cmd.ProcessState.ExitCode(), stdout: h.stdout.String(), stderr: h.stderr.String()}
	if b, err := os.ReadFile(filepath.Join(h.dir, "report.json")); err == nil {
		require.NoError(t, json.Unmarshal(b, &r.report))
	}
	return r, out, errs
}

// left is what successors of the head have written so far.
func (h *headless) left(suffix string) string {
	b, _ := os.ReadFile(filepath.Join(h.dir, fmt.Sprintf("intrarun-%d%s", h.cmd.Process.Pid, suffix)))
	return string(b)
}

// requireLines: every line is there, and nothing else.
func requireLines(t *testing.T, n int, text string) {
	t.Helper()
	want := make(map[string]int)
	for i := range n {
		want[fmt.Sprintf("line %d", i)] = 0
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		require.Contains(t, want, line)
		want[line]++
	}
	for line, n := range want {
		require.NotZero(t, n, line)
	}
}

func TestLossOfTheHead(t *testing.T) {
	const n = 900 // lines, of rank 1
	for _, s := range []struct {
		name     string
		lose     func(c *cluster, h *headless) error
		steps    []string
		code     int // of intrarun
		failures []string
		flags    string
	}{
		{"its host is killed", func(c *cluster, h *headless) error { return c.Hosts[0].Kill() }, nil, -1, []string{"0.0 host"}, ""},
		{"intrarun is killed", func(c *cluster, h *headless) error { return h.cmd.Process.Kill() }, nil, -1, nil, ""},
		{"its host is cut off", func(c *cluster, h *headless) error { return c.Hosts[0].Down() }, nil, 3, []string{"0.0 host"}, ""},
		{"intrarun stops for a while", func(c *cluster, h *headless) error {
			time.AfterFunc(2*time.Second, func() { _ = h.cmd.Process.Signal(syscall.SIGCONT) })
			return h.cmd.Process.Signal(syscall.SIGSTOP)
		}, nil, 3, nil, ""},
		{"a process dies later", func(c *cluster, h *headless) error { return h.cmd.Process.Kill() },
			[]string{"1.0@sleep:1800ms", "1.0@kill:9"}, -1, []string{"1.0 signal"}, ""},
		{"a process had died before", func(c *cluster, h *headless) error { return c.Hosts[0].Kill() },
			[]string{"1.1@kill:9"}, -1, []string{"0.0 host", "1.1 signal"}, ""},
		{"its host is killed, from which the others were started", func(c *cluster, h *headless) error { return c.Hosts[0].Kill() }, nil, -1, []string{"0.0 host"}, "-fanout 1"},
	} {
		t.Run(s.name, func(t *testing.T) {
			c := newCluster(t, 4)
			program := append(append([]string{"join:any", "mark:pids"}, s.steps...), fmt.Sprintf("1@slowly:%d", n), "0@sleep:2500ms", "finish")
			h := startHeadless(c, 4, s.flags, steps(program...)...)
			time.Sleep(300 * time.Millisecond) // some lines
			require.NoError(t, s.lose(c, h))
			r, out, errs := h.wait()
			require.Equal(t, s.code, r.code, r.stderr)
			require.Contains(t, errs, " is the head now, in place of that on "+c.Hosts[0].Name)
			require.Contains(t, errs, "intrarun: exit code 0\n")
			require.NotNil(t, r.report)
			require.EqualValues(t, 0, r.report["exit_code"], errs)
			require.ElementsMatch(t, s.failures, r.failures(), errs)
			requireLines(t, n, r.stdout+out)
		})
	}
}

// The hosts that keep the decisions are the first three. With two of them lost
// nobody may decide anything: the job ends everywhere.
func TestLossOfMostDeciders(t *testing.T) {
	for name, lost := range map[string][]int{"the head and another one": {0, 1}, "the others": {1, 2}} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 4)
			h := startHeadless(c, 4, "", steps("join", "mark:pids", "forever")...)
			for _, i := range lost {
				require.NoError(t, c.Hosts[i].Kill())
			}
			r, _, errs := h.wait()
			require.Empty(t, errs, "nobody takes the head's place")
			if lost[0] == 0 {
				require.Equal(t, -1, r.code)
				return
			}
			require.Equal(t, 3, r.code, r.stderr)
			require.Contains(t, r.stderr, "this head gives up: most of the hosts that keep its decisions cannot be reached")
			require.EqualValues(t, 3, r.report["exit_code"])
		})
	}
}

// Others take the places of those that keep the decisions, one after the other,
// so that the head can be lost after them. In the end two hosts are left, of
// which the one with the head keeps them alone.
func TestLossesOneAfterTheOther(t *testing.T) {
	for name, flags := range map[string]string{"in the clear": "-r 5", "encrypted": "-r 5 -tls"} {
		t.Run(name, func(t *testing.T) {
			const n = 2000 // lines, of rank 1
			c := newCluster(t, 5)
			h := startHeadless(c, 10, flags, steps("join", "mark:pids", fmt.Sprintf("1@slowly:%d", n), "until:lost", "finish")...)
			name := func(i int) string { return c.Hosts[i].Name }
			for _, s := range []struct {
				lost int
				kept []int
			}{{1, []int{0, 2, 3}}, {2, []int{0, 3, 4}}} {
				require.NoError(t, c.Hosts[s.lost].Kill())
				want := fmt.Sprintf("the decisions of the head are kept on %s, %s and %s now", name(s.kept[0]), name(s.kept[1]), name(s.kept[2]))
				require.Eventually(t, func() bool { return strings.Contains(h.stderr.String(), want) }, 30*time.Second, time.Millisecond)
			}
			require.NoError(t, c.Hosts[0].Kill())
			for _, want := range []string{" is the head now, in place of that on " + name(0), "there is no third host any more"} {
				require.Eventually(t, func() bool { return strings.Contains(h.left(".err"), want) }, 30*time.Second, time.Millisecond)
			}
			require.NoError(t, os.WriteFile(filepath.Join(h.dir, "lost"), nil, 0o600))
			r, out, errs := h.wait()
			require.Contains(t, errs, "intrarun: exit code 0\n")
			require.EqualValues(t, 0, r.report["exit_code"], errs)
			for _, f := range r.failures() {
				require.True(t, strings.HasSuffix(f, " host"), f)
			}
			requireLines(t, n, r.stdout+out)
		})
	}
}

// On two hosts nobody could tell which of them is to go on.
func TestLossOfTheHeadOfTwoHosts(t *testing.T) {
	c := newCluster(t, 2)
	marks := filepath.Join(t.TempDir(), "pids")
	cmd, wait := c.start(c.list(2, 0, 1), "-n 2 -r 2", steps("join", "mark:"+marks, "forever")...)
	all := pids(t, marks, 4)
	require.NoError(t, c.Hosts[0].Kill())
	r := wait()
	require.Equal(t, -1, r.code, cmd)
	require.Contains(t, r.stderr, "the job ends if the head on "+c.Hosts[0].Name+" is lost")
	requireGone(t, all)
	c.requireEmpty()
}
