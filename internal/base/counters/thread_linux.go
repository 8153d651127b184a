package counters

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// OnThread calls f and returns how long its thread has run meanwhile. Time in which other
// threads had the core does not count.
func OnThread(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	from := threadTime()
	f()
	return threadTime() - from
}

func threadTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) // every thread has this clock
	return time.Duration(t.Nano())
}
