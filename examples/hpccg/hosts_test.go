//go:build !intra

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/netns"
)

// watched is an output that tells when it contains a text.
type watched struct {
	mu   sync.Mutex
	b    bytes.Buffer
	text string
	seen chan struct{}
}

func (w *watched) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := strings.Contains(w.b.String(), w.text)
	w.b.Write(b)
	if !before && strings.Contains(w.b.String(), w.text) {
		close(w.seen)
	}
	return len(b), nil
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// patience is after how long a job on hosts is taken to hang.
const patience = 5 * time.Minute

// onHosts runs HPCCG on the hosts, each with a number of slots, by intrarun on
// the first of them. during is called a while after all have joined.
func onHosts(t *testing.T, n *netns.Net, slots int, flags string, program string, during func()) (code int, hash, stderr string, rep map[string]any) {
	t.Helper()
	var names []string
	for _, h := range n.Hosts {
		names = append(names, fmt.Sprintf("%s:%d", h.Name, slots))
	}
	file := filepath.Join(t.TempDir(), "report.json")
	args := append([]string{"-v", "-rsh", "ip netns exec {host}", "-hosts", strings.Join(names, ","), "-report", file}, strings.Fields(flags)...)
	args = append(append(args, bin.hpccg, "-json"), strings.Fields(program)...)
	cmd := n.Hosts[0].Command(bin.intrarun, args...)
	var stdout bytes.Buffer
	w := &watched{text: "all have joined", seen: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &stdout, w
	require.NoError(t, cmd.Start())
	watchdog := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	if during != nil {
		select {
		case <-w.seen:
			during()
		case <-ended:
		}
	}
	<-ended
	require.True(t, watchdog.Stop(), "it hung:\n%s", w)
	if stdout.Len() > 0 {
		_, hash = bits(t, stdout.String())
	}
	b, err := os.ReadFile(file)
	require.NoError(t, err, w.String())
	require.NoError(t, json.Unmarshal(b, &rep))
	return cmd.ProcessState.ExitCode(), hash, w.String(), rep
}

func TestHPCCGOnSeveralHosts(t *testing.T) {
	const problem = "-nx 24 -ny 24 -nz 24"
	n := netns.Test(t, 4)
	_, want := intrarun(t, "-n 4 -r 1", append(strings.Fields(problem), "-json")...).sum(t)
	for _, c := range []struct {
		name   string
		flags  string
		during func()
		causes []string
	}{
		{"nobody dies", "-n 4 -r 2", nil, nil},
		{"encrypted", "-n 4 -r 2 -tls", nil, nil},
		{"a short cut", "-n 4 -r 2", func() {
			n.Around(2, netns.Conditions{Cut: true})
			time.Sleep(400 * time.Millisecond)
			n.Around(2, netns.Conditions{})
		}, nil},
		{"a short cut of one direction between two hosts", "-n 4 -r 2", func() {
			n.Set(2, 3, netns.Conditions{Cut: true})
			time.Sleep(300 * time.Millisecond)
			n.Set(2, 3, netns.Conditions{})
		}, nil},
		{"a link goes down and comes up again", "-n 4 -r 2", func() {
			require.NoError(t, n.Hosts[3].Down())
			time.Sleep(300 * time.Millisecond)
			require.NoError(t, n.Hosts[3].Up())
		}, nil},
		{"in the middle of an update and of a message", "-n 4 -r 2 -kill 1.0@update:40 -kill 2.1@message:60", nil, []string{"1.0 injected", "2.1 injected"}},
		{"a host is lost", "-n 4 -r 2", func() { require.NoError(t, n.Hosts[3].Kill()) }, []string{"2.1 host", "3.1 host"}},
		{"a link goes down", "-n 4 -r 2", func() { require.NoError(t, n.Hosts[1].Down()) }, []string{"2.0 host", "3.0 host"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, hash, stderr, rep := onHosts(t, n, 2, c.flags, problem, c.during)
			for _, h := range n.Hosts {
				require.NoError(t, h.Up())
			}
			require.Equal(t, 0, code, stderr)
			require.Equal(t, want, hash, stderr)
			var causes []string
			for _, f := range rep["failures"].([]any) {
				m := f.(map[string]any)
				causes = append(causes, fmt.Sprint(m["process"], " ", m["cause"]))
			}
			require.ElementsMatch(t, c.causes, causes, stderr)
			t.Log("seconds:", rep["wall_seconds"])
		})
	}
	for _, h := range n.Hosts {
		require.Eventually(t, func() bool {
			all, err := h.Processes()
			return err == nil && len(all) == 0
		}, 10*time.Second, 20*time.Millisecond, "something is left on %s", h.Name)
	}
}

// Agents start each other along a tree. The loss of one that has started others
// is the loss of its host and no other.
func TestHPCCGOnATreeOfHosts(t *testing.T) {
	const problem = "-nx 16 -ny 16 -nz 16 -iters 400"
	n := netns.Test(t, 7)
	want := intrarun(t, "-n 4 -r 1", append(strings.Fields(problem), "-json")...)
	_, hash := want.sum(t)
	kill := func() {
		all, err := n.Hosts[3].Processes()
		require.NoError(t, err)
		for _, pid := range all {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if bytes.HasSuffix(line, []byte("\x00-agent\x00")) {
				require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
			}
		}
	}
	code, got, stderr, rep := onHosts(t, n, 1, "-degrees 1,2,2,2 -fanout 2", problem, kill)
	require.Zero(t, code, stderr)
	require.Equal(t, hash, got, stderr)
	require.Contains(t, stderr, fmt.Sprintf("%s starts %s\n", n.Hosts[5].Name, n.Hosts[6].Name), "three levels")
	failures := rep["failures"].([]any)
	require.Len(t, failures, 1, stderr)
	require.Equal(t, "host", failures[0].(map[string]any)["cause"], stderr)
	for _, h := range n.Hosts {
		require.Eventually(t, func() bool {
			all, err := h.Processes()
			return err == nil && len(all) == 0
		}, 30*time.Second, 20*time.Millisecond, "something is left on %s", h.Name)
	}
}

// A program that is built for the run is sent to hosts that do not share the
// folder it was built in.
func TestPackageOnHostsWithoutSharedFiles(t *testing.T) {
	n := netns.Test(t, 2)
	private := t.TempDir()
	cmd := n.Hosts[0].Command(bin.intrarun, "-n", "1", "-hosts", n.Hosts[0].Name+","+n.Hosts[1].Name,
		"-rsh", "ip netns exec {host} unshare -m sh -c 'mount -t tmpfs none "+private+" && exec \"$@\"' sh",
		".", "-nx", "8", "-ny", "8", "-nz", "8", "-json")
	cmd.Env = append(os.Environ(), "TMPDIR="+private)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Run(), stderr.String())
	require.Contains(t, stdout.String(), "x_sha256")
	left, err := os.ReadDir(private)
	require.NoError(t, err)
	require.Empty(t, left)
}
