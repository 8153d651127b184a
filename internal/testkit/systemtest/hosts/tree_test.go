//go:build system

package hosts

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/agent/spawn"
	"github.com/intrahpc/intra/internal/testkit/jobtest/steps"
)

// Each of seven hosts starts up to two others: intrarun starts 0 and 3, host 0 starts 1
// and 2, host 3 starts 4 and 5, and host 5 starts 6.
var starters = [...]int{-1, 0, 0, -1, 3, 3, 5}

// leaf is the last host, and inner the host that starts it.
const leaf, inner = 6, 5

func newTree(t *testing.T) *cluster { return newCluster(t, len(starters)) }

// treeFlags returns the flags of a job with a process on each host. instead
// replaces the command that starts the agent of the leaf.
func (c *cluster) treeFlags(instead string) string {
	dir := c.t.TempDir()
	for i, h := range c.Hosts {
		command := "exec ip netns exec " + h.Name + ` "$@"`
		if i == leaf {
			command = instead
		}
		require.NoError(c.t, os.WriteFile(filepath.Join(dir, h.Name), []byte("#!/bin/sh\n"+command+"\n"), 0o755))
	}
	return "-degrees 2,2,3 -fanout 2 -rsh " + dir + "/{host}"
}

func (c *cluster) all() string { return c.list(1, 0, 1, 2, 3, 4, 5, 6) }

func parent(t *testing.T, pid int) int {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(t, err)
	var ppid int
	_, rest, _ := strings.Cut(string(stat), ") ")
	_, err = fmt.Sscanf(rest[2:], "%d", &ppid)
	require.NoError(t, err)
	return ppid
}

// requireTree requires that the agents have started each other along the tree.
func (c *cluster) requireTree() {
	c.t.Helper()
	for host, starter := range starters {
		if starter >= 0 {
			require.Equal(c.t, c.agent(starter), parent(c.t, c.agent(host)), "who started the agent of host %d", host)
		}
	}
}

func TestAgentsStartEachOther(t *testing.T) {
	c := newTree(t)
	name := func(i int) string { return c.Hosts[i].Name }
	for _, s := range []struct {
		name string
		do   func(intrarun int) error
		code int
		lost int // index of the lost host, 0 for none
	}{
		{name: "nothing happens"},
		{name: "the agent of a host that has started others is killed", do: func(int) error { return syscall.Kill(c.agent(3), syscall.SIGKILL) }, lost: 3},
		{name: "everything there is killed", do: func(int) error { return c.Hosts[3].Kill() }, lost: 3},
		{name: "SIGINT", do: func(pid int) error { return syscall.Kill(pid, syscall.SIGINT) }, code: 130},
		{name: "SIGKILL of a head without successors", do: func(pid int) error { return errors.Join(c.Hosts[1].Kill(), syscall.Kill(pid, syscall.SIGKILL)) }, code: -1},
	} {
		t.Run(s.name, func(t *testing.T) {
			c.t = t
			require.NoError(t, c.Hosts[3].Up())
			marks, goOn := filepath.Join(t.TempDir(), "pids"), filepath.Join(t.TempDir(), "go")
			job := c.start(c.all(), "-degrees 2,2,3 -fanout 2 -v", steps.Program("join", "mark:"+marks, "await:"+goOn, "out:x", "finish")...)
			steps.PIDs(t, marks, len(starters))
			c.requireTree()
			if s.do != nil {
				require.NoError(t, s.do(job.PID()))
			}
			if s.code == 0 {
				require.NoError(t, os.WriteFile(goOn, nil, 0o600))
			}
			r := job.wait()
			require.Equal(t, s.code, r.Code, r.Stderr)
			require.Contains(t, r.Stderr, fmt.Sprintf("intrarun: %s starts %s %s\n", name(3), name(4), name(5)))
			if s.code == 0 {
				require.Equal(t, "x\nx\nx\n", r.Stdout)
			}
			if s.lost > 0 {
				require.Len(t, r.report.Deaths(), 1, "the processes of that host and no others: %s", r.Stderr)
				require.Contains(t, r.Stderr, "host "+name(s.lost)+" has not been heard from")
			} else if s.code == 0 {
				require.Empty(t, r.report.Deaths(), r.Stderr)
			}
			c.requireEmpty()
		})
	}
}

func TestAgentsThatCannotStart(t *testing.T) {
	c := newTree(t)
	by := fmt.Sprintf("host %s \\(started from %s\\): ", c.Hosts[leaf].Name, c.Hosts[inner].Name)
	byInner := fmt.Sprintf("host %s \\(started from %s\\): ", c.Hosts[inner].Name, c.Hosts[3].Name)
	for _, s := range []struct {
		name    string
		instead string // command instead of the one that starts the agent of the leaf
		do      func(intrarun int) error
		code    int
		stderr  string
	}{
		{"the command fails", "echo no room >&2; exit 7", nil, 2, by + `\S+ ended with exit status 7 before its agent had connected: no room\n`},
		{"another program is there", "exec echo hello", nil, 2, by + `\S+ ended with exit status 0 before its agent had connected: hello\n`},
		{"the one that starts it dies", "", func(int) error { return syscall.Kill(c.agent(inner), syscall.SIGKILL) }, 2, byInner},
		{"SIGINT meanwhile", "", func(pid int) error { return syscall.Kill(pid, syscall.SIGINT) }, 130, "interrupted"},
		{"SIGKILL meanwhile", "", func(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }, -1, ""},
	} {
		t.Run(s.name, func(t *testing.T) {
			c.t = t
			marks := filepath.Join(t.TempDir(), "pids")
			if s.instead == "" {
				s.instead = "echo $$ >>" + marks + "; exec sleep 1000"
			}
			job := c.start(c.all(), c.treeFlags(s.instead), steps.Program("join", "finish")...)
			if s.do != nil {
				steps.PIDs(t, marks, 1)
				require.NoError(t, s.do(job.PID()))
			}
			r := job.wait()
			require.Equal(t, s.code, r.Code, r.Stderr)
			require.Regexp(t, s.stderr, r.Stderr)
			require.Nil(t, r.report)
			c.requireEmpty()
		})
	}
}

// With INTRA_TREE=N a job runs on N hosts as it would for a user. The test prints the time
// of its start and the processor time of its head.
func TestManyHosts(t *testing.T) {
	text := os.Getenv("INTRA_TREE")
	if text == "" {
		t.Skip("set INTRA_TREE to a number of hosts, such as 40: each takes three processes")
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, "INTRA_TREE")
	c := newCluster(t, n)
	c.introduce()
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	marks, goOn := filepath.Join(t.TempDir(), "pids"), filepath.Join(t.TempDir(), "go")
	began := time.Now()
	job := c.start(c.list(1, all...), fmt.Sprintf("-v -n %d -r 1", n), steps.Program("join", "mark:"+marks, "await:"+goOn, "finish")...)
	steps.PIDs(t, marks, n)
	joined := time.Since(began)
	byHead := 0
	for i := range n {
		if parent(t, c.agent(i)) == job.PID() {
			byHead++
		}
	}
	require.Equal(t, min(n, spawn.DefaultFanout), byHead)
	const seconds = 5
	before := ticks(t, job.PID())
	time.Sleep(seconds * time.Second)
	cost := ticks(t, job.PID()) - before
	require.NoError(t, os.WriteFile(goOn, nil, 0o600))
	r := job.wait()
	require.Equal(t, 0, r.Code, r.Stderr)
	require.Empty(t, r.report.Deaths(), r.Stderr)
	c.requireEmpty()
	t.Logf("%d hosts, %d of them started by the head; all had joined after %v; the head takes %.1f %% of a core", n, byHead, joined.Round(time.Millisecond), float64(cost)/seconds)
}

// introduce gives all hosts the addresses of all others. Otherwise the kernel has to
// discover them, and it keeps at most 1024 discovered addresses in all namespaces
// together.
func (c *cluster) introduce() {
	hardware := make([]string, len(c.Hosts))
	for i, h := range c.Hosts {
		out, err := h.Command("cat", "/sys/class/net/eth0/address").Output()
		require.NoError(c.t, err)
		hardware[i] = strings.TrimSpace(string(out))
	}
	for i, h := range c.Hosts {
		var lines strings.Builder
		for k, other := range c.Hosts {
			if k != i {
				fmt.Fprintf(&lines, "neigh replace %v lladdr %s nud permanent dev eth0\n", other.Addr, hardware[k])
			}
		}
		ip := h.Command("ip", "-batch", "-")
		ip.Stdin = strings.NewReader(lines.String())
		out, err := ip.CombinedOutput()
		require.NoError(c.t, err, string(out))
	}
}

// ticks returns the processor time of a process, in units of 10 ms.
func ticks(t *testing.T, pid int) int {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(stat), ") ")
	const user, system, state = 14, 15, 3 // fields of /proc/PID/stat, numbered from 1; see proc(5)
	fields := strings.Fields(rest)
	u, err := strconv.Atoi(fields[user-state])
	require.NoError(t, err)
	s, err := strconv.Atoi(fields[system-state])
	require.NoError(t, err)
	return u + s
}
