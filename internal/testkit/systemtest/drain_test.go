//go:build system

package systemtest

import (
	"cmp"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// `intrarun drain` moves processes to spare ones, even the last replica of a rank and
// those that write its output. The output of the job does not change.
func TestDrainByCommand(t *testing.T) {
	for _, c := range []struct{ flags, who string }{
		{"-n 2 -r 1 -spares 2", "0.0 1.0"},
		{"-n 2 -r 2 -spares 2", "0.0 0.1"},
	} {
		t.Run(c.flags, func(t *testing.T) {
			for passes := 1000; !drained(t, passes, c.flags, strings.Fields(c.who)); passes *= 2 {
				t.Logf("the job had ended after %d passes, before all had moved", passes)
			}
		})
	}
}

// drained drains processes of a job, one after the other. It returns false if the job ended
// before all had moved.
func drained(t *testing.T, passes int, flags string, who []string) bool {
	spec := func(flags string) jobtest.Spec {
		return jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: strings.Fields(flags),
			Program: []string{binaries.Program(t, "internal/testkit/systemtest/attack/mixed"), "-passes", strconv.Itoa(passes), "-seed", "3"}}
	}
	job := jobtest.Start(t, spec(flags+" -v"))
	await := func(text string) bool {
		require.Eventually(t, func() bool { return strings.Contains(job.Stderr(), text) || over(job) }, jobtest.Deadline, time.Millisecond)
		return strings.Contains(job.Stderr(), text)
	}
	moved := await("all have joined")
	for _, p := range who {
		drain := func() bool { // fails until the rank has reached a safe point
			return over(job) || exec.Command(binaries.Intrarun(t), "drain", strconv.Itoa(job.PID()), p).Run() == nil
		}
		require.Eventually(t, drain, jobtest.Deadline, 10*time.Millisecond, p)
		moved = moved && await(p+" has moved from ")
	}
	r := job.Wait(t)
	require.Zero(t, r.Code, r.Stderr)
	if !moved {
		return false
	}
	want := jobtest.Run(t, spec("-n 2 -r 1"))
	require.Zero(t, want.Code, want.Stderr)
	require.NotEmpty(t, want.Stdout)
	require.Equal(t, want.Stdout, r.Stdout)
	return true
}

// On one host the processes have nowhere to go. With -drain, SIGTERM to intrarun makes such a job
// write a last set of files and end with an exit code of its own. The job then continues from that
// set, and has the result of an undisturbed run. A second signal ends the job at once.
func TestInterruptedJobRestarts(t *testing.T) {
	for _, c := range []interruption{
		{"-drain", "", []syscall.Signal{syscall.SIGTERM}, 7, "intrarun: interrupted (SIGTERM to intrarun): -restart "},
		{"-drain -grace 1ms", "checkpoint set 2 is complete", []syscall.Signal{syscall.SIGTERM}, 7, "; the last set was not complete in time"},
		{"-drain", "checkpoint set 2 is complete", []syscall.Signal{syscall.SIGTERM, syscall.SIGINT}, 130, "SIGINT: ending all processes"},
		{"", "checkpoint set 2 is complete", []syscall.Signal{syscall.SIGTERM}, 143, "SIGTERM: ending all processes"},
	} {
		t.Run(fmt.Sprint(c.flags, " ", c.signals), func(t *testing.T) {
			for iters := 600; !c.restarts(t, iters); iters *= 2 {
				t.Logf("the job had ended after %d iterations, before it was to be interrupted", iters)
			}
		})
	}
}

// interruption is a way to interrupt a job that writes checkpoints.
type interruption struct {
	flags   string
	ends    string // message after which the job is interrupted; "": once all have joined, before any set
	signals []syscall.Signal
	code    int
	text    string
}

// restarts interrupts a job, and continues it from its last set of files. It returns false if
// the job ended before.
func (c *interruption) restarts(t *testing.T, iters int) bool {
	dir, every := t.TempDir(), "10"
	if c.ends == "" {
		every = "1000000"
	}
	spec := func(flags string) jobtest.Spec {
		return jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: strings.Fields(flags),
			Program: []string{binaries.Program(t, "examples/hpccg"), "-nx", "30", "-ny", "30", "-nz", "30", "-iters", strconv.Itoa(iters), "-json"}}
	}
	job := jobtest.Start(t, spec("-n 2 -r 1 -v -checkpoint "+dir+" -checkpoint-every "+every+" "+c.flags))
	text := cmp.Or(c.ends, "all have joined")
	require.Eventually(t, func() bool { return strings.Contains(job.Stderr(), text) || over(job) }, jobtest.Deadline, time.Millisecond)
	for _, s := range c.signals {
		require.NoError(t, ignoreGone(syscall.Kill(job.PID(), s)))
	}
	r := job.Wait(t)
	if r.Code == 0 {
		return false
	}
	require.Equal(t, c.code, r.Code, r.Stderr)
	require.Contains(t, r.Stderr, c.text)
	again := jobtest.Run(t, spec("-n 2 -r 1 -restart "+dir))
	require.Zero(t, again.Code, again.Stderr)
	require.Contains(t, again.Stderr, "the job continues from safe point ")
	want := jobtest.Run(t, spec("-n 2 -r 1"))
	require.Zero(t, want.Code, want.Stderr)
	require.Equal(t, solution(t, want.Stdout), solution(t, again.Stdout))
	return true
}

// over reports whether intrarun has ended.
func over(job *jobtest.Job) bool {
	select {
	case <-job.Ended():
		return true
	default:
		return false
	}
}

// solution returns the hash of the solution from the output of hpccg -json.
func solution(t *testing.T, out string) string {
	_, after, ok := strings.Cut(out, `"x_sha256":"`)
	require.True(t, ok, out)
	return after[:64]
}
