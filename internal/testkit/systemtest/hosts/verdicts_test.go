//go:build system

package hosts

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest/steps"
	"github.com/intrahpc/intra/internal/testkit/simseed"
)

// Every survivor is informed of a death, whatever its cause. With INTRA_VERDICTS=N each
// case runs N times, and the test prints the time from the death until the last survivor
// was informed.
func TestEverySurvivorIsInformed(t *testing.T) {
	runs := simseed.Environment(t, "INTRA_VERDICTS", 1)
	c := newCluster(t, 4)
	for _, s := range []struct {
		name string
		lose func(pid int) error
	}{
		{"kill -9 of a process", func(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }},
		{"kill -9 of a host", func(int) error { return c.Hosts[3].Kill() }},
		{"end of a link", func(int) error { return c.Hosts[3].Down() }},
	} {
		t.Run(s.name, func(t *testing.T) {
			c.t = t
			var times []time.Duration
			for range runs {
				marks, verdicts := filepath.Join(t.TempDir(), "pids"), filepath.Join(t.TempDir(), "heard")
				job := c.start(c.list(1, 0, 1, 2, 3), "-n 2 -r 2", steps.Program("join", "verdicts:"+verdicts, "mark:"+marks, "forever")...)
				steps.PIDs(t, marks, 4)
				victim := c.program(3)
				began := time.Now()
				require.NoError(t, s.lose(victim))
				var lines []string
				require.Eventually(t, func() bool {
					b, _ := os.ReadFile(verdicts)
					lines = strings.Fields(string(b))
					return len(lines) == 3
				}, time.Minute, 10*time.Millisecond, "not every survivor was informed")
				n, err := strconv.ParseInt(slices.Max(lines), 10, 64)
				require.NoError(t, err)
				times = append(times, time.Duration(n-began.UnixNano()))
				require.NoError(t, syscall.Kill(job.PID(), syscall.SIGTERM))
				<-job.Ended()
				require.NoError(t, c.Hosts[3].Up())
				require.Equal(t, 143, job.wait().Code)
				c.requireEmpty()
			}
			slices.Sort(times)
			load, _ := os.ReadFile("/proc/loadavg")
			t.Logf("%d runs: median %v, max %v; load %.14s", runs, times[len(times)/2].Round(100*time.Microsecond), times[len(times)-1].Round(100*time.Microsecond), load)
		})
	}
}

// program finds the process of the job on a host. It is neither the agent nor the agent's
// guard.
func (c *cluster) program(host int) (pid int) {
	c.t.Helper()
	all, err := c.Hosts[host].Processes()
	require.NoError(c.t, err)
	for _, p := range all {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p))
		if strings.Contains(string(line), "\x00"+steps.Argument+"\x00") {
			pid = p
		}
	}
	require.NotZero(c.t, pid)
	return pid
}
