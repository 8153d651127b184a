package supervise

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/intrahpc/intra/internal/job"
)

// policy is how a process or thread is scheduled.
func policy(t *testing.T, pid int) uint32 {
	attr, err := unix.SchedGetAttr(pid, 0)
	require.NoError(t, err)
	return attr.Policy
}

// Processes are scheduled as batch work; who starts them is not.
func TestProcessesAreBatchWork(t *testing.T) {
	w := newWard(t, "join", "forever")
	p := job.Process{Rank: 1}
	w.Start(p, First)
	w.await("hello 1.0")
	w.mu.Lock()
	pid := w.pids[p]
	w.mu.Unlock()
	own := policy(t, os.Getpid())
	var parent *unix.SchedAttr
	var err error
	looked := make(chan bool)
	w.starts <- func() {
		parent, err = unix.SchedGetAttr(0, 0)
		close(looked)
	}
	<-looked
	require.NoError(t, err)
	require.Equal(t, own, parent.Policy)
	if own == unix.SCHED_NORMAL {
		own = unix.SCHED_BATCH
	}
	require.Equal(t, own, policy(t, pid))
}

// What somebody has chosen stays.
func TestPolicyThatWasChosen(t *testing.T) {
	runtime.LockOSThread() // it ends with the test
	require.NoError(t, unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0))
	failed := errors.New("failed")
	require.Equal(t, failed, asBatch(func() error {
		require.EqualValues(t, unix.SCHED_IDLE, policy(t, 0))
		return failed
	}))
	require.EqualValues(t, unix.SCHED_IDLE, policy(t, 0))
}
