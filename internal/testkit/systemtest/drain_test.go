//go:build system

package systemtest

import (
	"cmp"
	"fmt"
	"os/exec"
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
	program := []string{binaries.Program(t, "internal/testkit/systemtest/attack/mixed"), "-passes", "1000", "-seed", "3"}
	want := jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: strings.Fields("-n 2 -r 1"), Program: program})
	require.Zero(t, want.Code, want.Stderr)
	require.NotEmpty(t, want.Stdout)
	for _, c := range []struct{ flags, who string }{
		{"-n 2 -r 1 -spares 2", "0.0 1.0"},
		{"-n 2 -r 2 -spares 2", "0.0 0.1"},
	} {
		t.Run(c.flags, func(t *testing.T) {
			job := jobtest.Start(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: append(strings.Fields(c.flags), "-v"), Program: program})
			has := func(text string) func() bool { return func() bool { return strings.Contains(job.Stderr(), text) } }
			require.Eventually(t, has("all have joined"), jobtest.Deadline, time.Millisecond)
			for _, p := range strings.Fields(c.who) {
				drain := func() bool { // fails until the rank has reached a safe point
					return exec.Command(binaries.Intrarun(t), "drain", fmt.Sprint(job.PID()), p).Run() == nil
				}
				require.Eventually(t, drain, jobtest.Deadline, 10*time.Millisecond, p)
				require.Eventually(t, has(p+" has moved from "), jobtest.Deadline, time.Millisecond)
			}
			r := job.Wait(t)
			require.Zero(t, r.Code, r.Stderr)
			require.Equal(t, want.Stdout, r.Stdout)
		})
	}
}

// With -drain, SIGTERM to intrarun has a last set of files written where the processes have
// nowhere to go, here on one host: the job ends with a code of its own, and continues from the
// set to the result of an undisturbed run. A second signal ends the job at once.
func TestInterruptedJobRestarts(t *testing.T) {
	program := []string{binaries.Program(t, "examples/hpccg"), "-nx", "30", "-ny", "30", "-nz", "30", "-iters", "600", "-json"}
	hash := func(out string) string {
		_, after, ok := strings.Cut(out, `"x_sha256":"`)
		require.True(t, ok, out)
		return after[:64]
	}
	spec := func(flags string) jobtest.Spec {
		return jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: strings.Fields(flags), Program: program}
	}
	want := jobtest.Run(t, spec("-n 2 -r 1"))
	require.Zero(t, want.Code, want.Stderr)
	for _, c := range []struct {
		flags, ends string
		signals     []syscall.Signal
		code        int
		text        string
	}{
		{"-drain", "", []syscall.Signal{syscall.SIGTERM}, 7, "intrarun: interrupted (SIGTERM to intrarun): -restart "},
		{"-drain -grace 1ms", "checkpoint set 2 is complete", []syscall.Signal{syscall.SIGTERM}, 7, "; the last set was not complete in time"},
		{"-drain", "checkpoint set 2 is complete", []syscall.Signal{syscall.SIGTERM, syscall.SIGINT}, 130, "SIGINT: ending all processes"},
		{"", "checkpoint set 2 is complete", []syscall.Signal{syscall.SIGTERM}, 143, "SIGTERM: ending all processes"},
	} {
		t.Run(fmt.Sprint(c.flags, " ", c.signals), func(t *testing.T) {
			dir := t.TempDir()
			every := " -checkpoint-every 1000000"
			if c.ends != "" {
				every = " -checkpoint-every 10"
			}
			job := jobtest.Start(t, spec("-n 2 -r 1 -v -checkpoint "+dir+every+" "+c.flags))
			text := cmp.Or(c.ends, "all have joined")
			require.Eventually(t, func() bool { return strings.Contains(job.Stderr(), text) }, jobtest.Deadline, time.Millisecond)
			for _, s := range c.signals {
				require.NoError(t, syscall.Kill(job.PID(), s))
			}
			r := job.Wait(t)
			require.Equal(t, c.code, r.Code, r.Stderr)
			require.Contains(t, r.Stderr, c.text)
			again := jobtest.Run(t, spec("-n 2 -r 1 -restart "+dir))
			require.Zero(t, again.Code, again.Stderr)
			require.Contains(t, again.Stderr, "the job continues from safe point ")
			require.Equal(t, hash(want.Stdout), hash(again.Stdout))
		})
	}
}
