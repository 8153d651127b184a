package limit

import (
	"time"

	"golang.org/x/sys/unix"
)

// nap sleeps for d, or shorter. Timers of the Go runtime come in whole
// milliseconds when the process is idle, and a link of 1 GB/s carries a
// megabyte in one.
func nap(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&ts, nil) // a signal ends it early
}
