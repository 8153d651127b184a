//go:build system

package systemtest

import (
	"fmt"
	"os/exec"
	"strings"
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
