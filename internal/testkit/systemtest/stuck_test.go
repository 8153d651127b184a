//go:build system

package systemtest

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/internal/testkit/netns"
)

func waitsSpec(t *testing.T, flags, way string) jobtest.Spec {
	return jobtest.Spec{Intrarun: binaries.Intrarun(t), Deadline: hang,
		Flags: strings.Fields(flags), Program: []string{binaries.Program(t, "internal/testkit/systemtest/waits"), way}}
}

// Ranks that wait for each other are detected, with the places of their calls, and the job
// ends.
func TestDeadlocks(t *testing.T) {
	t.Parallel()
	kinds := []string{"-n 2 -r 1", "-n 2 -r 2 -kill 0.1@1s", "-degrees 1,2 -link tcp -replace -kill 1.0@1s"}
	for i, c := range []struct{ way, want string }{
		{"cycle", `deadlock: 0 waits in Recv from 1 tag 3 \(waits/main.go:\d+\), 1 waits in Barrier for 0 \(waits/main.go:\d+\)`},
		{"ring", `deadlock: 0 waits in Recv from 1 tag 3 .*, 1 waits in Recv from 0 tag 3 `},
		// Each of two ranks waits for itself, and either of them may be found first.
		{"itself", `deadlock: (0 waits in Recv from 0|1 waits in Recv from 1) tag 3 \(waits/main.go:\d+\)`},
		{"ssends", `deadlock: 0 waits in Ssend to 1 tag 3 .*, 1 waits in Ssend to 0 tag 3 `},
		{"sends", `deadlock: 0 waits in Send to 1 tag 3 .*, 1 waits in Send to 0 tag 3 `},
		{"waitanys", `deadlock: 0 waits in WaitAny for 1 .*, 1 waits in WaitAny for 0 `},
		{"allany", `deadlock: 0 waits in Recv from 1 tag 3 .*, 1 waits in Recv from 0 tag 3 `},
		{"goroutine", `deadlock: 0 waits in Recv from 1 tag 3 .*, 1 waits in Recv from 0 tag 3 `},
		{"tags", `deadlock: 0 waits in Recv from 1 tag 3 .*, 1 waits in Recv from 0 tag 3 `},
	} {
		flags := kinds[i%len(kinds)]
		t.Run(c.way+" "+flags, func(t *testing.T) {
			t.Parallel()
			r := newJobRun(t, jobtest.Run(t, waitsSpec(t, flags+" -stuck abort -stuck 2s", c.way)))
			require.Equal(t, 1, r.code, r.stderr)
			require.Regexp(t, c.want, r.stderr)
			require.Regexp(t, c.want, r.report.Error)
			require.Equal(t, 1, strings.Count(r.stderr, "deadlock"), r.stderr)
		})
	}
}

// A process that computes or sleeps does not count as stuck, nor does one whose other
// goroutine will end the wait.
func TestNoDeadlocks(t *testing.T) {
	t.Parallel()
	for way, flags := range map[string]string{"computes": "-n 2 -r 1", "sleeps": "-n 3 -r 2 -link tcp", "busy": "-n 2 -r 2"} {
		t.Run(way+" "+flags, func(t *testing.T) {
			t.Parallel()
			r := newJobRun(t, jobtest.Run(t, waitsSpec(t, flags+" -stuck abort -stuck 2s", way)))
			require.Zero(t, r.code, r.stderr)
			require.NotContains(t, r.stderr, "deadlock")
		})
	}
}

// Without abort the job continues, and reports the deadlock once. With off it reports
// nothing. Every request for the status shows the activity of its processes.
func TestStatus(t *testing.T) {
	ask := func(j *jobtest.Job) string {
		out, err := exec.Command(binaries.Intrarun(t), "status", fmt.Sprint(j.PID())).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	shows := func(t *testing.T, j *jobtest.Job, want string) string {
		var text string
		re := regexp.MustCompile(want)
		require.Eventually(t, func() bool { text = ask(j); return re.MatchString(text) }, hang, 50*time.Millisecond, "%s", want)
		return text
	}
	begin := func(t *testing.T, flags, way string) *jobtest.Job {
		j := jobtest.Start(t, waitsSpec(t, "-v "+flags, way))
		await(t, j, joined)
		return j
	}
	interrupt := func(t *testing.T, j *jobtest.Job) string {
		require.NoError(t, syscall.Kill(j.PID(), syscall.SIGTERM))
		r := j.Wait(t)
		require.Equal(t, 143, r.Code, r.Stderr)
		return r.Stderr
	}
	pid := func(t *testing.T, j *jobtest.Job, process string) (pid int) {
		for _, m := range joinedAs.FindAllStringSubmatch(j.Stderr(), -1) {
			if m[1] == process {
				_, _ = fmt.Sscan(m[2], &pid) // cannot fail: it is a number
			}
		}
		require.NotZero(t, pid, j.Stderr())
		return pid
	}
	t.Run("a deadlock", func(t *testing.T) {
		t.Parallel()
		j := begin(t, "-n 2 -r 2 -stuck 2s -status-every 300ms", "cycle")
		text := shows(t, j, `1\.1  waits in Barrier for 0 \(waits/main.go:\d+\) for [2-9]\.\d s`)
		require.Contains(t, text, "4 of 4 processes live, 0 deaths")
		require.Regexp(t, `0\.0  waits in Recv from 1 tag 3 \(waits/main.go:\d+\) for `, text)
		await(t, j, "deadlock")
		require.NoError(t, syscall.Kill(pid(t, j, "0.1"), syscall.SIGKILL))
		shows(t, j, "3 of 4 processes live, 1 deaths")
		require.NoError(t, syscall.Kill(j.PID(), syscall.SIGQUIT))
		shows(t, j, "3 of 4 processes live") // the job continues
		said := interrupt(t, j)
		require.Equal(t, 1, strings.Count(said, "deadlock"), said)
		require.Contains(t, said, "intrarun: 0.") // from -status-every
	})
	t.Run("off", func(t *testing.T) {
		t.Parallel()
		j := begin(t, "-n 2 -r 1 -stuck off", "cycle")
		shows(t, j, `1\.0  waits in Barrier .* for 4\.`)
		require.NotContains(t, interrupt(t, j), "deadlock")
	})
	t.Run("an endless loop", func(t *testing.T) {
		t.Parallel()
		j := begin(t, "-n 2 -r 1 -stuck 2s", "forever")
		text := shows(t, j, `1\.0  waits in Barrier for 0 .* for 4\.`)
		require.Contains(t, text, "0.0  runs, ")
		require.NotContains(t, interrupt(t, j), "deadlock")
	})
	t.Run("a stopped process", func(t *testing.T) {
		t.Parallel()
		j := begin(t, "-n 2 -r 1 -stuck 2s", "cycle")
		p := pid(t, j, "0.0")
		require.NoError(t, syscall.Kill(p, syscall.SIGSTOP))
		text := shows(t, j, `1\.0  waits in Barrier for 0 .* for 4\.`)
		require.Regexp(t, `0\.0  stopped\n`, text)
		require.NotContains(t, j.Stderr(), "deadlock")
		require.NoError(t, syscall.Kill(p, syscall.SIGCONT))
		await(t, j, "deadlock")
		interrupt(t, j)
	})
	t.Run("SIGQUIT", func(t *testing.T) {
		t.Parallel()
		j := begin(t, "-n 2 -r 1", "forever")
		require.NoError(t, syscall.Kill(j.PID(), syscall.SIGQUIT))
		await(t, j, "2 of 2 processes live")
		require.Contains(t, interrupt(t, j), "\n  1.0  ")
	})
	t.Run("as JSON, and no job", func(t *testing.T) {
		t.Parallel()
		j := begin(t, "-n 1 -r 1", "forever")
		out, err := exec.Command(binaries.Intrarun(t), "status", "-json", fmt.Sprint(j.PID())).Output()
		require.NoError(t, err)
		require.Contains(t, string(out), `"process": "0.0"`)
		interrupt(t, j)
		out, err = exec.Command(binaries.Intrarun(t), "status", fmt.Sprint(j.PID())).CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), "is no intrarun of yours")
	})
}

// A successor of the head also finds a deadlock, even after the loss of a host.
func TestDeadlockAfterTheLossOfTheHead(t *testing.T) {
	t.Parallel()
	net := netns.Test(t, 4)
	spec := hostedSpec(t, net, 1, "-n 2 -r 2 -stuck abort -stuck 4s", nil)
	spec.Program = []string{binaries.Program(t, "internal/testkit/systemtest/waits"), "cycle"}
	j := &hostedJob{jobtest.Start(t, spec), t, net, spec}
	await(t, j.Job, joined)
	j.lose(net.Hosts[0].Kill)
	r, lost := j.end()
	require.True(t, lost, r.stderr)
	require.Equal(t, 1, r.code, r.stderr)
	require.Regexp(t, `deadlock: 0 waits in Recv from 1 tag 3 \(waits/main.go:\d+\), 1 waits in Barrier for 0 `, r.stderr)
	require.Equal(t, 1, strings.Count(r.stderr, "deadlock"), r.stderr)
}

// A replica that never ends is reported, and killed later, once every rank has finished in
// another replica. The job ends well. A replica that still makes progress continues.
func TestEndlessReplicas(t *testing.T) {
	t.Parallel()
	for way, killed := range map[string]string{
		"loop":   `0\.1 is dead \(fenced: it made no progress for \d+\.\d s, and every rank has finished in another replica: runs, `,
		"select": `0\.1 is dead \(fenced: it made no progress for \d+\.\d s, `, "prints": "", "receives": "",
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			r := newJobRun(t, jobtest.Run(t, waitsSpec(t, "-n 2 -r 2 -stuck 2s -endless 4s -stuck abort", way)))
			require.Zero(t, r.code, r.stderr)
			require.NotContains(t, r.stderr, "deadlock")
			if killed == "" {
				require.NotContains(t, r.stderr, "does not end")
				require.Empty(t, r.report.Deaths())
				return
			}
			require.Regexp(t, `0\.1 does not end: every rank has finished in another replica, and it makes no progress \(runs, .*\); after 4s it is killed`, r.stderr)
			require.Equal(t, 1, strings.Count(r.stderr, "does not end"), r.stderr)
			require.Regexp(t, killed, r.stderr)
			require.Equal(t, []string{"0.1 fenced"}, r.report.Deaths())
		})
	}
}

// In one replica of a rank a task, or the function of Once, never ends, and its peer waits
// for it. That is not a deadlock, and the status names the replica.
func TestEndlessTaskIsNoDeadlock(t *testing.T) {
	t.Parallel()
	for way, what := range map[string]string{
		"taskloops": `in section 0 of waits/main\.go:\d+, runs task waits\.endless \(waits/main\.go:\d+\), for [4-9]\.`,
		"taskwaits": `in section 0 of waits/main\.go:\d+, runs task waits\.endless \(waits/main\.go:\d+\), for [4-9]\.`,
		"oncewaits": `0\.0  in Once, for [4-9]\.`, "oncesleeps": `0\.0  in Once, for [4-9]\.`,
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			j := jobtest.Start(t, waitsSpec(t, "-r 2 -stuck 2s", way))
			var text string
			re := regexp.MustCompile(what)
			require.Eventually(t, func() bool {
				out, _ := exec.Command(binaries.Intrarun(t), "status", fmt.Sprint(j.PID())).CombinedOutput() // intrarun may not be running yet
				text = string(out)
				return re.MatchString(text)
			}, hang, 50*time.Millisecond, "%s", what)
			require.NotContains(t, j.Stderr(), "deadlock")
			require.NoError(t, syscall.Kill(j.PID(), syscall.SIGTERM))
			require.Equal(t, 143, j.Wait(t).Code)
		})
	}
}
