package sysmon

import (
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// policies returns how the threads of this process are scheduled.
func policies(t *testing.T) map[int]uint32 {
	entries, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	all := make(map[int]uint32)
	for _, e := range entries {
		tid, err := strconv.Atoi(e.Name())
		require.NoError(t, err)
		if attr, err := unix.SchedGetAttr(tid, 0); err == nil { // otherwise the thread has ended
			all[tid] = attr.Policy
		}
	}
	return all
}

const idle = "INTRA_TEST_IDLE"

// After Yield the monitor is scheduled as batch work, and no other thread is. A policy
// that the user has chosen stays. Each case runs in a process of its own.
func TestYield(t *testing.T) {
	switch os.Getenv(idle) {
	case "no":
		Yield()
		tid, ok := monitor()
		require.True(t, ok)
		all := policies(t)
		require.EqualValues(t, unix.SCHED_BATCH, all[tid])
		delete(all, tid)
		for _, p := range all {
			require.EqualValues(t, unix.SCHED_NORMAL, p)
		}
		return
	case "yes":
		before := policies(t)
		for tid := range before {
			require.NoError(t, unix.SchedSetAttr(tid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0))
		}
		Yield()
		tid, ok := monitor()
		require.True(t, ok)
		require.EqualValues(t, unix.SCHED_IDLE, policies(t)[tid])
		return
	}
	if attr, err := unix.SchedGetAttr(0, 0); err != nil || attr.Policy != unix.SCHED_NORMAL {
		t.Skipf("the test itself is not scheduled as usual: %+v, %v", attr, err)
	}
	for _, how := range []string{"no", "yes"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestYield$")
		cmd.Env = append(os.Environ(), idle+"="+how)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}
