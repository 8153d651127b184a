//go:build system

package systemtest

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/netns"
	"github.com/intrahpc/intra/internal/testkit/simseed"
)

// TestWatch runs jobs of eight processes on four hosts, one after the other for
// INTRA_WATCH seconds, on a machine with at least four times as much work as its cores can
// do. No process is declared dead, and the head keeps its role.
func TestWatch(t *testing.T) {
	seconds := simseed.Environment(t, "INTRA_WATCH", 0)
	if seconds == 0 {
		t.Skip("it keeps the whole machine busy: INTRA_WATCH is for how many seconds")
	}
	n := netns.Test(t, 4)
	const problem = "-nx 48 -ny 48 -nz 48 -iters 5000"
	want := intrarun(t, "-n 4 -r 1", append(strings.Fields(problem), "-json")...).sum(t)
	for range 2 * runtime.NumCPU() { // load in addition to the eight processes
		spin := exec.Command("sh", "-c", "while :; do :; done")
		spin.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		require.NoError(t, spin.Start())
		t.Cleanup(func() { spin.Process.Kill(); spin.Wait() })
	}
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	for jobs := 1; time.Now().Before(end); jobs++ {
		start := time.Now()
		r, hash := onHosts(t, n, 2, "-n 4 -r 2", problem, nil)
		load, _ := os.ReadFile("/proc/loadavg")
		t.Logf("job %d: exit %d after %.0f s, %d failures, load %s", jobs, r.code, time.Since(start).Seconds(), len(r.report.Failures), load)
		require.Zero(t, r.code, r.stderr)
		require.Equal(t, want, hash, r.stderr)
		require.Empty(t, r.report.Failures, r.stderr)
		require.NotContains(t, r.stderr, "is the new head")
	}
}
