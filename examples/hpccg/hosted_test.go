//go:build !intra

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/netns"
)

// hostedJob is HPCCG on hosts, the first of which has the head.
type hostedJob struct {
	t      *testing.T
	net    *netns.Net
	dir    string
	pid    int // of the first head
	said   *watched
	stdout bytes.Buffer
	ended  chan struct{} // closed when the first head is gone
}

// What heads say with -v.
const (
	joined   = "all have joined"
	finished = "all have finished"
)

// startHosted starts HPCCG on the hosts of net, each with so many slots, and
// waits until its head has said that.
func startHosted(t *testing.T, net *netns.Net, slots int, flags string, problem []string, until string) *hostedJob {
	t.Helper()
	j := &hostedJob{t: t, net: net, dir: t.TempDir(), said: &watched{text: until, seen: make(chan struct{})}, ended: make(chan struct{})}
	var hosts []string
	for _, h := range net.Hosts {
		hosts = append(hosts, fmt.Sprintf("%s:%d", h.Name, slots))
	}
	args := append([]string{"-v", "-rsh", "ip netns exec {host}", "-hosts", strings.Join(hosts, ","), "-report", "report.json"}, strings.Fields(flags)...)
	cmd := net.Hosts[0].Command(bin.intrarun, append(append(args, bin.hpccg), problem...)...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = &j.stdout, j.said, j.dir
	require.NoError(t, cmd.Start())
	j.pid = cmd.Process.Pid
	go func() {
		_ = cmd.Wait() // it is killed, or gives up
		close(j.ended)
	}()
	select {
	case <-j.said.seen:
	case <-j.ended:
		require.Fail(t, "it has ended", "%s", j.said)
	}
	return j
}

// lose loses the head.
func (j *hostedJob) lose(how func() error) {
	j.t.Helper()
	require.NoError(j.t, how())
	<-j.ended
}

// errs is what the successor of the head has said.
func (j *hostedJob) errs() string { return successor(j.dir, j.pid, ".err") }

// finished: the first head has seen the end of the job.
func (j *hostedJob) finished() bool { return strings.Contains(j.said.String(), finished) }

// await waits until the successor has said that, or has ended.
func (j *hostedJob) await(text string) {
	j.t.Helper()
	require.Eventually(j.t, func() bool {
		errs := j.errs()
		return strings.Contains(errs, text) || strings.Contains(errs, "intrarun: exit code") || j.finished()
	}, patience, time.Millisecond, "%s", j.said)
}

// kill kills a process, wherever it runs now.
func (j *hostedJob) kill(process string) {
	pid := 0
	for _, m := range joinedAs.FindAllStringSubmatch(j.said.String()+j.errs(), -1) {
		if m[1] == process {
			_, _ = fmt.Sscan(m[2], &pid) // it is a number
		}
	}
	if pid == 0 {
		return // the job has ended
	}
	require.NoError(j.t, ignoreGone(syscall.Kill(pid, syscall.SIGKILL)))
}

// end waits until nothing is left, makes the hosts whole again, and returns what
// the successor has left of the job. lost is false if that had come to its end
// before the head was lost.
func (j *hostedJob) end() (r jobRun, lost bool) {
	t := j.t
	t.Helper()
	require.Eventually(t, func() bool {
		left := 0
		for _, h := range j.net.Hosts {
			all, err := h.Processes()
			require.NoError(t, err)
			left += len(all)
		}
		return left == 0
	}, patience, 20*time.Millisecond, "something is left: %s\n%s", j.said, j.errs())
	for _, h := range j.net.Hosts {
		require.NoError(t, h.Up())
	}
	r.stderr = j.said.String() + j.errs()
	if j.finished() {
		return r, false
	}
	require.Contains(t, r.stderr, " is the head now, in place of that on "+j.net.Hosts[0].Name)
	b, err := os.ReadFile(filepath.Join(j.dir, "report.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &r.report))
	r.code = r.report.ExitCode
	require.Contains(t, r.stderr, fmt.Sprintf("intrarun: exit code %d\n", r.code))
	r.stdout = cmp.Or(successor(j.dir, j.pid, ".out"), j.stdout.String()) // it may have been out before the loss
	return r, true
}

// successor reads what the successor of the head has written.
func successor(dir string, head int, suffix string) string {
	b, _ := os.ReadFile(filepath.Join(dir, fmt.Sprintf("intrarun-%d%s", head, suffix)))
	return string(b)
}
