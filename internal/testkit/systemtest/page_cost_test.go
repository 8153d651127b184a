//go:build system

package systemtest

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// TestPageCost measures the processor time that intrarun spends on the live page of a job
// with INTRA_PAGE processes: with a viewer and without a page. It prints the results, but
// compares nothing.
func TestPageCost(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("INTRA_PAGE"))
	if err != nil {
		t.Skip("INTRA_PAGE=128, for example, measures with so many processes")
	}
	const settled, measured = 5 * time.Second, 20 * time.Second
	address := regexp.MustCompile(`the live page is at (\S+)\n`)
	for range 2 {
		for _, flags := range []string{"", "-http :0"} {
			spec := waitsSpec(t, fmt.Sprintf("-v -stuck off -n %d -r 1 %s", n, flags), "cycle")
			spec.Deadline = patience
			j := jobtest.Start(t, spec)
			await(t, j, joined)
			require.Contains(t, j.Stderr(), joined, "it has ended")
			var seen bytes.Buffer
			done := make(chan struct{})
			if m := address.FindStringSubmatch(j.Stderr()); m != nil {
				r, err := http.Get(m[1] + "events")
				require.NoError(t, err)
				defer r.Body.Close()
				go func() {
					defer close(done)
					_, _ = seen.ReadFrom(r.Body) // reads until the job ends
				}()
			}
			time.Sleep(settled)
			before := cpuTime(t, j)
			time.Sleep(measured)
			used := cpuTime(t, j) - before
			require.NoError(t, syscall.Kill(j.PID(), syscall.SIGTERM))
			j.Wait(t)
			t.Logf("%d processes, %-10q intrarun takes %.1f %% of a core", n, flags, 100*used.Seconds()/measured.Seconds())
			if flags != "" {
				<-done
				require.Greater(t, strings.Count(seen.String(), "event: frame"), 10)
			}
		}
	}
}

// cpuTime returns the CPU time of intrarun so far.
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
