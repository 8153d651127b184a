//go:build !intra

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/netns"
)

// The host of the head is the first that a job loses in which processes are
// replaced. Its successor replaces those that were there, and more, and takes
// backups that the job goes back to. With the next head the job is lost.
func TestLossOfTheHeadBeforeAReplacement(t *testing.T) {
	net := netns.Test(t, 4)
	replaced := "is replaced by another process on "
	for _, c := range []struct {
		name, flags string
		slots       int
		steps       []string // what the successor says before the next thing is done to the job
		then        [][]string
		code        int
		says        []string
		replaced    []string
	}{
		{"a host, with files", "-n 2 -r 2 -replace -checkpoint {state} -checkpoint-every 9", 2, nil, nil, 0, nil, []string{"0.0", "1.0"}},
		{"a process then", "-n 2 -r 2 -replace", 2, []string{"0.0 " + replaced, "1.0 " + replaced}, [][]string{nil, {"0.1"}}, 0, nil, []string{"0.0", "0.1", "1.0"}},
		{"a process then, with a spare", "-n 2 -r 2 -spares 4", 3, []string{"0.0 " + replaced, "1.0 " + replaced}, [][]string{nil, {"0.1"}}, 0, nil, []string{"0.0", "0.1", "1.0"}},
		{"a rank then", "-n 2 -r 2 -replace -backup 5", 2, []string{"0.0 " + replaced, "1.0 " + replaced}, [][]string{nil, {"1.1", "1.0"}}, 0,
			[]string{"rank 1 has lost its last replica"}, nil},
		{"the only replica of a rank", "-n 3 -r 1 -replace -backup 5", 2, nil, nil, 3,
			[]string{"rank 0 could not be brought back: who held backups was known to the head that was lost"}, []string{}},
		{"a process before", "-n 2 -r 2 -replace -kill 1.1@section:40", 2, nil, nil, 3,
			[]string{"was lost after it had begun to replace processes, and who takes whose place is known to it alone"}, []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for iters := 1000; ; iters *= 3 {
				require.Less(t, iters, 200000, "it has always ended too early")
				problem := strings.Fields(fmt.Sprintf("-nx 16 -ny 16 -nz 16 -iters %d -json", iters))
				j := loseHeadOf(t, net, c.slots, strings.ReplaceAll(c.flags, "{state}", filepath.Join(t.TempDir(), "state")), problem, strings.Contains(c.flags, "-kill"))
				for i, text := range c.steps {
					j.await(text)
					if c.then[i] != nil {
						time.Sleep(300 * time.Millisecond) // for a backup
					}
					for _, p := range c.then[i] {
						j.kill(p)
					}
				}
				r, lost := j.end()
				if !lost || r.code == 0 && c.replaced != nil && len(r.report.Replacements) < len(c.replaced) || r.code == 0 && c.code != 0 {
					continue // it has ended before all were replaced
				}
				require.Equal(t, c.code, r.code, r.stderr)
				for _, text := range c.says {
					require.Contains(t, r.stderr, text)
				}
				if c.code == 0 {
					_, want := intrarun(t, strings.Fields(c.flags)[0]+" "+strings.Fields(c.flags)[1]+" -r 1", problem...).sum(t)
					_, got := r.sum(t)
					require.Equal(t, want, got, r.stderr)
				}
				if c.replaced != nil {
					var all []string
					for _, one := range r.report.Replacements {
						all = append(all, one.Process.String())
					}
					require.ElementsMatch(t, c.replaced, all, r.stderr)
				} else {
					require.Len(t, r.report.Rollbacks, 1, r.stderr)
				}
				return
			}
		})
	}
}

// headlessJob is a job whose head was lost.
type headlessJob struct {
	t      *testing.T
	net    *netns.Net
	dir    string
	pid    int // of the first head
	said   *watched
	stdout *bytes.Buffer
}

// loseHeadOf starts HPCCG on the hosts and loses that of the head once all have
// joined, or once it has begun to replace somebody.
func loseHeadOf(t *testing.T, net *netns.Net, slots int, flags string, problem []string, replacing bool) *headlessJob {
	j := &headlessJob{t: t, net: net, dir: t.TempDir(), stdout: new(bytes.Buffer)}
	var hosts []string
	for _, h := range net.Hosts {
		hosts = append(hosts, fmt.Sprintf("%s:%d", h.Name, slots))
	}
	args := append([]string{"-v", "-rsh", "ip netns exec {host}", "-hosts", strings.Join(hosts, ","), "-report", "report.json"}, strings.Fields(flags)...)
	cmd := net.Hosts[0].Command(bin.intrarun, append(append(args, bin.hpccg), problem...)...)
	j.said = &watched{text: "all have joined", seen: make(chan struct{})}
	if replacing {
		j.said.text = "from now on the job ends if its head is lost"
	}
	cmd.Stdout, cmd.Stderr, cmd.Dir = j.stdout, j.said, j.dir
	require.NoError(t, cmd.Start())
	j.pid = cmd.Process.Pid
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is killed
		close(ended)
	}()
	select {
	case <-j.said.seen:
	case <-ended:
		require.Fail(t, "it has ended", "%s", j.said)
	}
	require.NoError(t, net.Hosts[0].Kill())
	<-ended
	return j
}

func (j *headlessJob) errs() string { return successor(j.dir, j.pid, ".err") }

// await waits until the successor has said that, or has ended.
func (j *headlessJob) await(text string) {
	j.t.Helper()
	require.Eventually(j.t, func() bool {
		errs := j.errs()
		return strings.Contains(errs, text) || strings.Contains(errs, "intrarun: exit code") || strings.Contains(j.said.String(), "all have finished")
	}, patience, time.Millisecond, "%s", j.said)
}

// kill kills a process, wherever it runs now.
func (j *headlessJob) kill(process string) {
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

// end waits until nothing is left, and returns what there is of the job. lost is
// false if it had come to its end before the head was lost.
func (j *headlessJob) end() (r jobRun, lost bool) {
	t := j.t
	require.Eventually(t, func() bool {
		left := 0
		for _, h := range j.net.Hosts {
			all, err := h.Processes()
			require.NoError(t, err)
			left += len(all)
		}
		return left == 0
	}, patience, 20*time.Millisecond, "something is left: %s\n", j.said)
	require.NoError(t, j.net.Hosts[0].Up())
	r.stderr = j.said.String() + j.errs()
	if strings.Contains(j.said.String(), "all have finished") {
		return r, false
	}
	require.Contains(t, r.stderr, " is the head now, in place of that on "+j.net.Hosts[0].Name)
	b, err := os.ReadFile(filepath.Join(j.dir, "report.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &r.report))
	r.code = r.report.ExitCode
	require.Contains(t, r.stderr, fmt.Sprintf("intrarun: exit code %d\n", r.code))
	r.stdout = j.stdout.String() + successor(j.dir, j.pid, ".out")
	require.NotContains(t, fmt.Sprint(r.report.Failures), job.CauseFenced)
	return r, true
}
