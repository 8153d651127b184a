//go:build system

package systemtest

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/jobtest"
	"github.com/intrahpc/intra/internal/netns"
)

// What the live page of a job of INTRA_PAGE processes, on two hosts, costs intrarun, with
// somebody who follows it and without a page. It says so, and compares nothing.
func TestPageCost(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("INTRA_PAGE"))
	if err != nil {
		t.Skip("INTRA_PAGE=256, for example, measures with so many processes")
	}
	const settled, measured = 5 * time.Second, 20 * time.Second
	net := netns.Test(t, 2)
	for range 2 {
		for _, flags := range []string{"", "-http :8080"} {
			spec := hostedSpec(t, net, (n+1)/2, fmt.Sprintf("-stuck off -n %d -r 1 %s", n, flags), nil)
			spec.Program = []string{binaries.Program(t, "internal/systemtest/waits"), "cycle"}
			j := jobtest.Start(t, spec)
			await(t, j, joined)
			require.Contains(t, j.Stderr(), joined, "it has ended")
			follower := net.Hosts[0].Command("bash", "-c", `exec 3<>/dev/tcp/127.0.0.1/8080 && printf 'GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n' >&3 && cat <&3`)
			var seen bytes.Buffer
			follower.Stdout = &seen
			if flags != "" {
				require.NoError(t, follower.Start())
			}
			time.Sleep(settled)
			before := cpuTime(t, j)
			time.Sleep(measured)
			used := cpuTime(t, j) - before
			require.NoError(t, syscall.Kill(j.PID(), syscall.SIGTERM))
			j.Wait(t)
			t.Logf("%d processes, %-13q intrarun takes %.1f %% of a core", n, flags, 100*used.Seconds()/measured.Seconds())
			if flags != "" {
				require.NoError(t, follower.Wait())
				require.Greater(t, strings.Count(seen.String(), "event: frame"), 10)
			}
		}
	}
}

// cpuTime is what intrarun has taken so far.
func cpuTime(t *testing.T, j *jobtest.Job) time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", j.PID()))
	require.NoError(t, err, "it has ended: %s", j.Stderr())
	_, rest, _ := strings.Cut(string(b), ") ")
	f := strings.Fields(rest)
	user, err := strconv.Atoi(f[11])
	require.NoError(t, err)
	system, err := strconv.Atoi(f[12])
	require.NoError(t, err)
	return time.Duration(user+system) * time.Second / 100
}
