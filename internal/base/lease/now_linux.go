package lease

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now returns the time of this host's clock of leases. The clock started before
// the process did, is the same for all processes of the host, is never set, and
// counts the time while the machine is suspended: a host that wakes up must not
// find its old lease still valid.
func Now() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic("lease: no clock: " + err.Error()) // Linux has this clock since 2.6.39
	}
	return time.Duration(t.Nano())
}
