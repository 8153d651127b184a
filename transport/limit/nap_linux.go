package limit

import (
	"time"

	"golang.org/x/sys/unix"
)

// nap sleeps for d or less. Timers of the Go runtime have a resolution of a
// millisecond when the process is idle, in which a link of 1 GB/s carries a
// megabyte.
func nap(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&ts, nil) // a signal ends it early
}
