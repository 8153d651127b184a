//go:build system

package systemtest

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// A stopped replica is fenced, and the job ends with the right result. This also holds if
// the other replica waits for a task that the stopped one has begun.
func TestStoppedReplica(t *testing.T) {
	args := strings.Fields("-nx 80 -ny 80 -nz 80 -json") // takes a second or more
	want := serial(t, args...).sum(t)
	for _, flags := range []string{"-r 2 -sched static", "-r 2 -direct"} {
		t.Run(flags, func(t *testing.T) {
			j, wait := start(t, flags, append([]string{hpccg(t)}, args...)...)
			ranks := awaitRanks(t, j, 2)
			time.Sleep(100 * time.Millisecond) // into the run, at any place
			require.NoError(t, syscall.Kill(ranks[1], syscall.SIGSTOP))
			r := wait()
			got := r.sum(t)
			require.Equal(t, want, got)
			require.Len(t, r.report.Failures, 1)
			require.Equal(t, job.CauseFenced, r.report.Failures[0].Cause)
			require.Error(t, syscall.Kill(ranks[1], 0), "it is still there")
		})
	}
}

// ranks lists the processes of the program.
func ranks(j *jobtest.Job) (pids []int) {
	for _, p := range j.Processes() {
		if p.Rank {
			pids = append(pids, p.PID)
		}
	}
	return pids
}

// awaitRanks waits until the program has n processes.
func awaitRanks(t *testing.T, j *jobtest.Job, n int) (pids []int) {
	t.Helper()
	require.Eventually(t, func() bool {
		pids = ranks(j)
		return len(pids) == n
	}, jobtest.Deadline, 5*time.Millisecond)
	return pids
}

// No process survives intrarun, however it ends.
func TestNothingIsLeftBehind(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			j, wait := start(t, "-n 2 -r 2", hpccg(t), "-nx", "80", "-ny", "80", "-nz", "80", "-json")
			awaitRanks(t, j, 4)
			require.NoError(t, syscall.Kill(j.PID(), signal))
			wait() // wait also looks for processes and files that are left
		})
	}
}
