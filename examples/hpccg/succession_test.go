//go:build !intra

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/netns"
)

// The first of four hosts, with intrarun, is lost at several points. Another
// one takes the head's place, and the job ends with the bits of a run without
// failures.
func TestLossOfTheHead(t *testing.T) {
	net := netns.Test(t, 4)
	began := time.Now()
	code, want, stderr, _ := onHosts(t, net, 1, "-n 2 -r 2", strings.Join(chaosProblem[:len(chaosProblem)-1], " "), nil)
	require.Zero(t, code, stderr)
	quiet := time.Since(began)
	for _, c := range []struct {
		name string
		when float64 // part of the time of that run
		lose func() error
	}{
		{"killed at the start", 0, net.Hosts[0].Kill},
		{"killed", 0.2, net.Hosts[0].Kill},
		{"killed in the middle", 0.4, net.Hosts[0].Kill},
		{"cut off", 0.2, net.Hosts[0].Down},
	} {
		t.Run(c.name, func(t *testing.T) {
			for when := c.when; !loseHead(t, net, time.Duration(when*float64(quiet)), c.lose, want); when /= 2 {
				t.Logf("the job had ended after %.2f of the time", when)
			}
		})
	}
}

// loseHead loses the head of a job a while after all have joined. It returns
// false if the job has ended before.
func loseHead(t *testing.T, net *netns.Net, after time.Duration, lose func() error, want string) bool {
	dir := t.TempDir()
	var hosts []string
	for _, h := range net.Hosts {
		hosts = append(hosts, h.Name+":1")
	}
	cmd := net.Hosts[0].Command(bin.intrarun, append([]string{"-v", "-rsh", "ip netns exec {host}", "-hosts", strings.Join(hosts, ","),
		"-report", "report.json", "-n", "2", "-r", "2", bin.hpccg}, chaosProblem...)...)
	var stdout bytes.Buffer
	w := &watched{text: "all have joined", seen: make(chan struct{})}
	cmd.Stdout, cmd.Stderr, cmd.Dir = &stdout, w, dir
	require.NoError(t, cmd.Start())
	<-w.seen
	time.Sleep(after)
	require.NoError(t, lose())
	_ = cmd.Wait() // it is killed, or gives up
	read := func(suffix string) string { return successor(dir, cmd.Process.Pid, suffix) }
	require.Eventually(t, func() bool {
		left := 0
		for _, h := range net.Hosts {
			all, err := h.Processes()
			require.NoError(t, err)
			left += len(all)
		}
		return left == 0
	}, time.Minute, 20*time.Millisecond, "something is left: %s", read(".err"))
	require.NoError(t, net.Hosts[0].Up())

	if strings.Contains(w.String(), "all have finished") {
		return false
	}
	require.Contains(t, read(".err"), " is the head now, in place of that on "+net.Hosts[0].Name, "%s", w)
	require.Contains(t, read(".err"), "intrarun: exit code 0\n")
	r := jobRun{stdout: read(".out")}
	_, hash := r.sum(t)
	require.Equal(t, want, hash)
	b, err := os.ReadFile(filepath.Join(dir, "report.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &r.report))
	require.Zero(t, r.report.ExitCode)
	require.Len(t, r.report.Failures, 1, read(".err"))
	require.Equal(t, job.Process{}, r.report.Failures[0].Process)
	require.Equal(t, job.CauseHost, r.report.Failures[0].Cause)
	require.Positive(t, r.report.TasksRun)
	return true
}

// Two hosts that keep the head's decisions are lost, each when the place of the
// one before has been taken, and then the head's.
func TestLossesOneAfterTheOther(t *testing.T) {
	net := netns.Test(t, 5)
	for iters := 600; ; iters *= 2 {
		require.Less(t, iters, 40000, "the job has always ended before the last loss")
		problem := strings.Fields(fmt.Sprintf("-nx 20 -ny 20 -nz 20 -iters %d -json", iters))
		code, want, stderr, _ := onHosts(t, net, 1, "-n 2 -r 1", strings.Join(problem[:len(problem)-1], " "), nil)
		require.Zero(t, code, stderr)
		if loseThree(t, net, problem, want) {
			return
		}
	}
}

// loseThree loses hosts 1, 2 and 0. It returns false if the job has ended
// before.
func loseThree(t *testing.T, net *netns.Net, problem []string, want string) bool {
	dir := t.TempDir()
	var hosts []string
	for _, h := range net.Hosts {
		hosts = append(hosts, h.Name+":2")
	}
	cmd := net.Hosts[0].Command(bin.intrarun, append([]string{"-v", "-rsh", "ip netns exec {host}", "-hosts", strings.Join(hosts, ","),
		"-report", "report.json", "-n", "2", "-r", "5", bin.hpccg}, problem...)...)
	var stdout bytes.Buffer
	w := &watched{text: "all have joined", seen: make(chan struct{})}
	cmd.Stdout, cmd.Stderr, cmd.Dir = &stdout, w, dir
	require.NoError(t, cmd.Start())
	<-w.seen
	for _, host := range []int{1, 2} {
		changes := strings.Count(w.String(), "the decisions of the head are kept on ")
		require.NoError(t, net.Hosts[host].Kill())
		require.Eventually(t, func() bool {
			text := w.String()
			return strings.Count(text, "the decisions of the head are kept on ") > changes || strings.Contains(text, "all have finished")
		}, time.Minute, time.Millisecond, "%s", w)
	}
	require.NoError(t, net.Hosts[0].Kill())
	_ = cmd.Wait() // it is killed
	read := func(suffix string) string { return successor(dir, cmd.Process.Pid, suffix) }
	require.Eventually(t, func() bool {
		left := 0
		for _, h := range net.Hosts {
			all, err := h.Processes()
			require.NoError(t, err)
			left += len(all)
		}
		return left == 0
	}, patience, 20*time.Millisecond, "something is left: %s", read(".err"))
	if strings.Contains(w.String(), "all have finished") {
		return false
	}
	require.Contains(t, read(".err"), " is the head now, in place of that on "+net.Hosts[0].Name, "%s", w)
	require.Contains(t, read(".err"), "intrarun: exit code 0\n")
	r := jobRun{stdout: read(".out")}
	_, hash := r.sum(t)
	require.Equal(t, want, hash)
	return true
}

// successor reads what the successor of the head has written.
func successor(dir string, head int, suffix string) string {
	b, _ := os.ReadFile(filepath.Join(dir, fmt.Sprintf("intrarun-%d%s", head, suffix)))
	return string(b)
}
