//go:build system

package hosts

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/agent/watchdog"
	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/internal/testkit/jobtest/steps"
	"github.com/intrahpc/intra/internal/testkit/netns"
)

// binaries are the programs that the tests have built.
var binaries jobtest.Binaries

// The test binary also serves as the programs that intrarun runs.
func TestMain(m *testing.M) {
	steps.Main()
	workerMain()
	printerMain()
	os.Exit(binaries.Main(m))
}

// cluster runs jobs on hosts. The first host also runs intrarun.
type cluster struct {
	*netns.Net
	t *testing.T
}

func newCluster(t *testing.T, n int) *cluster {
	t.Parallel()
	return &cluster{netns.Test(t, n), t}
}

// list formats hosts for -hosts, each with the given number of slots.
func (c *cluster) list(slots int, hosts ...int) string {
	var names []string
	for _, i := range hosts {
		names = append(names, fmt.Sprintf("%s:%d", c.Hosts[i].Name, slots))
	}
	return strings.Join(names, ",")
}

// run is a running job.
type run struct {
	*jobtest.Job
	t *testing.T
}

// result is the visible result of a job.
type result struct {
	jobtest.Result
	report *jobtest.Report // nil: no report
}

// spec describes a job whose intrarun is on host 0.
func (c *cluster) spec(hosts, flags string, program ...string) jobtest.Spec {
	return jobtest.Spec{
		Intrarun: binaries.Intrarun(c.t),
		Flags:    append([]string{"-rsh", "ip netns exec {host}", "-hosts", hosts}, strings.Fields(flags)...),
		Program:  program,
		Prefix:   []string{"ip", "netns", "exec", c.Hosts[0].Name},
		Outlived: true,
		Deadline: 2 * jobtest.Deadline, // detecting the loss of a host takes time
	}
}

// start begins a job by intrarun on host 0.
func (c *cluster) start(hosts, flags string, program ...string) run {
	c.t.Helper()
	return run{jobtest.Start(c.t, c.spec(hosts, flags, program...)), c.t}
}

func (c *cluster) run(hosts, flags string, program ...string) result {
	c.t.Helper()
	return c.start(hosts, flags, program...).wait()
}

// wait waits until the job has ended and none of its processes is left.
func (r run) wait() result {
	r.t.Helper()
	end := result{Result: r.Wait(r.t)}
	end.report = end.Summary(r.t)
	return end
}

// requireEmpty requires that soon no process is left on any host.
func (c *cluster) requireEmpty() {
	c.t.Helper()
	for _, h := range c.Hosts {
		require.Eventually(c.t, func() bool {
			all, err := h.Processes()
			return err == nil && len(all) == 0
		}, 30*time.Second, 20*time.Millisecond, "something is left on %s", h.Name)
	}
}

// agent finds the agent of a host, which is a process of intrarun.
func (c *cluster) agent(host int) (pid int) {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		all, _ := c.Hosts[host].Processes()
		for _, p := range all {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p))
			if bytes.HasSuffix(line, []byte("\x00"+"-agent"+"\x00")) {
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
		{"stopped", "-r 2", []string{"join:any", "0.0@kill:19", "out:b", "finish"}, 0, "b\n", "", []string{"0.0 fenced"}},
		{"the last is killed", "-n 2 -r 1", []string{"join:any", "1@kill:9", "forever"}, 3, "", "rank 1 has lost its last replica", []string{"1.0 signal"}},
		{"error of all", "-r 2", []string{"join:any", "fail:error:bad luck"}, 1, "", ": error: bad luck", nil},
		{"own exit", "-r 1", []string{"join", "exit:7"}, 1, "", "exit status 7", []string{"0.0 exit"}},
		{"long words", "-r 2", []string{"join:any", "0.0@fail-at-length:20000000", "finish"}, 0, "", "0.0 is dead (panic", []string{"0.0 panic"}},
		{"crash", "-r 2", []string{"join", "err:before", "0.1@sleep:100ms", "0.0@crash", "finish"}, 0, "", "0.0: panic: boom", []string{"0.0 panic"}},
		{"divergence", "-r 2", []string{"join:any", "0.1@fail:divergence:section 3 differs", "forever"}, 4, "", "section 3 differs", nil},
		{"never joined", "-r 1", []string{"out:hello"}, 1, "hello\n", "never joined the job", nil},
	} {
		t.Run(s.name, func(t *testing.T) {
			c.t = t
			r := c.run(all, s.flags, steps.Program(s.steps...)...)
			require.Equal(t, s.code, r.Code, r.Stderr)
			require.Equal(t, s.stdout, r.Stdout)
			require.Contains(t, r.Stderr, s.stderr)
			if s.failures != nil {
				require.ElementsMatch(t, s.failures, r.report.Deaths())
			} else if s.code == 0 {
				require.Empty(t, r.report.Deaths())
				require.Regexp(t, `^intrarun: losing the head on \S+ ends the job: .*\n$`, r.Stderr, "and nothing else")
			}
			for _, p := range r.report.Processes {
				require.Contains(t, []string{a, b}, p.Host)
			}
		})
	}
	c.t = t
	t.Run("standard input", func(t *testing.T) {
		text := strings.Repeat("0123456789abcde\n", 1<<16)
		c.t = t
		spec := c.spec(all, "-n 2 -r 2", steps.Program("join", "0@cat", "finish")...)
		spec.Stdin = strings.NewReader(text)
		r := run{jobtest.Start(t, spec), t}.wait()
		require.Equal(t, 0, r.Code, r.Stderr)
		require.True(t, text == r.Stdout)
	})
	c.t = t
	t.Run("a program that is not there", func(t *testing.T) {
		c.t = t
		garbage := filepath.Join(t.TempDir(), "garbage")
		require.NoError(t, os.WriteFile(garbage, []byte("garbage"), 0o755))
		r := c.run(all, "-n 2", garbage)
		require.Equal(t, 2, r.Code)
		require.Regexp(t, `host intra\S+: start [01]\.[01]: .*garbage`, r.Stderr)
		require.Nil(t, r.report)
	})
	c.t = t
	t.Run("an agent that cannot be started", func(t *testing.T) {
		c.t = t
		r := c.run(a+":2,nosuchhost:2", "-n 2 -r 2", steps.Program("join")...)
		require.Equal(t, 2, r.Code)
		require.Contains(t, r.Stderr, "host nosuchhost: ip ended with exit status")
		require.Contains(t, r.Stderr, "nosuchhost")
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
			p := strings.Join(steps.Program("join", "mark:"+marks, "forever"), " ")
			job := c.start(c.list(2, 0, 1), "-n 2 -r 2", "sh", "-c", fmt.Sprintf(s.wrap, p))
			steps.PIDs(t, marks, 4)
			require.NoError(t, syscall.Kill(job.PID(), s.signal))
			r := job.wait()
			require.Equal(t, s.code, r.Code, r.Stderr)
			c.requireEmpty()
		})
	}
}

// Hosts 1 and 2 run the processes. Host 2 is lost in different ways.
func TestLossOfAHost(t *testing.T) {
	for _, s := range []struct {
		name string
		time string // time that the job takes
		lose func(c *cluster) error
	}{
		{"its agent is killed", "2s", func(c *cluster) error { return syscall.Kill(c.agent(2), syscall.SIGKILL) }},
		{"its agent is stopped", "2s", func(c *cluster) error { return syscall.Kill(c.agent(2), syscall.SIGSTOP) }},
		{"everything there is killed", "2s", func(c *cluster) error { return c.Hosts[2].Kill() }},
		{"its link is down", "2s", func(c *cluster) error { return c.Hosts[2].Down() }},
		// Beats find a way around a link that works in only one direction. A connection does
		// not.
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
				job := c.start(c.list(replicas, 1, 2), fmt.Sprintf("-n 2 -r %d", replicas),
					"sh", "-c", strings.Join(steps.Program("join", "out:one", "mark:"+marks, "sleep:"+s.time, "out:two", "finish"), " ")+"; true")
				steps.PIDs(t, marks, 2*replicas)
				require.NoError(t, s.lose(c))
				r := job.wait()
				require.Equal(t, want, r.Code, r.Stderr)
				require.Contains(t, r.Stderr, "host "+c.Hosts[2].Name+" has not been heard from for")
				var evidence struct {
					Failures []struct {
						Evidence struct {
							LastSeen  float64 `json:"last_heard_seconds"`
							Suspected float64 `json:"suspected_seconds"`
							Declared  float64 `json:"declared_seconds"`
							Observers []struct {
								Observer string
								Silent   float64 `json:"silent_seconds"`
								Limit    float64 `json:"limit_seconds"`
							}
						}
					}
				}
				r.Decode(t, &evidence)
				for _, f := range evidence.Failures {
					e := f.Evidence
					require.Less(t, e.LastSeen, e.Suspected)
					require.LessOrEqual(t, e.Suspected, e.Declared)
					require.Len(t, e.Observers, 2)
					for i, name := range []string{"the head", c.Hosts[1].Name} {
						require.Equal(t, name, e.Observers[i].Observer)
						require.GreaterOrEqual(t, e.Observers[i].Silent, e.Observers[i].Limit)
					}
				}
				if replicas == 2 {
					require.Equal(t, "one\none\ntwo\ntwo\n", sorted(r.Stdout))
					require.ElementsMatch(t, []string{"0.1 host", "1.1 host"}, r.report.Deaths())
					require.Contains(t, r.report.Ends(), "lost")
				} else {
					require.Contains(t, r.Stderr, "rank 1 has lost its last replica")
				}
				c.requireEmpty()
			})
		}
	}
}

// Processes that no agent stops notice by themselves that the lease of their host has
// ended, before other processes learn of their death.
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
	job := c.start(c.list(1, 1, 2), "-n 1 -r 2",
		steps.Program("join", "mark:"+file("pids"), "verdicts:"+file("verdicts"), "0.1@leased:"+file("effects"), "forever")...)
	all := steps.PIDs(t, file("pids"), 2)
	require.Eventually(t, func() bool { return size("effects") > 0 }, 20*time.Second, time.Millisecond)
	agent := c.agent(2)
	guard := c.guard(2, agent)
	for _, pid := range []int{guard, agent} {
		require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	}
	require.Eventually(t, func() bool { return size("verdicts") > 0 }, 30*time.Second, time.Millisecond)
	// Effects that were about to happen when the lease ended may still happen.
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
	require.NoError(t, syscall.Kill(job.PID(), syscall.SIGTERM))
	r := job.wait()
	require.Equal(t, 143, r.Code, r.Stderr)
	c.requireEmpty()
}

// guard finds the guard of an agent.
func (c *cluster) guard(host, agent int) (pid int) {
	c.t.Helper()
	mark := fmt.Appendf(nil, "%s=%d\x00", watchdog.Variable, agent)
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

// Every host runs the same command, as under Kubernetes. All hosts that are left at the
// end report it, because any of them may be lost.
func TestIndexedJob(t *testing.T) {
	c := newCluster(t, 3)
	secret, started := filepath.Join(t.TempDir(), "secret"), filepath.Join(t.TempDir(), "pids")
	require.NoError(t, os.WriteFile(secret, bytes.Repeat([]byte("secret"), 8), 0o600))
	runAll := func(flags string, lose int, program ...string) (codes []int, stdout, stderr string) {
		var all []*jobtest.Job
		for i, h := range c.Hosts {
			all = append(all, jobtest.Start(t, jobtest.Spec{
				Intrarun: binaries.Intrarun(t),
				Flags:    strings.Fields(flags),
				Program:  program,
				Prefix:   []string{"ip", "netns", "exec", h.Name},
				Outlived: true,
				Env: []string{fmt.Sprintf("JOB_COMPLETION_INDEX=%d", i), "INTRA_HOSTS=pod-[0-2]",
					fmt.Sprintf("INTRA_HEAD=%v:7700", c.Hosts[0].Addr), "INTRA_SECRET_FILE=" + secret},
			}))
		}
		if lose >= 0 {
			steps.PIDs(t, started, 6)
			require.NoError(t, c.Hosts[lose].Kill())
		}
		for i, one := range all {
			r := one.Wait(t)
			codes, stderr = append(codes, r.Code), stderr+r.Stderr
			if i == 0 {
				stdout = r.Stdout
			}
		}
		if lose >= 0 {
			require.NoError(t, c.Hosts[lose].Up())
		}
		return codes, stdout, stderr
	}
	codes, stdout, stderr := runAll("-n 3 -r 1", -1, steps.Program("join", "out:x", "finish")...)
	require.Equal(t, []int{0, 0, 0}, codes, stderr)
	require.Equal(t, "x\nx\nx\n", stdout)
	codes, _, stderr = runAll("-n 3 -r 1", -1, steps.Program("join:any", "1@kill:9", "forever")...)
	require.Equal(t, []int{3, 3, 3}, codes, stderr)
	codes, _, stderr = runAll("-n 3 -r 2 -oversubscribe", 0, steps.Program("join", "mark:"+started, "sleep:2s", "finish")...)
	require.Equal(t, []int{-1, 0, 0}, codes, stderr)
	require.NoError(t, os.Remove(started))
	codes, _, stderr = runAll("-n 3 -r 2 -oversubscribe", 0, steps.Program("join", "mark:"+started, "sleep:6s", "fail:error:bad luck")...) // by then the loss is known
	require.Equal(t, []int{-1, 1, 1}, codes, stderr)
	codes, _, stderr = runAll("-n 1 -r 2", -1, steps.Program("join", "finish")...)
	require.Equal(t, []int{0, 0, 1}, codes, "an unused host does not report success\n%s", stderr)
	require.Contains(t, stderr, "INTRA_HOSTS names more hosts than the job needs: it runs on 2, without pod-2")
	c.requireEmpty()
}

// A firewall that allows connections but no datagrams is detected at the start.
func TestHostsWithoutDatagrams(t *testing.T) {
	c := newCluster(t, 2)
	c.Around(1, netns.Conditions{NoUDP: true})
	r := c.run(c.list(2, 0, 1), "-n 2 -r 2", steps.Program("join", "out:x", "finish")...)
	require.Equal(t, 2, r.Code, r.Stderr)
	require.Contains(t, r.Stderr, "host "+c.Hosts[1].Name+": no head has been found within 10s: can the hosts send each other UDP datagrams?")
	require.Empty(t, r.Stdout)
	c.requireEmpty()
}
