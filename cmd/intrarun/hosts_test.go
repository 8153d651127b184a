package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/launch"
	"github.com/intrahpc/intra/internal/netns"
)

// cluster runs jobs on hosts of which the first runs intrarun as well.
type cluster struct {
	*netns.Net
	t *testing.T
}

func newCluster(t *testing.T, n int) *cluster {
	t.Parallel()
	return &cluster{netns.Test(t, n), t}
}

// list names hosts, with so many slots each, for -hosts.
func (c *cluster) list(slots int, hosts ...int) string {
	var names []string
	for _, i := range hosts {
		names = append(names, fmt.Sprintf("%s:%d", c.Hosts[i].Name, slots))
	}
	return strings.Join(names, ",")
}

// start begins a run by intrarun on host 0.
func (c *cluster) start(hosts, flags string, program ...string) (*exec.Cmd, func() result) {
	c.t.Helper()
	args := []string{"-rsh", "ip netns exec {host}", "-hosts", hosts}
	return startAs(c.t, func(more ...string) *exec.Cmd {
		cmd := command(append(args, more...)...)
		wrapped := c.Hosts[0].Command(cmd.Path, cmd.Args[1:]...)
		wrapped.Env = cmd.Env
		return wrapped
	}, flags, program...)
}

func (c *cluster) run(hosts, flags string, program ...string) result {
	c.t.Helper()
	_, wait := c.start(hosts, flags, program...)
	return wait()
}

// requireEmpty: nothing is left on any host, soon.
func (c *cluster) requireEmpty() {
	c.t.Helper()
	for _, h := range c.Hosts {
		require.Eventually(c.t, func() bool {
			all, err := h.Processes()
			return err == nil && len(all) == 0
		}, 30*time.Second, 20*time.Millisecond, "something is left on %s", h.Name)
	}
}

func (r result) hosts() (all []string) {
	for _, p := range r.report["processes"].([]any) {
		all = append(all, p.(map[string]any)["host"].(string))
	}
	return all
}

// agent finds the agent of a host: the one of its processes that is intrarun's.
func (c *cluster) agent(host int) (pid int) {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		all, _ := c.Hosts[host].Processes()
		for _, p := range all {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p))
			if bytes.HasSuffix(line, []byte("\x00"+asAgent+"\x00")) {
				pid = p
			}
		}
		return pid != 0
	}, 20*time.Second, 10*time.Millisecond)
	return pid
}

func TestHostsRunAJobAsOneHostDoes(t *testing.T) {
	c := newCluster(t, 2)
	all := c.list(4, 0, 1)
	a, b := c.Hosts[0].Name, c.Hosts[1].Name
	for _, s := range []struct {
		name     string
		flags    string
		steps    []string
		code     int
		stdout   string
		stderr   string
		failures []string
	}{
		{"all finish", "-n 2 -r 2", []string{"join", "out:x", "finish"}, 0, "x\nx\n", "", nil},
		{"unix within a host", "-n 2 -r 2 -link unix", []string{"join", "finish"}, 0, "", "", nil},
		{"TCP within a host", "-n 2 -r 2 -link tcp", []string{"join", "finish"}, 0, "", "", nil},
		{"encrypted", "-n 2 -r 2 -tls", []string{"join", "out:x", "finish"}, 0, "x\nx\n", "", nil},
		{"many lines", "-r 2", []string{"join", "lines:100000", "finish"}, 0, numbered(100000), "", nil},
		{"killed", "-r 2", []string{"join:any", "0.0@kill:9", "out:x", "finish"}, 0, "x\n", "0.0 is dead (signal: killed by SIGKILL)", []string{"0.0 signal"}},
		{"killed at a time", "-r 2 -kill 0.1@50ms", []string{"join", "0.1@forever", "sleep:500ms", "finish"}, 0, "", "killed on request", []string{"0.1 injected"}},
		{"killed at a point", "-r 2 -kill 0.1@task:3", []string{"join:any", "0.1@fired:task:3", "finish"}, 0, "", "killed on request at task:3", []string{"0.1 injected"}},
		{"stopped", "-r 2", []string{"join", "0.0@kill:19", "out:b", "finish"}, 0, "b\n", "", []string{"0.0 fenced"}},
		{"the last is killed", "-n 2 -r 1", []string{"join:any", "1@kill:9", "forever"}, 3, "", "rank 1 has lost its last replica", []string{"1.0 signal"}},
		{"error of all", "-r 2", []string{"join:any", "fail:error:bad luck"}, 1, "", "0.0: error: bad luck", nil},
		{"own exit", "-r 1", []string{"join", "exit:7"}, 1, "", "exit status 7", []string{"0.0 exit"}},
		{"long words", "-r 2", []string{"join", "0.0@fail-at-length:20000000", "finish"}, 0, "", "0.0 is dead (panic", []string{"0.0 panic"}},
		{"crash", "-r 2", []string{"join", "err:before", "0.1@sleep:100ms", "0.0@crash", "finish"}, 0, "", "0.0: panic: boom", []string{"0.0 panic"}},
		{"divergence", "-r 2", []string{"join:any", "0.1@fail:divergence:section 3 differs", "forever"}, 4, "", "section 3 differs", nil},
		{"never joined", "-r 1", []string{"out:hello"}, 1, "hello\n", "never joined the job", nil},
	} {
		t.Run(s.name, func(t *testing.T) {
			c.t = t
			r := c.run(all, s.flags, steps(s.steps...)...)
			require.Equal(t, s.code, r.code, r.stderr)
			require.Equal(t, s.stdout, r.stdout)
			require.Contains(t, r.stderr, s.stderr)
			if s.failures != nil {
				require.ElementsMatch(t, s.failures, r.failures())
			} else if s.code == 0 {
				require.Empty(t, r.failures())
				require.Regexp(t, `^intrarun: the job ends if the head on \S+ is lost: .*\n$`, r.stderr, "and nothing else")
			}
			for _, h := range r.hosts() {
				require.Contains(t, []string{a, b}, h)
			}
		})
	}
	c.t = t
	t.Run("standard input", func(t *testing.T) {
		text := strings.Repeat("0123456789abcde\n", 1<<16)
		c.t = t
		cmd, wait := startAs(t, func(more ...string) *exec.Cmd {
			cmd := command(append([]string{"-rsh", "ip netns exec {host}", "-hosts", all}, more...)...)
			w := c.Hosts[0].Command(cmd.Path, cmd.Args[1:]...)
			w.Env, w.Stdin = cmd.Env, strings.NewReader(text)
			return w
		}, "-n 2 -r 2", steps("join", "0@cat", "finish")...)
		_ = cmd
		r := wait()
		require.Equal(t, 0, r.code, r.stderr)
		require.True(t, text == r.stdout)
	})
	c.t = t
	t.Run("a program that is not there", func(t *testing.T) {
		c.t = t
		garbage := filepath.Join(t.TempDir(), "garbage")
		require.NoError(t, os.WriteFile(garbage, []byte("garbage"), 0o755))
		r := c.run(all, "-n 2", garbage)
		require.Equal(t, 2, r.code)
		require.Regexp(t, `host intra\S+: start [01]\.[01]: .*garbage`, r.stderr)
		require.Nil(t, r.report)
	})
	c.t = t
	t.Run("an agent that cannot be started", func(t *testing.T) {
		c.t = t
		r := c.run(a+":2,nosuchhost:2", "-n 2 -r 2", steps("join")...)
		require.Equal(t, 2, r.code)
		require.Contains(t, r.stderr, "host nosuchhost: ip ended with exit status")
		require.Contains(t, r.stderr, "nosuchhost")
	})
	c.t = t
	c.requireEmpty()
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func TestNothingSurvivesOnAnyHost(t *testing.T) {
	c := newCluster(t, 2)
	for _, s := range []struct {
		name   string
		wrap   string
		signal syscall.Signal
		code   int
	}{
		{"SIGKILL of intrarun", "exec %s", syscall.SIGKILL, -1},
		{"SIGKILL of intrarun, under wrappers", "%s; true", syscall.SIGKILL, -1},
		{"SIGTERM", "%s; true", syscall.SIGTERM, 143},
		{"SIGINT", "exec %s", syscall.SIGINT, 130},
	} {
		t.Run(s.name, func(t *testing.T) {
			c.t = t
			marks := filepath.Join(t.TempDir(), "pids")
			p := strings.Join(steps("join", "mark:"+marks, "forever"), " ")
			cmd, wait := c.start(c.list(2, 0, 1), "-n 2 -r 2", "sh", "-c", fmt.Sprintf(s.wrap, p))
			all := pids(t, marks, 4)
			require.NoError(t, cmd.Process.Signal(s.signal))
			r := wait()
			require.Equal(t, s.code, r.code, r.stderr)
			requireGone(t, all)
			c.requireEmpty()
		})
	}
}

// Hosts 1 and 2 run the processes. The second of them is lost in all ways.
func TestLossOfAHost(t *testing.T) {
	for _, s := range []struct {
		name string
		time string // that the job takes
		lose func(c *cluster) error
	}{
		{"its agent is killed", "2s", func(c *cluster) error { return syscall.Kill(c.agent(2), syscall.SIGKILL) }},
		{"its agent is stopped", "2s", func(c *cluster) error { return syscall.Kill(c.agent(2), syscall.SIGSTOP) }},
		{"everything there is killed", "2s", func(c *cluster) error { return c.Hosts[2].Kill() }},
		{"its link is down", "2s", func(c *cluster) error { return c.Hosts[2].Down() }},
		// Beats find a way around a link that is half dead; a connection does not.
		{"it hears nothing from the head", "8s", func(c *cluster) error {
			c.Set(0, 2, netns.Conditions{Cut: true})
			return nil
		}},
		{"the head hears nothing from it", "8s", func(c *cluster) error {
			c.Set(2, 0, netns.Conditions{Cut: true})
			return nil
		}},
	} {
		for replicas, want := range map[int]int{2: 0, 1: 3} {
			t.Run(fmt.Sprintf("%s, -r %d", s.name, replicas), func(t *testing.T) {
				c := newCluster(t, 3)
				marks := filepath.Join(t.TempDir(), "pids")
				_, wait := c.start(c.list(replicas, 1, 2), fmt.Sprintf("-n 2 -r %d", replicas),
					"sh", "-c", strings.Join(steps("join", "out:one", "mark:"+marks, "sleep:"+s.time, "out:two", "finish"), " ")+"; true")
				all := pids(t, marks, 2*replicas)
				require.NoError(t, s.lose(c))
				r := wait()
				require.Equal(t, want, r.code, r.stderr)
				require.Contains(t, r.stderr, "host "+c.Hosts[2].Name+" has not been heard of for")
				for _, f := range r.report["failures"].([]any) {
					e := f.(map[string]any)["evidence"].(map[string]any)
					require.Less(t, e["last_heard_seconds"], e["suspected_seconds"])
					require.LessOrEqual(t, e["suspected_seconds"], e["declared_seconds"])
					var observers []any
					for _, o := range e["observers"].([]any) {
						seen := o.(map[string]any)
						observers = append(observers, seen["observer"])
						require.GreaterOrEqual(t, seen["silent_seconds"], seen["limit_seconds"])
					}
					require.Equal(t, []any{"the head", c.Hosts[1].Name}, observers)
				}
				if replicas == 2 {
					require.Equal(t, "one\none\ntwo\ntwo\n", sorted(r.stdout))
					require.ElementsMatch(t, []string{"0.1 host", "1.1 host"}, r.failures())
					require.Contains(t, r.ends(), "lost")
				} else {
					require.Contains(t, r.stderr, "rank 1 has lost its last replica")
				}
				requireGone(t, all)
				c.requireEmpty()
			})
		}
	}
}

// Processes that nobody stops see for themselves that the lease of their host
// is over, by the time at which the others hear of their death.
func TestNoEffectsWithoutALease(t *testing.T) {
	c := newCluster(t, 3)
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	size := func(name string) int64 {
		st, err := os.Stat(file(name))
		if err != nil {
			return 0
		}
		return st.Size()
	}
	cmd, wait := c.start(c.list(1, 1, 2), "-n 1 -r 2",
		steps("join", "mark:"+file("pids"), "verdicts:"+file("verdicts"), "0.1@leased:"+file("effects"), "forever")...)
	all := pids(t, file("pids"), 2)
	require.Eventually(t, func() bool { return size("effects") > 0 }, 20*time.Second, time.Millisecond)
	agent := c.agent(2)
	guard := c.guard(2, agent)
	for _, pid := range []int{guard, agent} {
		require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	}
	require.Eventually(t, func() bool { return size("verdicts") > 0 }, 30*time.Second, time.Millisecond)
	// What was about to happen when the lease ended may still happen.
	require.Eventually(t, func() bool {
		before := size("effects")
		time.Sleep(200 * time.Millisecond)
		return size("effects") == before
	}, 30*time.Second, time.Millisecond, "it goes on though it has been declared dead")
	for _, pid := range all {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		require.NoError(t, err, "%d is gone", pid)
		require.NotRegexp(t, `^\d+ \(.*\) T`, string(stat), "%d is stopped", pid)
	}
	for _, pid := range []int{agent, guard} {
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	r := wait()
	require.Equal(t, 143, r.code, r.stderr)
	requireGone(t, all)
	c.requireEmpty()
}

// guard finds the guard of an agent.
func (c *cluster) guard(host, agent int) (pid int) {
	c.t.Helper()
	mark := fmt.Appendf(nil, "%s=%d\x00", launch.GuardVariable, agent)
	require.Eventually(c.t, func() bool {
		all, _ := c.Hosts[host].Processes()
		for _, p := range all {
			environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p))
			if bytes.Contains(environ, mark) {
				pid = p
			}
		}
		return pid != 0
	}, 20*time.Second, 10*time.Millisecond)
	return pid
}

func sorted(text string) string {
	lines := strings.SplitAfter(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "")
}

func TestDryRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hosts")
	require.NoError(t, os.WriteFile(file, []byte("a slots=2 rack=x\nb slots=2 rack=y # the other\n"), 0o644))
	for args, want := range map[string]string{
		"-dry-run -hostfile " + file + " -n 2 -r 2 true":       "a (rack x), 2 of 2 slots: 0.0 1.0\nb (rack y), 2 of 2 slots: 0.1 1.1\n",
		"-dry-run -hosts h1:2,h2:2 -n 2 no-such-program":       "h1, 2 of 2 slots: 0.0 1.0\nh2, 2 of 2 slots: 0.1 1.1\n",
		"-dry-run -fanout 1 -hosts h[1-2] -n 2 -r 1 true":      "h1, 1 of 1 slots: 0.0\nh2, 1 of 1 slots: 1.0\nintrarun starts h1\nh1 starts h2\n",
		"-dry-run -hosts h1:9 -n 2 true":                       "h1, 4 of 9 slots: 0.0 0.1 1.0 1.1\n",
		"-dry-run -oversubscribe -hosts h[1-2] -n 2 -r 2 true": "h1, 2 of 1 slots: 0.0 1.0\nh2, 2 of 1 slots: 0.1 1.1\n",
	} {
		cmd := command(strings.Fields(args)...)
		var stdout bytes.Buffer
		cmd.Stdout = &stdout
		require.NoError(t, cmd.Run(), args)
		require.Equal(t, want, stdout.String(), args)
	}
}

// Every host runs the same command, as under Kubernetes. All that are there at
// the end say how the job has ended, since any of them may be lost.
func TestIndexedJob(t *testing.T) {
	c := newCluster(t, 3)
	secret, started := filepath.Join(t.TempDir(), "secret"), filepath.Join(t.TempDir(), "pids")
	require.NoError(t, os.WriteFile(secret, bytes.Repeat([]byte("secret"), 8), 0o600))
	runAll := func(flags string, lose int, program ...string) (codes []int, stdout, stderr string) {
		var out, errs text
		var all []*exec.Cmd
		for i, h := range c.Hosts {
			cmd := command(append(strings.Fields(flags), program...)...)
			w := h.Command(cmd.Path, cmd.Args[1:]...)
			w.Env = append(cmd.Env, fmt.Sprintf("JOB_COMPLETION_INDEX=%d", i), "INTRA_HOSTS=pod-[0-2]",
				fmt.Sprintf("INTRA_HEAD=%v:7700", c.Hosts[0].Addr), "INTRA_SECRET_FILE="+secret)
			if i == 0 {
				w.Stdout = &out
				time.Sleep(100 * time.Millisecond) // it need not be the first
			}
			w.Stderr = &errs
			require.NoError(t, w.Start())
			all = append(all, w)
		}
		if lose >= 0 {
			pids(t, started, 6)
			require.NoError(t, c.Hosts[lose].Kill())
		}
		for _, w := range all {
			w.Wait()
			codes = append(codes, w.ProcessState.ExitCode())
		}
		if lose >= 0 {
			require.NoError(t, c.Hosts[lose].Up())
		}
		return codes, out.String(), errs.String()
	}
	codes, stdout, stderr := runAll("-n 3 -r 1", -1, steps("join", "out:x", "finish")...)
	require.Equal(t, []int{0, 0, 0}, codes, stderr)
	require.Equal(t, "x\nx\nx\n", stdout)
	codes, _, stderr = runAll("-n 3 -r 1", -1, steps("join", "1@kill:9", "forever")...)
	require.Equal(t, []int{3, 3, 3}, codes, stderr)
	codes, _, stderr = runAll("-n 3 -r 2 -oversubscribe", 0, steps("join", "mark:"+started, "sleep:2s", "finish")...)
	require.Equal(t, []int{-1, 0, 0}, codes, stderr)
	require.NoError(t, os.Remove(started))
	codes, _, stderr = runAll("-n 3 -r 2 -oversubscribe", 0, steps("join", "mark:"+started, "sleep:6s", "fail:error:bad luck")...) // by then the loss is known
	require.Equal(t, []int{-1, 1, 1}, codes, stderr)
	codes, _, stderr = runAll("-n 1 -r 2", -1, steps("join", "finish")...)
	require.Equal(t, []int{0, 0, 1}, codes, "a host that is not used does not say that all is well\n%s", stderr)
	require.Contains(t, stderr, "INTRA_HOSTS names more hosts than the job needs, which runs on 2: pod-2 is left out")
	c.requireEmpty()
}

// A firewall that lets connections through, and no datagrams, is found at the
// start.
func TestHostsWithoutDatagrams(t *testing.T) {
	c := newCluster(t, 2)
	c.Around(1, netns.Conditions{NoUDP: true})
	r := c.run(c.list(2, 0, 1), "-n 2 -r 2", steps("join", "out:x", "finish")...)
	require.Equal(t, 2, r.code, r.stderr)
	require.Contains(t, r.stderr, "host "+c.Hosts[1].Name+": no head has been found within 10s: can the hosts send each other UDP datagrams?")
	require.Empty(t, r.stdout)
	c.requireEmpty()
}
