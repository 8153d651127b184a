package lease

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now is the time of this host's clock of leases. It starts at some point
// before the process did, is the same for all processes of the host, is never
// set, and counts the time in which the machine is suspended: a host that
// sleeps must not find its lease still good when it wakes.
func Now() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic("lease: no clock: " + err.Error()) // Linux has had it since 2.6.39
	}
	return time.Duration(t.Nano())
}
