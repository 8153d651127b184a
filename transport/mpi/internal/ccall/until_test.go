//go:build mpi && linux

package ccall

import (
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// semaphore is a call of one of libc's functions on a semaphore, whose counter shows the
// number of calls.
type semaphore struct {
	call   Call
	memory [4]int64 // the count is in the first half of the first word
}

func newSemaphore(t *testing.T, does string, count int64) *semaphore {
	s := &semaphore{memory: [4]int64{count}}
	s.call.Function = function(t, does)
	s.call.Args = [MaxArgs]uintptr{uintptr(unsafe.Pointer(&s.memory)), uintptr(unsafe.Pointer(&s.call.Done))}
	return s
}

func TestUntilTimes(t *testing.T) {
	for _, times := range []int{1, 2, 1000} {
		s := newSemaphore(t, "sem_post", 0)
		require.Zero(t, s.call.ShortUntil(times))
		require.EqualValues(t, times, s.memory[0], "calls that were made")
	}
}

func TestUntilResult(t *testing.T) {
	s := newSemaphore(t, "sem_trywait", 3)
	require.EqualValues(t, -1, s.call.ShortUntil(1000))
	require.Zero(t, s.memory[0])
}

func TestUntilDone(t *testing.T) {
	s := newSemaphore(t, "sem_getvalue", 0)
	post := Call{Function: function(t, "sem_post"), Args: s.call.Args}
	time.AfterFunc(time.Millisecond, func() { post.Long() })
	for s.call.Done == 0 {
		require.Zero(t, s.call.ShortUntil(100))
	}
	require.EqualValues(t, 1, s.call.Done)
	s = newSemaphore(t, "sem_post", 0)
	s.call.Done = 1
	s.call.ShortUntil(1000)
	require.EqualValues(t, 1, s.memory[0], "calls after which Done was looked at")
}
