//go:build system

package hosts

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/internal/testkit/jobtest/steps"
	"github.com/intrahpc/intra/internal/testkit/netns"
)

// headless is a job on several hosts. Host 0 also runs intrarun, and will be lost.
type headless struct {
	run
	dir string // working directory of intrarun
}

// startHeadless starts the steps as a job on all hosts, of 2 ranks with 2 replicas unless
// the flags differ. It waits until n processes have written their process IDs to the file
// "pids".
func startHeadless(c *cluster, n int, flags string, program ...string) *headless {
	var all []int
	for i := range c.Hosts {
		all = append(all, i)
	}
	slots := (n + len(all) - 1) / len(all)
	spec := c.spec(c.list(slots, all...), "-v -n 2 "+flags, program...)
	spec.Dir = c.t.TempDir()
	h := &headless{run{jobtest.Start(c.t, spec), c.t}, spec.Dir}
	c.t.Cleanup(func() {
		if c.t.Failed() {
			c.t.Logf("intrarun said:\n%s\nits successors:\n%s", h.Stderr(), h.left(".err"))
		}
	})
	steps.PIDs(c.t, filepath.Join(h.dir, "pids"), n)
	return h
}

// await waits until the first head, or one of its successors, has printed a text.
func (h *headless) await(text string) {
	h.t.Helper()
	require.Eventually(h.t, func() bool { return strings.Contains(h.Stderr()+h.left(".err"), text) },
		jobtest.Deadline, time.Millisecond, "want %q", text)
}

// wait waits until no process is left on any host, and returns the output of the job.
func (h *headless) wait() (r result, out, errs string) {
	h.t.Helper()
	r = h.run.wait()
	return r, h.left(".out"), h.left(".err")
}

// left returns the output of the head's successors so far.
func (h *headless) left(suffix string) string {
	b, _ := os.ReadFile(filepath.Join(h.dir, fmt.Sprintf("intrarun-%d%s", h.PID(), suffix)))
	return string(b)
}

// requireLines requires that text consists of n complete lines, in order.
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
	const n = 900 // number of lines of rank 1
	for _, s := range jobtest.Some([]struct {
		name     string
		lose     func(c *cluster, h *headless) error
		steps    []string
		code     int // exit code of intrarun
		failures []string
		flags    string
	}{
		{"its host is killed", func(c *cluster, h *headless) error { return c.Hosts[0].Kill() }, nil, -1, []string{"0.0 host"}, ""},
		{"intrarun is killed", func(c *cluster, h *headless) error { return syscall.Kill(h.PID(), syscall.SIGKILL) }, nil, -1, nil, ""},
		{"its host is cut off", func(c *cluster, h *headless) error { return c.Hosts[0].Down() }, nil, 3, []string{"0.0 host"}, ""},
		{"intrarun stops for a while", func(c *cluster, h *headless) error {
			time.AfterFunc(2*time.Second, func() { _ = syscall.Kill(h.PID(), syscall.SIGCONT) })
			return syscall.Kill(h.PID(), syscall.SIGSTOP)
		}, nil, 3, nil, ""},
		{"a process dies later", func(c *cluster, h *headless) error { return syscall.Kill(h.PID(), syscall.SIGKILL) },
			[]string{"1.0@sleep:1800ms", "1.0@kill:9"}, -1, []string{"1.0 signal"}, ""},
		{"a process had died before", func(c *cluster, h *headless) error { return c.Hosts[0].Kill() },
			[]string{"1.1@kill:9"}, -1, []string{"0.0 host", "1.1 signal"}, ""},
		{"its host is killed, from which the others were started", func(c *cluster, h *headless) error { return c.Hosts[0].Kill() }, nil, -1, []string{"0.0 host"}, "-fanout 1"},
	}, 1, 2, 3, 5) {
		t.Run(s.name, func(t *testing.T) {
			c := newCluster(t, 4)
			program := append(append([]string{"join:any", "mark:pids"}, s.steps...), fmt.Sprintf("1@slowly:%d", n), "0@sleep:2500ms", "finish")
			h := startHeadless(c, 4, s.flags, steps.Program(program...)...)
			time.Sleep(300 * time.Millisecond) // some lines are printed meanwhile
			require.NoError(t, s.lose(c, h))
			r, out, errs := h.wait()
			require.Equal(t, s.code, r.Code, r.Stderr)
			require.Contains(t, errs, " is the new head, in place of the one on ") // the lost head, or a later one
			require.Contains(t, errs, "intrarun: exit code 0\n")
			require.NotNil(t, r.report)
			require.EqualValues(t, 0, r.report.ExitCode, errs)
			require.ElementsMatch(t, s.failures, r.report.Deaths(), errs)
			requireLines(t, n, r.Stdout+out)
		})
	}
}

// The first three hosts keep the decisions. If two of them are lost, no head may decide
// anything, so the job ends on all hosts.
func TestLossOfMostDeciders(t *testing.T) {
	for name, lost := range map[string][]int{"the head and another one": {0, 1}, "the others": {1, 2}} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 4)
			h := startHeadless(c, 4, "", steps.Program("join", "mark:pids", "forever")...)
			for _, i := range lost { // both at once, because the head recovers from the loss of one
				c.Around(i, netns.Conditions{Cut: true})
			}
			for _, i := range lost {
				require.NoError(t, c.Hosts[i].Kill())
			}
			r, _, errs := h.wait()
			require.Empty(t, errs, "no other host takes the head's place")
			if lost[0] == 0 {
				require.Equal(t, -1, r.Code)
				return
			}
			require.Equal(t, 3, r.Code, r.Stderr)
			require.Contains(t, r.Stderr, "this head gives up: most of the hosts that keep its decisions cannot be reached")
			require.EqualValues(t, 3, r.report.ExitCode)
		})
	}
}

// Other hosts replace those that keep the decisions, one after the other, so that the head
// can be lost after them. In the end two hosts are left, and the host of the head keeps
// the decisions alone.
func TestLossesOneAfterTheOther(t *testing.T) {
	for name, flags := range map[string]string{"in the clear": "-r 5", "encrypted": "-r 5 -tls"} {
		t.Run(name, func(t *testing.T) {
			const n = 2000 // number of lines of rank 1
			c := newCluster(t, 5)
			h := startHeadless(c, 10, flags, steps.Program("join", "mark:pids", fmt.Sprintf("1@slowly:%d", n), "until:lost", "finish")...)
			name := func(i int) string { return c.Hosts[i].Name }
			for _, s := range []struct {
				lost int
				kept []int
			}{{1, []int{0, 2, 3}}, {2, []int{0, 3, 4}}} {
				require.NoError(t, c.Hosts[s.lost].Kill())
				want := fmt.Sprintf("the decisions of the head are kept on %s, %s and %s now", name(s.kept[0]), name(s.kept[1]), name(s.kept[2]))
				h.await(want)
			}
			require.NoError(t, c.Hosts[0].Kill())
			for _, want := range []string{" is the new head, in place of the one on ", "there is no third host any more"} {
				h.await(want)
			}
			require.NoError(t, os.WriteFile(filepath.Join(h.dir, "lost"), nil, 0o600))
			r, out, errs := h.wait()
			require.Contains(t, errs, "intrarun: exit code 0\n")
			require.EqualValues(t, 0, r.report.ExitCode, errs)
			for _, f := range r.report.Deaths() {
				require.True(t, strings.HasSuffix(f, " host"), f)
			}
			requireLines(t, n, r.Stdout+out)
		})
	}
}

// With two hosts, neither could determine which of them should continue.
func TestLossOfTheHeadOfTwoHosts(t *testing.T) {
	c := newCluster(t, 2)
	marks := filepath.Join(t.TempDir(), "pids")
	job := c.start(c.list(2, 0, 1), "-n 2 -r 2", steps.Program("join", "mark:"+marks, "forever")...)
	steps.PIDs(t, marks, 4)
	require.NoError(t, c.Hosts[0].Kill())
	r := job.wait()
	require.Equal(t, -1, r.Code, r.Stderr)
	require.Contains(t, r.Stderr, "losing the head on "+c.Hosts[0].Name+" ends the job")
	c.requireEmpty()
}
